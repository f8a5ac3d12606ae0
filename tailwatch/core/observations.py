"""What is seen of one file beyond what its checks need: for `tailwatch inspect`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from .fields import FieldMap
from .key_use import KeyUse
from .lines import Line
from .names import escape
from .rows import Row, RowKind
from .sample import Sample

TEXT_CHARS_MAX = 80
_NO_LINE = Line(b"", 0, 0)


class BadLine(NamedTuple):
    """
    The first line that was bad for one reason.

    Attributes:
        line: Its number, counted from 1.
        offset: The byte at which it begins.
        text: Its beginning, fit to show.
    """

    line: int
    offset: int
    text: str


class Gap(NamedTuple):
    """The longest time between two rows, and the row that ended it."""

    seconds: float
    row: int
    step: int | float


class Observations:
    """
    An observer of a `RunReader`; bounded, whatever the file holds.

    Attributes:
        keys: Which key feeds which field.
        lines: How many lines there were, blank ones included.
        kinds: How many rows of each kind.
        data_keys: Keys that tell an example of a data set -> in how many rows they did.
        bad: Reason -> the first line that was bad for it.
        intervals: The steps from one training row to the next.
        with_step: Training and evaluation rows that have a step of their own.
        without_step: Those that have none.
        last_step: The step of the newest training row that has one.
        planned: At which step training is to end, as the rows say.
        percent: How far it has come, as the rows say.
        gaps: The seconds from one training row to the next, by the trainer's clock.
        longest: The longest of them.
        clock: The field that they were read from.
    """

    def __init__(self, fields: FieldMap) -> None:
        self._fields = fields
        self.keys = KeyUse(fields)
        self.lines = 0
        self.kinds: Counter[RowKind] = Counter()
        self.data_keys: Counter[str] = Counter()
        self.bad: dict[str, BadLine] = {}
        self.intervals, self.gaps = Sample(), Sample()
        self.with_step = self.without_step = 0
        self.planned: float | None = None
        self.percent: float | None = None
        self.longest: Gap | None = None
        self.clock = ""
        self._line = _NO_LINE
        self.last_step: int | float | None = None
        self._last_s: float | None = None

    @property
    def steps_are(self) -> str:
        """What the steps are made of: "step", "epoch and iter", "epoch" or "row"."""
        if self.keys.feeding("step"):
            return "step"
        if self.keys.feeding("iter"):
            return "epoch and iter"
        return "epoch" if self.with_step else "row"

    def line(self, line: Line) -> None:
        """The next line."""
        self.lines += 1
        self._line = line

    def bad_line(self, reason: str) -> None:
        """It was, or ended, something that is no row."""
        if reason not in self.bad:
            text = "" if self._line.too_long else excerpt(self._line.data)
            self.bad[reason] = BadLine(self.lines, self._line.offset, text)

    def row(self, record: Mapping[str, Any], row: Row) -> None:
        """What was made of an object of the line."""
        self.kinds[row.kind] += 1
        self.keys.row(record, row)
        self.planned = row.values.get("planned_steps", self.planned)
        self.percent = row.values.get("percent", self.percent)
        if row.kind is RowKind.OTHER:
            for key in self._fields.plan(record).data_keys:
                self.data_keys[key] += type(record[key]) in (str, list, dict)
        if row.kind is RowKind.TRAIN or row.kind is RowKind.EVAL:
            self.with_step += row.has_step
            self.without_step += not row.has_step
        if row.kind is RowKind.TRAIN:
            self._pace(row)

    def _pace(self, row: Row) -> None:
        """Steps and seconds since the training row before; none from one start to the next."""
        fell = False
        if row.has_step:
            if self.last_step is not None and row.step > self.last_step:
                self.intervals.add(row.step - self.last_step)
            fell = self.last_step is not None and row.step < self.last_step
            self.last_step = row.step
        clock, now_s = "timestamp_s", row.timestamp_s
        if now_s is None and self.clock != clock:
            clock, now_s = "elapsed_s", row.values.get("elapsed_s")
        if now_s is None or not abs(now_s) < 1e12:
            return
        before_s = self._last_s if clock == self.clock and not fell else None
        if before_s is not None and now_s > before_s:
            seconds = now_s - before_s
            if self.gaps.add(seconds):
                self.longest = Gap(seconds, row.number, row.step)
        self.clock, self._last_s = clock, now_s


def excerpt(data: bytes) -> str:
    r"""
    The beginning of a line, fit to show: at most so many characters, none of them control.

    >>> excerpt(b"\x1b[31mError\x00 \xff")
    '\\x1b[31mError\\x00 \\xff'
    """
    text = data[: 4 * TEXT_CHARS_MAX].decode("utf-8", "surrogateescape")
    return shortened(escape(text), TEXT_CHARS_MAX)


def shortened(text: str, chars: int) -> str:
    """
    A text, or its beginning and three dots.

    >>> shortened("abcdefgh", 6), shortened("abc", 6)
    ('abc...', 'abc')
    """
    return text if len(text) <= chars else f"{text[: chars - 3]}..."
