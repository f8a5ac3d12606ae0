"""A row: one line that is a JSON object, reduced to its canonical numbers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from .fields import TRAINING_FIELDS, FieldMap
from .lines import Line
from .numbers import number

BAD_LINE_REASONS = ("not_json", "not_object", "too_deep", "too_long")
"""Why a line was counted and passed: the closed label set of `tailwatch_bad_lines_total`."""

# Text for `int` of more digits than a double holds; Python refuses 4,300 and more.
_INT_DIGITS_MAX = 400


@dataclass(slots=True)
class Row:
    """
    Attributes:
        number: Which row of the run this is, counted from 1.
        step: The trainer's own step; the row number when it writes none.
        values: Canonical field -> number. NaN and infinities are kept.
        offset: Byte offset of the line this row came from.
        has_step: False if *step* is only the row number.
        has_training_field: Whether it carries a field that makes a file a metric file,
            even with null as its value.
        timestamp_s: When the trainer says it wrote the row (Unix seconds), if it does.
    """

    number: int
    step: int | float
    values: dict[str, float]
    offset: int
    has_step: bool = True
    has_training_field: bool = True
    timestamp_s: float | None = None


@dataclass(frozen=True, slots=True)
class Malformed:
    """A complete line that is no row. *reason* is one of `BAD_LINE_REASONS`."""

    reason: str
    offset: int


def _int(text: str) -> int | float:
    return int(text) if len(text) <= _INT_DIGITS_MAX else float(text)


# The standard decoder reads what trainers write beyond JSON: NaN, Infinity, 1e999.
_lenient = json.JSONDecoder(parse_int=_int)


def decode(data: bytes) -> Any:
    """
    Decode one JSON line as the standard library would, only faster.

    Raises:
        ValueError: It is no JSON. RecursionError: It is nested too deep.
    """
    try:
        return msgspec.json.decode(data)
    except (ValueError, RecursionError):
        # A hole of NULs is what copytruncate leaves before the first row.
        text = data.lstrip(b"\0").decode("utf-8-sig")
        return _lenient.decode(text.strip())


def parse_row(line: Line, fields: FieldMap, row_number: int) -> Row | Malformed | None:
    r"""
    Turn a line into a row. None for a blank line.

    >>> row = parse_row(Line(b'{"step": 7, "loss": NaN, "note": "hi"}', 0, 39), FieldMap(), 1)
    >>> row.step, row.values
    (7, {'loss': nan})
    >>> parse_row(Line(b'{"step": 7, "lo', 40, 56), FieldMap(), 2)
    Malformed(reason='not_json', offset=40)
    """
    if line.too_long:
        return Malformed("too_long", line.offset)
    try:
        record = decode(line.data)
    except RecursionError:
        return Malformed("too_deep", line.offset)
    except ValueError:
        blank = not line.data.strip(b" \t\r\n\0")
        return None if blank else Malformed("not_json", line.offset)
    if type(record) is not dict:
        return Malformed("not_object", line.offset)
    found = fields.read(record)
    values: dict[str, float] = {}
    for name, raw in found.items():
        value = number(raw)
        if value is not None:
            values[name] = value
    step = values.pop("step", None)
    has_step = step is not None and abs(step) < 1e18
    return Row(
        number=row_number,
        step=_whole(step) if step is not None and has_step else row_number,
        values=values,
        offset=line.offset,
        has_step=has_step,
        has_training_field=not TRAINING_FIELDS.isdisjoint(found),
        timestamp_s=_timestamp(found["timestamp"], values) if "timestamp" in found else None,
    )


def _whole(step: float) -> int | float:
    return int(step) if step.is_integer() else step


def _timestamp(raw: object, values: dict[str, float]) -> float | None:
    """Unix seconds of a row's own timestamp: a number of seconds, or ISO 8601 text."""
    seconds = values.pop("timestamp", None)
    if seconds is None and isinstance(raw, str):
        seconds = _iso_seconds(raw)
    # Durations and milliseconds are common under the same keys: 2001 to 2096 only.
    return seconds if seconds is not None and 1e9 < seconds < 4e9 else None


def _iso_seconds(text: str) -> float | None:
    if len(text) > 40:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
