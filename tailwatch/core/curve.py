"""The curve of a run: all its rows in a few buckets, in which nothing extreme is lost."""

from __future__ import annotations

from array import array
from collections import deque
from typing import Any, NamedTuple

from .rows import Row

FIELDS = ("loss", "eval_loss", "grad_norm", "learning_rate")
BUCKETS_MAX = 160
"""Even. With four fields the state is below 8 KB."""
MARKS_MAX = 24
BAD_MAX = 255
FLOAT_MAX = 3.4028234663852886e38
"""The largest number of a bucket: a larger one is drawn there."""
_VERSION = 1
_INF = float("inf")


class Point(NamedTuple):
    """A value of one row."""

    row: int
    step: float
    value: float


class Mark(NamedTuple):
    """Where a start of the trainer shows: its first row, which is of a "segment" or a "resume"."""

    row: int
    step: float
    kind: str


class Series:
    """
    One field, bucket by bucket.

    Args:
        name: Of the field.
        first: Its first value.
        last: The row of its last value.
        buckets: How many there were before it came.

    Attributes:
        lows, highs: The least and the greatest finite value of each bucket but the last, to
            7 digits; inf and -inf where there is none.
        bad: How many values of each bucket are not finite, up to `BAD_MAX`.
        low, high: Of the last bucket, which is being filled.
    """

    __slots__ = ("bad", "first", "high", "highs", "last", "low", "lows", "name")

    def __init__(self, name: str, first: Point, last: Row, buckets: int) -> None:
        self.name, self.first, self.last = name, first, last
        self.lows, self.highs = array("f"), array("f")
        self.bad = bytearray()
        self.low, self.high = _INF, -_INF
        for _ in range(buckets):
            self.begin()

    def begin(self) -> None:
        """The next bucket."""
        if self.bad:
            self.lows.append(self.low)
            self.highs.append(self.high)
        self.low, self.high = _INF, -_INF
        self.bad.append(0)

    def take(self, value: float) -> None:
        """A value that is not between the two of its bucket."""
        if value - value != 0.0:  # What is not finite, and nothing else.
            self.bad[-1] = min(BAD_MAX, self.bad[-1] + 1)
            return
        value = max(-FLOAT_MAX, min(FLOAT_MAX, value))
        self.low, self.high = min(self.low, value), max(self.high, value)

    def halve(self) -> None:
        """Make one bucket of every two; the last one is full."""
        self.lows.append(self.low)
        self.highs.append(self.high)
        self.lows = array("f", map(min, self.lows[::2], self.lows[1::2]))
        self.highs = array("f", map(max, self.highs[::2], self.highs[1::2]))
        self.low, self.high = self.lows.pop(), self.highs.pop()
        counts = zip(self.bad[::2], self.bad[1::2], strict=True)
        self.bad = bytearray(min(BAD_MAX, sum(pair)) for pair in counts)

    def buckets(self) -> list[tuple[float, float, int]]:
        """Least, greatest and how many that are not finite, of each bucket."""
        lows, highs = array("f", [*self.lows, self.low]), array("f", [*self.highs, self.high])
        return list(zip(lows, highs, self.bad, strict=True))

    def newest(self) -> Point:
        """The last value."""
        return Point(self.last.number, self.last.step, self.last.values[self.name])

    def to_state(self) -> list[Any]:
        """What to keep across a restart."""
        packed = [self.lows.tobytes(), self.highs.tobytes(), bytes(self.bad)]
        return [*packed, self.low, self.high, self.first, self.newest()]

    @classmethod
    def from_state(cls, name: str, state: list[Any]) -> Series:
        """The series that `to_state` was called on."""
        lows, highs, bad, low, high, first, last = state
        number, step, value = last
        series = cls(name, Point(*first), Row(number, step, {name: value}, 0), 0)
        series.lows.frombytes(lows)
        series.highs.frombytes(highs)
        series.bad = bytearray(bad)
        series.low, series.high = low, high
        return series


class Curve:
    """
    The rows of a run, seen from afar.

    The rows are dealt out to buckets of equal width, by their number alone. When all
    buckets are full, every two become one, and the width doubles. So the same rows give
    the same curve, however they came, and a row costs the same at the end as at first.

    Args:
        begin: Rows before the first one that it is shown.

    Attributes:
        width: How many rows a bucket has.
        steps: The step of the first row of each bucket.
        series: By field, of those that there are.
        marks: The newest starts of the trainer within the run.

    >>> curve = Curve()
    >>> for n in range(1, 1001):
    ...     row = Row(n, n, {"loss": 9.0 if n == 500 else 1.0}, 0)
    ...     curve.update(row, curve.drawn(row))
    >>> curve.width, len(curve.steps), max(high for _, high, _ in curve.series["loss"].buckets())
    (8, 125, 9.0)
    """

    __slots__ = ("_room", "begin", "marks", "series", "steps", "width")

    def __init__(self, begin: int = 0) -> None:
        self.begin, self.width = begin, 1
        self.steps = array("d")
        self.series: dict[str, Series] = {}
        self.marks: deque[Mark] = deque(maxlen=MARKS_MAX)
        self._room = 0

    @property
    def rows(self) -> int:
        """How many rows it was shown."""
        return len(self.steps) * self.width - self._room

    def drawn(self, row: Row) -> list[Series]:
        """The series of the fields of *row*: the same for all rows with the same fields."""
        names = [name for name in FIELDS if name in row.values]
        for name in names:
            if name not in self.series:
                first = Point(row.number, row.step, row.values[name])
                self.series[name] = Series(name, first, row, len(self.steps))
        return [self.series[name] for name in names]

    def update(self, row: Row, drawn: list[Series]) -> None:
        """Take in the next row; *drawn* are the series of its fields."""
        if self._room:
            self._room -= 1
        else:
            self._next(row)
        values = row.values
        for series in drawn:
            series.last = row
            value = values[series.name]
            # Nearly all values of a wide bucket are between its two, or fall slowly.
            if series.low <= value <= series.high:
                continue
            if -FLOAT_MAX < value < series.low < _INF:
                series.low = value
            else:
                series.take(value)

    def mark(self, row: Row, kind: str) -> None:
        """The next row is the first after a start of the trainer."""
        self.marks.append(Mark(row.number, row.step, kind))

    def _next(self, row: Row) -> None:
        if len(self.steps) == BUCKETS_MAX:
            self.steps = self.steps[::2]
            self.width *= 2
            for series in self.series.values():
                series.halve()
        self.steps.append(row.step)
        self._room = self.width - 1
        for series in self.series.values():
            series.begin()

    def to_state(self) -> list[Any]:
        """What to keep across a restart, small."""
        series = {name: each.to_state() for name, each in self.series.items()}
        numbers = [_VERSION, self.begin, self.width, self._room]
        return [*numbers, self.steps.tobytes(), series, list(self.marks)]

    @classmethod
    def from_state(cls, state: list[Any] | None, rows: int) -> Curve:
        """The curve that `to_state` was called on; of another version, one that begins now."""
        if state is None or state[0] != _VERSION:
            return cls(rows)
        _, begin, width, room, steps, series, marks = state
        curve = cls(begin)
        curve.width, curve._room = width, room
        curve.steps.frombytes(steps)
        curve.series = {name: Series.from_state(name, each) for name, each in series.items()}
        curve.marks.extend(Mark(*each) for each in marks)
        return curve
