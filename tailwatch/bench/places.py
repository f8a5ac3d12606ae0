"""Where in a log a fault may stand, and which it gets: the same for the same seed and log."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from ..core.rows import Row, RowKind
from .faults import BEFORE_ROWS, FAULTS, Fault
from .logs import Log

PLACES = 3
"""Faults of one kind in one log, where it is long enough."""

LOG_ROWS_MIN = 150
"""A shorter log gets no faults."""

SEGMENT_ROWS_MIN = 60
"""Rows of the segment before a fault: some checks warm up for 50."""

_DRAWS = 20


class Place(NamedTuple):
    """
    A fault to write.

    Attributes:
        rows: The numbers of the faulty rows in the log, from 0.
        before: The rows with its fields before them.
        size: 0 to 1.
    """

    fault: Fault
    rows: list[int]
    before: list[Row]
    size: float


def places(log: Log, seed: int) -> Iterator[Place]:
    """The faults for a log, whatever other logs and kinds of faults there are."""
    for fault in FAULTS:
        noise = Random(f"{seed}/{log.run}/{fault.name}")
        series = _series(log, fault.needs)
        taken: set[int] = set()
        for _ in range(_DRAWS if len(series) >= LOG_ROWS_MIN else 0):
            start, size = noise.randrange(len(series)), noise.random()
            if len(taken) == PLACES or start in taken:
                continue
            before = _before(log, fault, series, start)
            if before is not None:
                taken.add(start)
                yield Place(fault, series[start : start + fault.rows], before, size)


def halts(log: Log, seed: int) -> list[int]:
    """The rows before which the run may fall silent, by their numbers in the log from 0."""
    series = _series(log, ())
    if len(series) < LOG_ROWS_MIN:
        return []
    return sorted(Random(f"{seed}/{log.run}/halts").sample(series[SEGMENT_ROWS_MIN:], PLACES))


def _series(log: Log, needs: tuple[str, ...]) -> list[int]:
    return [
        number
        for number, (row, line, _) in enumerate(log.rows)
        if line is not None and row.kind is RowKind.TRAIN and all(n in row.values for n in needs)
    ]


def _before(log: Log, fault: Fault, series: list[int], start: int) -> list[Row] | None:
    """The rows before a fault that starts there; None if it cannot."""
    first, end = start - SEGMENT_ROWS_MIN, start + fault.rows
    if first < 0 or end > len(series):
        return None
    if log.rows[series[first]].segment != log.rows[series[end - 1]].segment:
        return None
    before = [log.rows[n].row for n in series[start - BEFORE_ROWS : start]]
    within = [log.rows[n].row for n in series[start:end]]
    return before if fault.suits(before, within) else None
