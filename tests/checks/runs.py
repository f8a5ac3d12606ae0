"""A run in the short: one check, its life cycle, and the edges as it goes."""

from __future__ import annotations

from collections.abc import Sequence

from tailwatch.core.check import Check, RunConfig
from tailwatch.core.findings import Evidence, Finding, Transition, TransitionKind
from tailwatch.core.monitor import RunMonitor
from tailwatch.core.rows import Row, RowKind


class Run:
    """
    A run that only *check* looks at, as one segment unless *segments* are asked for.

    Attributes:
        transitions: All so far.
        rewarded: Whether it is reinforcement learning.
        adversarial: Whether it has a discriminator.
        step: The step of the next row, where it is not ten times its number.
    """

    def __init__(
        self,
        check: type[Check],
        learning_rate: float | None = None,
        *,
        rewarded: bool = False,
        adversarial: bool = False,
        planned_steps: int | None = None,
        segments: bool = False,
    ) -> None:
        config = RunConfig(learning_rate, planned_steps=planned_steps)
        self.monitor = RunMonitor([check], config, whole_file=not segments)
        self.transitions: list[Transition] = []
        self.rows = 0
        self.rewarded, self.adversarial = rewarded, adversarial
        self.step: float | None = None

    def feed(self, field: str, values: Sequence[float]) -> str:
        """Add rows with one field; an edge a row: F firing, C continuing, R resolved, - none."""
        return "".join(self.row(**{field: value}) for value in values)

    def losses(self, *values: float) -> str:
        """Add rows that have a loss."""
        return self.feed("loss", values)

    def row(self, **values: float) -> str:
        """Add one training row; its step is ten times its number."""
        return self.other(RowKind.TRAIN, **values)

    def other(
        self,
        kind: RowKind = RowKind.TRAIN,
        *,
        evals: dict[str, float] | None = None,
        nulls: tuple[str, ...] = (),
        resumed_from: float | None = None,
        has_step: bool = True,
        **values: float,
    ) -> str:
        """Add one row of any kind."""
        self.rows += 1
        step, self.step = self.step or 10 * self.rows, None
        if evals:
            values["eval_loss"] = next(iter(evals.values()))
        row = Row(
            self.rows,
            step,
            values,
            100 * self.rows,
            has_step=has_step,
            kind=kind,
            evals=evals or {},
            nulls=nulls,
            rewarded=self.rewarded,
            adversarial=self.adversarial,
            resumed_from=resumed_from,
        )
        return self._edges(self.monitor.update(row))

    def evaluation(self, **evals: float) -> str:
        """Add a row of an evaluation: key and loss of each set."""
        return self.other(RowKind.EVAL, evals=evals)

    def null_loss(self, **values: float) -> str:
        """Add a training row whose loss is null."""
        return self.other(nulls=("loss",), **values)

    def rest(self) -> str:
        """The run ended."""
        return self._edges(self.monitor.rest())

    def _edges(self, transitions: list[Transition]) -> str:
        self.transitions += transitions
        return "".join(_letter(t) for t in transitions) or "-"

    @property
    def said(self) -> str:
        """The message of the newest edge."""
        return self.transitions[-1].evidence.message

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
