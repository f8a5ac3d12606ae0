"""Logs to measure on: their lines, and their rows as the checks see them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from ..config import Settings
from ..core.check import Check, RunConfig
from ..core.fields import FieldMap
from ..core.findings import Evidence, Hold, Severity
from ..core.rows import Row
from ..diagnose import Reading
from ..targets import Target, Trouble

LOG_BYTES_MAX = 64 * 1024 * 1024
"""A log is kept in memory, and read several times: a longer one is left out."""


class Seen(NamedTuple):
    """A row, the number of its line from 0 (None if it shares it), and its segment from 1."""

    row: Row
    line: int | None
    segment: int


@dataclass(frozen=True, slots=True)
class Log:
    """
    One log.

    Attributes:
        run: The name of its run.
        lines: Its lines, each with its newline, except perhaps the last.
        rows: What the reader makes of them.
        config: The run's configuration.
        fields: What its keys mean.
    """

    run: str
    lines: list[bytes]
    rows: list[Seen]
    config: RunConfig | None
    fields: FieldMap


def read_logs(
    found: list[Target], settings: Settings, progress: Callable[[int], None]
) -> Iterator[Log | Trouble]:
    """
    Read the logs one after the other; what has no training field gives nothing.

    Args:
        progress: Called with the bytes of each log when the next one is asked for.
    """
    kept: list[bytes] = []
    rows: list[tuple[Row, int]] = []
    reading = Reading(replace(settings, checks=(_tap(rows),)), keep=kept.append)
    for target in found:
        kept.clear()
        rows.clear()
        got = reading.read(target)
        size = sum(map(len, kept))
        if isinstance(got, Trouble):
            yield got
        elif size > LOG_BYTES_MAX:
            yield Trouble(target.path, f"longer than {LOG_BYTES_MAX >> 20} MiB")
        elif rows and not got.skipped:
            root = None if target.root is None else os.path.abspath(target.root)
            fields = settings.fields.of(os.path.abspath(target.path), root)
            lines = _lines(b"".join(kept))
            yield Log(got.run, lines, _seen(lines, rows), got.config, fields)
        progress(target.size)


def _lines(data: bytes) -> list[bytes]:
    *whole, tail = data.split(b"\n")
    return [line + b"\n" for line in whole] + ([tail] if tail else [])


def _seen(lines: list[bytes], rows: list[tuple[Row, int]]) -> list[Seen]:
    numbers, offset = {}, 0
    for number, line in enumerate(lines):
        numbers[offset] = number
        offset += len(line)
    shared: dict[int, int] = {}
    for row, _ in rows:
        shared[row.offset] = shared.get(row.offset, 0) + 1
    return [
        Seen(row, numbers.get(row.offset) if shared[row.offset] == 1 else None, segment)
        for row, segment in rows
    ]


def _tap(rows: list[tuple[Row, int]]) -> type[Check]:
    """A check that says nothing and keeps what it is fed, with the segment."""

    class Tap(Check):
        category: ClassVar[str] = "tap"
        severity: ClassVar[Severity] = Severity.INFO
        suggestion: ClassVar[str] = ""
        hold: ClassVar[Hold] = Hold(1, 1)

        def __init__(self) -> None:
            self.segment = rows[-1][1] + 1 if rows else 1

        def update(self, row: Row) -> Evidence | None:
            rows.append((row, self.segment))
            return None

        def to_state(self) -> dict[str, Any]:
            return {}

    return Tap
