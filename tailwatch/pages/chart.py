"""From a curve to what is drawn: shares of a width and a height, for SVG."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..core.curve import FLOAT_MAX, Curve, Mark, Series
from ..core.numbers import shown

SIDE = 1000
"""The drawing's width and height, in its own units: it is stretched to its place."""
SPARK_POINTS = 50
_LOG_RATIO = 50.0
_TICKS = 4
_GAP_FACTOR = 3


Bucket = tuple[float, float, int]


class Tick(NamedTuple):
    """A line of the grid: where, in percent of the side, and its label."""

    at: float
    label: str


class Bad(NamedTuple):
    """Neighbouring buckets with values that are not finite: from where, how wide, in words."""

    at: float
    width: float
    label: str


class Flag(NamedTuple):
    """A place on the axis: where, in percent, of what kind, and in words."""

    at: float
    kind: str
    label: str


class Chart(NamedTuple):
    """
    One field.

    Attributes:
        band: The path around least and greatest; empty where every bucket is one row.
        line: The path between them.
        dots: Values that no line reaches: x and y in percent.
        empty: There is no finite value.
    """

    name: str
    band: str
    line: str
    dots: Sequence[tuple[float, float]]
    bad: Sequence[Bad]
    ticks: Sequence[Tick]
    steps: Sequence[Tick]
    logarithmic: bool
    first: str
    last: str
    low: str
    high: str

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw but what is not finite."""
        return not self.line and not self.dots


class _Scale:
    """Where a value stands between the least and the greatest: 0 at the top."""

    def __init__(self, low: float, high: float, logarithmic: bool | None) -> None:
        fits = low > 0
        helps = fits and high / low >= _LOG_RATIO
        self.logarithmic = helps if logarithmic is None else fits and logarithmic
        self._low, self._high = self._of(low), self._of(high)
        if self._high - self._low <= abs(self._high) * 1e-6:  # A flat line in the middle.
            room = abs(self._high) * 0.1 or 1.0
            self._low, self._high = self._low - room, self._high + room

    def _of(self, value: float) -> float:
        return math.log10(value) if self.logarithmic else value

    def __call__(self, value: float) -> float:
        share = (self._of(value) - self._low) / (self._high - self._low)
        # Room for the labels above, and for the stroke below.
        return round(SIDE * (0.96 - 0.86 * share), 1)

    def middle(self, low: float, high: float) -> float:
        return (self(low) + self(high)) / 2

    def ticks(self) -> list[Tick]:
        """Some round values."""
        values = self._powers() if self.logarithmic else self._rounds()
        ticks = [Tick(self(value) / SIDE * 100, shown(value)) for value in values]
        # One that was rounded may have come out of the drawing.
        return [tick for tick in ticks if 0 <= tick.at <= 100]

    def _rounds(self) -> list[float]:
        span = self._high - self._low
        unit = 10.0 ** math.floor(math.log10(span / _TICKS))
        size = next(unit * f for f in (1, 2, 5, 10, 20) if span / (unit * f) <= _TICKS)
        first = math.ceil(self._low / size)
        return [n * size for n in range(first, math.floor(self._high / size) + 1)]

    def _powers(self) -> list[float]:
        first, last = math.ceil(self._low), math.floor(self._high)
        every = max(1, math.ceil((last - first) / _TICKS))
        if last - first >= 2:
            return [10.0**n for n in range(first, last + 1, every)]
        size = (self._high - self._low) / 3
        return [float(f"{10 ** (self._low + n * size):.1g}") for n in range(1, 3)]


class _Shape(NamedTuple):
    scale: _Scale
    band: str
    line: str
    lone: list[int]


def chart(curve: Curve, series: Series, logarithmic: bool | None = None) -> Chart:
    """Draw one field; *logarithmic*: whether its axis is, None where that is to help."""
    buckets = series.buckets()
    xs = [place(curve, n * curve.width, curve.width) for n in range(len(buckets))]
    shape = _shape(buckets, xs, _begun(curve, curve.width), logarithmic)
    finite = [bucket for bucket in buckets if bucket[0] <= bucket[1]]
    scale = shape.scale
    return Chart(
        series.name,
        shape.band,
        shape.line,
        [(xs[n], scale.middle(*buckets[n][:2]) / SIDE * 100) for n in shape.lone],
        list(_bad(curve, [bad for _, _, bad in buckets])),
        scale.ticks() if finite else [],
        _steps(curve),
        scale.logarithmic,
        shown(series.first.value),
        shown(series.newest().value),
        _told(min(low for low, _, _ in finite)) if finite else "",
        _told(max(high for _, high, _ in finite)) if finite else "",
    )


def _begun(curve: Curve, width: int) -> set[int]:
    """In which buckets of *width* rows a segment begins."""
    starts = [mark.row - 1 - curve.begin for mark in curve.marks if mark.kind == "segment"]
    return {start // width for start in starts}


def _shape(
    buckets: Sequence[Bucket], xs: Sequence[float], begun: set[int], logarithmic: bool | None
) -> _Shape:
    there = [n for n, (low, high, _) in enumerate(buckets) if low <= high]
    lowest = min((buckets[n][0] for n in there), default=0.0)
    highest = max((buckets[n][1] for n in there), default=0.0)
    scale = _Scale(lowest, highest, logarithmic)
    lines, lone = _parts(there, [bad for _, _, bad in buckets], begun)
    band, line = [], []
    for part in lines:
        across = [xs[n] * SIDE / 100 for n in part]
        lows, highs = ([scale(buckets[n][side]) for n in part] for side in (0, 1))
        line.append(_path(across, [(a + b) / 2 for a, b in zip(lows, highs, strict=True)]))
        if lows != highs:
            band.append(_path([*across, *reversed(across)], [*highs, *reversed(lows)]) + "z")
    return _Shape(scale, "".join(band), "".join(line), lone)


def place(curve: Curve, row: float, rows: int = 1) -> float:
    """Where *rows* after the first *row* rows are in the middle, in percent of the width."""
    return round(100 * min(row + rows / 2, curve.rows) / max(curve.rows, 1), 2)


def flags(curve: Curve, marks: Iterable[Mark]) -> list[Flag]:
    """The starts of the trainer."""
    words = {"segment": "new segment", "resume": "resumed"}
    return [
        Flag(
            place(curve, mark.row - curve.begin - 1, 0),
            mark.kind,
            f"{words.get(mark.kind, mark.kind)} at step {shown(mark.step)}",
        )
        for mark in marks
        if mark.row > curve.begin
    ]


def spark(curve: Curve) -> tuple[str, str, bool]:
    """The loss in the small: its band, its line, and whether any of it was not finite."""
    series = curve.series.get("loss")
    if series is None:
        return "", "", False
    buckets = series.buckets()
    every = math.ceil(len(buckets) / SPARK_POINTS)
    some = [
        (min(b[0] for b in part), max(b[1] for b in part), sum(b[2] for b in part))
        for part in (buckets[n : n + every] for n in range(0, len(buckets), every))
    ]
    xs = [round(100 * (n + 0.5) / len(some), 2) for n in range(len(some))]
    shape = _shape(some, xs, _begun(curve, curve.width * every), None)
    return shape.band, shape.line, any(bad for _, _, bad in some)


def spark_of(values: Sequence[float]) -> str:
    """The same of a few finite values."""
    if len(values) < 2:
        return ""
    scale = _Scale(min(values), max(values), None)
    xs = [round(n * SIDE / (len(values) - 1), 1) for n in range(len(values))]
    return _path(xs, [scale(value) for value in values])


def _told(value: float) -> str:
    return "out of range" if abs(value) >= FLOAT_MAX else shown(float(f"{value:.7g}"))


def _path(xs: Sequence[float], ys: Sequence[float]) -> str:
    return "M" + " ".join([f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True)])


def _parts(
    there: Sequence[int], bad: Sequence[int], begun: set[int]
) -> tuple[list[list[int]], list[int]]:
    """Runs of buckets that a line connects, and those that stand alone."""
    distances = [b - a for a, b in itertools.pairwise(there)]
    usual = statistics.median_low(distances) if distances else 1
    parts: list[list[int]] = []
    for n in there:
        last = parts[-1][-1] if parts else None
        # What is not finite breaks the line, and so does a gap that is not the field's own, and
        # a new segment.
        broken = last is None or n - last > _GAP_FACTOR * usual or any(bad[last + 1 : n])
        if broken or (last is not None and not begun.isdisjoint(range(last + 1, n + 1))):
            parts.append([])
        parts[-1].append(n)
    return [p for p in parts if len(p) > 1], [p[0] for p in parts if len(p) == 1]


def _bad(curve: Curve, counts: Sequence[int]) -> Iterable[Bad]:
    first = None
    for n, count in enumerate([*counts, 0]):
        if count and first is None:
            first = n
        elif not count and first is not None:
            total = sum(counts[first:n])
            rows = "1 row" if total == 1 else f"{total} rows"
            begin = place(curve, first * curve.width, 0)
            width = place(curve, n * curve.width, 0) - begin
            label = f"{rows} not finite, from step {shown(curve.steps[first])}"
            yield Bad(begin, round(max(width, 0.4), 2), label)
            first = None


def _steps(curve: Curve) -> list[Tick]:
    """The steps below the drawing, from the first row to the last."""
    count = len(curve.steps)
    if not count:
        return []
    at = sorted({round(share * (count - 1)) for share in (0, 0.25, 0.5, 0.75, 1)})
    ticks = [Tick(place(curve, n * curve.width, curve.width), shown(curve.steps[n])) for n in at]
    newest = max((each.newest() for each in curve.series.values()), default=None)
    if newest is not None and count > 1:
        ticks[-1] = Tick(ticks[-1].at, shown(newest.step))
    return ticks
