"""loss_zero: the loss is exactly zero, row after row."""

from __future__ import annotations

from typing import ClassVar

from ..core.check import Check, mark
from ..core.findings import Evidence, Hold, Mark, Severity
from ..core.numbers import shown
from ..core.rows import Row


class LossZero(Check):
    """
    What it finds:
        A training loss of exactly 0 in 20 rows running.

    Why it matters:
        Nothing is learned from a loss of 0: the labels are all masked, the data set
        is solved, or a filter wrote 0 for NaN.

    What it does not find:
        A loss that is rounded to 0 now and then. Reinforcement learning, where the
        loss of a policy is 0 by nature.

    Example:
        >>> check = LossZero()
        >>> said = [check.update(Row(n, n, {"loss": 0.0}, 0)) for n in range(1, 21)]
        >>> said[-1].message
        'loss has been exactly 0 for 20 rows, since step 1'

    Source:
        Masked labels and filtered NaNs in the logs of fine-tuning runs.
    """

    category: ClassVar[str] = "loss_zero"
    severity: ClassVar[Severity] = Severity.WARNING
    suggestion: ClassVar[str] = (
        "Look at one batch: are the labels all -100? Is the answer cut off by the length limit? "
        "If the loss was high just before, it is more likely a NaN that was written as 0."
    )
    check_set: ClassVar[str] = "extended"
    reads: ClassVar[tuple[str, ...]] = ("loss",)
    hold: ClassVar[Hold] = Hold(rows=20, clear_rows=1)

    def __init__(self) -> None:
        self.zero_rows = 0
        self.since: Mark | None = None

    def update(self, row: Row) -> Evidence | None:
        if row.values["loss"] != 0 or row.loss_wanders:
            self.zero_rows, self.since = 0, None
            return None
        self.zero_rows += 1
        if self.since is None:
            self.since = mark(row)
        return Evidence(
            f"loss has been exactly 0 for {self.zero_rows} row{'s' * (self.zero_rows > 1)}, "
            f"since step {shown(self.since.step)}",
            {"loss": 0.0, "rows": self.zero_rows},
            self.since,
        )
