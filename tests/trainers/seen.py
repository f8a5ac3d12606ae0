"""What the reader sees in a log, row by row."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from typing import Any

from tailwatch.checks import CHECKS
from tailwatch.core.findings import Transition, TransitionKind
from tailwatch.core.reader import RunReader
from tailwatch.core.rows import Row, RowKind

LETTERS = {
    RowKind.TRAIN: "T",
    RowKind.EVAL: "V",
    RowKind.METADATA: "M",
    RowKind.END: "E",
    RowKind.OTHER: "-",
}


class Seen:
    """
    A log, as it was read.

    Attributes:
        rows: Every row, as the checks get it.
        transitions: All of them.
    """

    def __init__(self) -> None:
        self.reader = RunReader(CHECKS)
        self.rows: list[Row] = []
        self.transitions: list[Transition] = []
        update = self.reader.monitor.update

        def spy(row: Row) -> list[Transition]:
            self.rows.append(dataclasses.replace(row, values=dict(row.values)))
            return update(row)

        self.reader.monitor.update = spy  # type: ignore[method-assign]

    def feed(self, data: bytes) -> Seen:
        """Add bytes."""
        self.transitions += self.reader.feed(data)
        return self

    def rest(self) -> Seen:
        """The file has ended."""
        self.transitions += self.reader.rest()
        return self

    @property
    def kinds(self) -> str:
        """A letter a row: Training, eValuation, Metadata, End, - for none of these."""
        return "".join(LETTERS[row.kind] for row in self.rows)

    @property
    def steps(self) -> list[int | float]:
        """The step of each row."""
        return [row.step for row in self.rows]

    @property
    def evals(self) -> dict[str, list[float]]:
        """Each evaluation set with its losses."""
        sets: dict[str, list[float]] = {}
        for row in self.rows:
            for key, loss in row.evals.items():
                sets.setdefault(key, []).append(loss)
        return sets

    @property
    def bad(self) -> dict[str, int]:
        """Bad lines by reason."""
        return dict(self.reader.bad_lines)

    @property
    def life(self) -> tuple[int, int]:
        """Segments and resumes."""
        return self.reader.monitor.segment, self.reader.monitor.resumes

    @property
    def nans(self) -> list[int | float]:
        """The steps at which `nan_loss` fired."""
        return [
            t.mark.step
            for t in self.transitions
            if t.category == "nan_loss" and t.kind is TransitionKind.FIRING
        ]

    def of(self, field: str) -> list[float]:
        """The values of a field, in the rows that have it."""
        return [row.values[field] for row in self.rows if field in row.values]


def lines(records: Iterable[Mapping[str, Any]]) -> bytes:
    """As most trainers write: one object a line, NaN as Python spells it."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def read(log: bytes | str | Iterable[Mapping[str, Any]]) -> Seen:
    """Read a log whole, given as its rows or its text."""
    if isinstance(log, str):
        log = log.encode()
    return Seen().feed(log if isinstance(log, bytes) else lines(log)).rest()
