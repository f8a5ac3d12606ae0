"""grad_norm_nan: the gradient norm is not finite, row after row."""

from __future__ import annotations

import math
from typing import ClassVar

from ..core.check import Check, mark
from ..core.findings import Evidence, Hold, Mark, Severity
from ..core.numbers import shown
from ..core.rows import Row


class GradNormNan(Check):
    """
    What it finds:
        A gradient norm that is NaN or infinite in 3 rows running.

    Why it matters:
        Steps with such gradients are skipped, if the trainer is careful, and poison
        the weights if it is not. Either way nothing is learned.

    What it does not find:
        One norm alone: under fp16 that is a skipped step while the loss scale
        settles, and normal.

    Example:
        >>> check = GradNormNan()
        >>> check.update(Row(1, 10, {"grad_norm": float("inf")}, 0)).message
        'grad norm is Infinity at step 10, in 1 row running; no norm before it was finite'

    Source:
        Mixed precision training, Micikevicius et al. 2018: dynamic loss scaling.
    """

    category: ClassVar[str] = "grad_norm_nan"
    severity: ClassVar[Severity] = Severity.WARNING
    suggestion: ClassVar[str] = (
        "Use bf16 instead of fp16, or let the loss scale start lower. If the loss is NaN too, "
        "go back to a saved model; if not, look for an overflow in the last layers."
    )
    check_set: ClassVar[str] = "extended"
    reads: ClassVar[tuple[str, ...]] = ("grad_norm",)
    hold: ClassVar[Hold] = Hold(rows=3, clear_rows=20)

    def __init__(self) -> None:
        self.bad_rows = 0
        self.last_finite: float | None = None
        self.since: Mark | None = None

    def update(self, row: Row) -> Evidence | None:
        norm = row.values["grad_norm"]
        if math.isfinite(norm):
            self.bad_rows, self.last_finite, self.since = 0, norm, None
            return None
        self.bad_rows += 1
        if self.since is None:
            self.since = mark(row)
        before = (
            "no norm before it was finite"
            if self.last_finite is None
            else f"the last finite norm was {shown(self.last_finite)}"
        )
        return Evidence(
            f"grad norm is {shown(norm)} at step {shown(row.step)}, in {self.bad_rows} "
            f"row{'s' * (self.bad_rows > 1)} running; {before}",
            {"grad_norm": norm, "rows": self.bad_rows},
            self.since,
        )
