"""nan_loss: the training loss is NaN or infinite."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from ..core.check import Check, mark
from ..core.findings import Evidence, Hold, Mark, Severity
from ..core.numbers import shown
from ..core.rows import Row


class NanLoss(Check):
    """
    What it finds:
        A training loss that is NaN, Infinity or -Infinity, in any spelling:
        a bare NaN, the text "nan", a number too large for a double.

    Why it matters:
        With one NaN in the weights every later step is wasted. The run goes
        on, costs as much as before, and learns nothing.

    What it does not find:
        A NaN that the trainer hides: some write 0.0 or null in its place.
        A NaN in the gradient norm alone, which under fp16 is often just a
        skipped step. 20 finite losses end the finding; a NaN after them is a
        new one.

    Example:
        >>> check = NanLoss()
        >>> check.update(Row(1, 10, {"loss": 2.5}, offset=0)) is None
        True
        >>> check.update(Row(2, 20, {"loss": float("nan")}, offset=25)).message
        'loss is NaN at step 20; the last finite loss was 2.5'
        >>> check.update(Row(3, 30, {"loss": 2.4}, offset=50)) is None
        True
        >>> check.diagnose().message
        'loss is NaN at step 20, the first of 1 such row'

    Source:
        The seed rules (tailwatch), any(not isfinite(loss)).
    """

    category: ClassVar[str] = "nan_loss"
    severity: ClassVar[Severity] = Severity.CRITICAL
    suggestion: ClassVar[str] = (
        "Stop the run and go back to a saved model from before this step. Usual causes: "
        "a learning rate that is too high; fp16 where bf16 would hold; a corrupt or empty "
        "sample near this step; a custom loss or reward function that divides by zero."
    )
    reads: ClassVar[tuple[str, ...]] = ("loss",)
    hold: ClassVar[Hold] = Hold(rows=1, clear_rows=20)
    latched: ClassVar[bool] = True

    def __init__(self) -> None:
        self.first_bad: Mark | None = None
        self.first_text = ""
        self.bad_rows = 0
        self.last_finite: float | None = None

    def update(self, row: Row) -> Evidence | None:
        loss = row.values["loss"]
        if math.isfinite(loss):
            self.last_finite = loss
            return None
        here = mark(row)
        self.bad_rows += 1
        if self.first_bad is None:
            self.first_bad, self.first_text = here, shown(loss)
        before = (
            "no loss before it was finite"
            if self.last_finite is None
            else f"the last finite loss was {shown(self.last_finite)}"
        )
        return Evidence(
            f"loss is {shown(loss)} at step {shown(row.step)}; {before}", {"loss": loss}, here
        )

    def diagnose(self) -> Evidence | None:
        if self.first_bad is None:
            return None
        rows = f"{self.bad_rows} such row" + "s" * (self.bad_rows > 1)
        return Evidence(
            f"loss is {self.first_text} at step {shown(self.first_bad.step)}, the first of {rows}",
            {"loss": float(self.first_text), "rows": self.bad_rows},
            self.first_bad,
        )

    def to_state(self) -> dict[str, Any]:
        return {
            "first_bad": self.first_bad,
            "first_text": self.first_text,
            "bad_rows": self.bad_rows,
            "last_finite": self.last_finite,
        }
