"""Logs fed to the checks line by line, as they run live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..core.check import Check
from ..core.findings import Transition, TransitionKind
from ..core.monitor import RunMonitor
from ..core.reader import RunReader
from ..core.silence import Arrivals
from ..packing import pack, unpack
from .logs import Log
from .stall import Gap, ticks


@dataclass(slots=True)
class Clean:
    """
    A log as it is.

    Attributes:
        firings: What fired, in order.
        states: Line -> the reader before that line.
        standing: Line -> the categories that stood before it.
        failed: The checks that raised.
    """

    firings: list[Transition] = field(default_factory=list)
    states: dict[int, bytes] = field(default_factory=dict)
    standing: dict[int, frozenset[str]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)


def clean(
    log: Log,
    checks: Sequence[type[Check]],
    keep: set[int],
    gaps: Mapping[int, Gap],
) -> Clean:
    """
    Replay all of a log.

    Args:
        keep: The lines before which to keep the state.
        gaps: Line -> the silence before it, where that is known.
    """
    reader = RunReader(checks, log.config, fields=log.fields)
    result, arrivals = Clean(), Arrivals()
    for number, line in enumerate(log.lines):
        if number in keep:
            result.states[number] = pack(reader.to_state())
            result.standing[number] = frozenset(t.category for t in reader.monitor.firing())
        if gap := gaps.get(number):
            result.firings += _firing(list(ticks(reader.monitor, arrivals, gap)))
            arrivals.add(gap.seconds, gap.kind)
        result.firings += _firing(reader.feed(line))
    result.firings += _firing(reader.rest())
    result.failed = [category for category, _ in reader.monitor.take_errors()]
    return result


def restored(log: Log, checks: Sequence[type[Check]], state: bytes) -> RunReader:
    """The reader whose state was kept."""
    return RunReader.from_state(checks, log.config, unpack(state), fields=log.fields)


def faulted(
    log: Log, checks: Sequence[type[Check]], state: bytes, lines: Sequence[bytes]
) -> list[Transition]:
    """What fires when these lines come next."""
    reader = restored(log, checks, state)
    return _firing([each for line in lines for each in reader.feed(line)])


def silent(log: Log, checks: Sequence[type[Check]], state: bytes) -> RunMonitor:
    """The monitor of a run after which nothing comes."""
    return restored(log, checks, state).monitor


def _firing(transitions: list[Transition]) -> list[Transition]:
    return [each for each in transitions if each.kind is TransitionKind.FIRING]
