"""What is shown of a run, and asked of it in its silences: all of it without its checks."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .check import Check
from .findings import Severity, Transition
from .reader import RunReader


class Firing(NamedTuple):
    """
    A finding that fires.

    Attributes:
        step, row, offset: Where it began to.
        values: The numbers behind it. May hold NaN.
    """

    category: str
    severity: Severity
    message: str
    suggestion: str
    step: int | float
    row: int
    offset: int
    segment: int
    values: dict[str, float]


class RunSummary(NamedTuple):
    """
    A run after its newest row.

    Attributes:
        rows: Over all segments.
        loss: The newest, finite or not.
        recent: The last finite losses, oldest first; as plain numbers, since each run has them.
        bad_lines: Lines that were no row.
        run_config: The file that its configuration was read from.
        heard: See `RunReader.heard`.
        finished: Why it is over; empty if that is not known.
        unfinished: Why it is not; empty if that is not known.
        firing: The findings that fire, in the order of the checks.
    """

    segment: int = 1
    rows: int = 0
    first_step: int | float | None = None
    last_step: int | float | None = None
    loss: float | None = None
    recent: Sequence[float] = array("d")
    bad_lines: int = 0
    run_config: str | None = None
    heard: tuple[int, bool, float] = (0, False, 0.0)
    finished: str = ""
    unfinished: str = ""
    firing: tuple[Firing, ...] = ()

    def to_state(self) -> list[Any]:
        """What to keep across a restart: values without their names."""
        firing = [
            (f.category, f.message, f.step, f.row, f.offset, f.segment, f.values)
            for f in self.firing
        ]
        return [*self._replace(recent=list(self.recent))[:-1], firing]

    @classmethod
    def from_state(cls, state: list[Any], checks: Iterable[type[Check]]) -> RunSummary:
        """The summary that `to_state` was called on, of a run with these *checks*."""
        *values, firing = state
        known = {check.category: check for check in checks}
        summary = cls(*values)
        evals, last_was_eval, step = summary.heard
        return summary._replace(
            recent=array("d", summary.recent),
            heard=(evals, last_was_eval, step),
            firing=tuple(
                Firing(name, known[name].severity, message, known[name].suggestion, *rest)
                for name, message, *rest in firing
            ),
        )


def summary_of(reader: RunReader) -> RunSummary:
    """What a reader knows of its run."""
    monitor, progress = reader.monitor, reader.progress
    last = monitor.last
    return RunSummary(
        monitor.segment,
        reader.rows,
        reader.first_step,
        last.step if last else None,
        reader.last_loss,
        array("d", monitor.recent),
        reader.bad_lines.total(),
        monitor.config.source,
        reader.heard,
        progress.finished(monitor.config),
        progress.unfinished(monitor.config),
        tuple(map(_firing, monitor.firing())),
    )


def _firing(transition: Transition) -> Firing:
    mark, evidence = transition.mark, transition.evidence
    return Firing(
        transition.category,
        transition.severity,
        evidence.message,
        transition.suggestion,
        mark.step,
        mark.row,
        mark.offset,
        transition.segment,
        evidence.values,
    )
