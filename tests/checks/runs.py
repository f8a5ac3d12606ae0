"""A run in the short: one check, its life cycle, and the edges as it goes."""

from __future__ import annotations

from collections.abc import Sequence

from tailwatch.core.check import Check, RunConfig
from tailwatch.core.findings import Evidence, Finding, Transition, TransitionKind
from tailwatch.core.monitor import RunMonitor
from tailwatch.core.rows import Row


class Run:
    """
    A run that only *check* looks at, as one segment.

    Attributes:
        transitions: All so far.
    """

    def __init__(self, check: type[Check], learning_rate: float | None = None) -> None:
        self.monitor = RunMonitor([check], RunConfig(learning_rate), whole_file=True)
        self.transitions: list[Transition] = []
        self.rows = 0

    def feed(self, field: str, values: Sequence[float]) -> str:
        """Add rows with one field; an edge a row: F firing, C continuing, R resolved, - none."""
        return "".join(self.row(**{field: value}) for value in values)

    def losses(self, *values: float) -> str:
        """Add rows that have a loss."""
        return self.feed("loss", values)

    def row(self, **values: float) -> str:
        """Add one row; its step is ten times its number."""
        self.rows += 1
        row = Row(self.rows, 10 * self.rows, values, 100 * self.rows)
        return self._edges(self.monitor.update(row))

    def rest(self) -> str:
        """The run ended."""
        return self._edges(self.monitor.rest())

    def _edges(self, transitions: list[Transition]) -> str:
        self.transitions += transitions
        return "".join(_letter(t) for t in transitions) or "-"

    @property
    def findings(self) -> list[Finding]:
        """The diagnosis."""
        return self.monitor.diagnose()

    @property
    def evidence(self) -> Evidence:
        """The evidence of the only finding."""
        (finding,) = self.findings
        return finding.evidence


def _letter(transition: Transition) -> str:
    if transition.kind is TransitionKind.RESOLVED:
        return "R"
    return "C" if transition.continues else "F"
