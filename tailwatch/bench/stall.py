"""Runs that write nothing any more: when rows came, and what the checks say when none does."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..core.findings import Transition, TransitionKind
from ..core.monitor import RunMonitor
from ..core.rows import Row, RowKind
from ..core.silence import Arrivals, Silence

NAME = "stall"
RIGHT = ("run_stalled",)
TICK_S = 10.0
"""How often the daemon looks at a silent run."""
_UNFINISHED = "a process holds its file open"
_TIMED_SHARE_MIN = 0.9


class Gap(NamedTuple):
    """A silence before a row: its seconds, and what it is called in `Arrivals`."""

    seconds: float
    kind: str


def own_gaps(rows: Sequence[Row]) -> list[Gap | None] | None:
    """
    The silence before each row by the log's own times; None if it has none.

    None in it: the first row, a row that came with the one before, and one that is of
    another process: its step or its clock is set back.
    """
    for name in ("timestamp_s", "elapsed_s"):
        times = [
            row.timestamp_s if name == "timestamp_s" else row.values.get("elapsed_s")
            for row in rows
        ]
        if sum(time is not None for time in times) < _TIMED_SHARE_MIN * len(rows):
            continue
        gaps: list[Gap | None] = []
        last, before = None, None
        for row, time in zip(rows, times, strict=True):
            ahead = time is not None and last is not None and time > last
            ahead = ahead and before is not None and row.step >= before.step
            gaps.append(Gap(time - last, _kind(before, row)) if ahead else None)  # type: ignore[operator]
            last, before = last if time is None else time, row
        return gaps if any(gaps) else None
    return None


def simulated_gaps(rows: Sequence[Row], draw: Callable[[], float]) -> list[Gap | None]:
    """
    Silences as they may have been, for a log without times: by a pace of its own (1 s to
    5 min a row), a fifth more or less, and five times that around evaluations.

    Args:
        draw: Gives numbers from 0 to 1.
    """
    pace_s = 300 ** draw()
    gaps: list[Gap | None] = [None]
    for before, row in itertools.pairwise(rows):
        kind = _kind(before, row)
        gaps.append(Gap(pace_s * (0.8 + 0.4 * draw()) * (5 if kind == "eval" else 1), kind))
    return gaps


def _kind(before: Row | None, row: Row) -> str:
    return "eval" if RowKind.EVAL in (row.kind, before and before.kind) else "train"


def arrived(gaps: Sequence[Gap | None]) -> Arrivals:
    """What is known after these silences."""
    arrivals = Arrivals()
    for gap in gaps:
        if gap is not None:
            arrivals.add(gap.seconds, gap.kind)
    return arrivals


def ticks(monitor: RunMonitor, arrivals: Arrivals, gap: Gap) -> Iterator[Transition]:
    """
    What is said in a silence that a row then ends: of a run that is known to be
    unfinished, and of one of which nothing is known.
    """
    for unfinished in (_UNFINISHED, ""):
        silence = Silence(gap.seconds, arrivals.usual_s, arrivals.gaps, unfinished=unfinished)
        yield from monitor.tick(silence)


def found_after_rows(
    monitor: RunMonitor, gaps: Sequence[Gap | None], size: float
) -> tuple[str, float] | None:
    """
    The category that tells of a stall after these silences, and after how many rows' time.

    Args:
        size: 0 to 1: it lasts 12 to 40 times the longest usual silence, or 20 minutes.
    """
    arrivals = arrived(gaps)
    if not arrivals.gaps:
        return None
    pace_s = statistics.median(gap.seconds for gap in gaps if gap is not None)
    lasts_s = max(1200.0, (12 + 28 * size) * arrivals.usual_s)
    for number in range(1, int(lasts_s / TICK_S) + 1):
        silence_s = number * TICK_S
        silence = Silence(silence_s, arrivals.usual_s, arrivals.gaps, unfinished=_UNFINISHED)
        for transition in monitor.tick(silence):
            if transition.kind is TransitionKind.FIRING and transition.category in RIGHT:
                return transition.category, silence_s / pace_s
    return None
