"""lr_zero: the logged learning rate is zero before the end."""

from __future__ import annotations

from typing import ClassVar

from ..core.check import Check, RunConfig, mark
from ..core.findings import Evidence, Hold, Mark, Severity
from ..core.numbers import shown
from ..core.rows import Row


class LrZero(Check):
    """
    What it finds:
        A logged learning rate of exactly 0 in 3 rows running, after the first 3 rows
        and before 98% of the planned steps. Where no plan is known: one that fell
        from more than a twentieth of its peak to 0 at once.

    Why it matters:
        With a rate of 0 nothing is learned, and the run costs as much as before.
        Often a schedule was set up for fewer steps than the run has.

    What it does not find:
        A rate that is tiny and not zero. A schedule that has come down to 0 in a run
        of unknown length.

    Example:
        >>> check = LrZero()
        >>> rates = [1e-4] * 5 + [0.0] * 3
        >>> said = [check.update(Row(n, n, {"learning_rate": x, "planned_steps": 100.0}, 0))
        ...         for n, x in enumerate(rates, 1)]
        >>> said[-1].message
        'learning rate has been 0 since step 6, at 8% of the planned steps'

    Source:
        Schedules built for too few steps, after a change of batch size or epochs.
    """

    category: ClassVar[str] = "lr_zero"
    severity: ClassVar[Severity] = Severity.WARNING
    suggestion: ClassVar[str] = (
        "Compare the number of steps that the schedule was made for with the run's. After a "
        "resume, check that the scheduler's state was loaded."
    )
    check_set: ClassVar[str] = "extended"
    reads: ClassVar[tuple[str, ...]] = ("learning_rate",)
    hold: ClassVar[Hold] = Hold(rows=3, clear_rows=3)
    thresholds: ClassVar[dict[str, float]] = {
        "progress_max": 0.98,
        "warm_up_rows": 3,
        "fall_share": 0.05,
    }

    def __init__(self) -> None:
        self.rows = 0
        self.peak = 0.0
        self.last = 0.0
        self.fell = False
        self.since: Mark | None = None
        self.planned: int | None = None

    def configure(self, config: RunConfig) -> None:
        self.planned = config.planned_steps

    def update(self, row: Row) -> Evidence | None:
        self.rows += 1
        rate = row.values["learning_rate"]
        if rate != 0:
            self.since = None
            if 0 < rate < 1e300:
                self.last = rate
                if rate > self.peak:
                    self.peak = rate
            return None
        if self.since is None:
            self.fell = self.last > self.thresholds["fall_share"] * self.peak
        progress = self._progress(row)
        early = self.fell if progress is None else progress < self.thresholds["progress_max"]
        if self.rows <= self.thresholds["warm_up_rows"] or not early:
            return None
        if self.since is None:
            self.since = mark(row)
        of_plan = "" if progress is None else f", at {progress:.0%} of the planned steps"
        return Evidence(
            f"learning rate has been 0 since step {shown(self.since.step)}{of_plan}",
            {"learning_rate": 0.0, "peak": self.peak},
            self.since,
        )

    def _progress(self, row: Row) -> float | None:
        own = row.progress
        if own is None and self.planned and row.has_step:
            own = row.step / self.planned
        return own if own is not None and 0 <= own <= 10 else None
