"""How far a run is, and whether it is over, as far as its log says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .check import RunConfig
from .numbers import shown
from .plain import fields_of
from .rows import Row, RowKind

PERCENT_DONE = 99.9


@dataclass(slots=True)
class Progress:
    """
    Follow the steps of one run against the planned ones.

    >>> progress = Progress()
    >>> progress.update(Row(1, 40, {"loss": 1.0, "planned_steps": 100.0}, 0))
    >>> progress.finished(RunConfig()), progress.unfinished(RunConfig())
    ('', 'it is at step 40 of 100')

    Attributes:
        step: The newest step of a row that has one.
        planned: At which step the log says that it is to end.
        percent: How far it says that it is.
        summed_up: The last row that was about the training summed it up.
    """

    step: float | None = None
    planned: float | None = None
    percent: float | None = None
    summed_up: bool = False

    def update(self, row: Row) -> None:
        """Take in the next row."""
        if row.kind is RowKind.END:
            self.summed_up = True
        elif row.kind is RowKind.TRAIN:
            self.summed_up = False
        if row.has_step and row.kind is not RowKind.EVAL:
            self.step = float(row.step)
        self.planned = row.values.get("planned_steps", self.planned)
        self.percent = row.values.get("percent", self.percent)

    def finished(self, config: RunConfig) -> str:
        """Why the run is over; empty if that is not known."""
        if self.summed_up:
            return "it wrote its summary"
        if self.percent is not None and self.percent >= PERCENT_DONE:
            return "it says that all is done"
        planned = self._planned(config)
        if planned is not None and self.step is not None and self.step >= planned - 1:
            return f"it reached its {shown(planned)} planned steps"
        return ""

    def unfinished(self, config: RunConfig) -> str:
        """Why it is not; empty if that is not known."""
        planned = self._planned(config)
        if self.finished(config) or planned is None or self.step is None:
            return ""
        return f"it is at step {shown(self.step)} of {shown(planned)}"

    def _planned(self, config: RunConfig) -> float | None:
        # What the log says is of this very run; a file beside it may be of one before.
        planned = self.planned if self.planned is not None else config.planned_steps
        return planned if planned is not None and planned > 0 else None

    def to_state(self) -> dict[str, Any]:
        """A small dict, for `Progress(**state)`."""
        return fields_of(self)
