"""grad_norm_zero: the gradients are zero while the learning rate is not."""

from __future__ import annotations

import math
from typing import ClassVar

from ..core.check import Check, mark
from ..core.findings import Evidence, Hold, Mark, Severity
from ..core.numbers import shown
from ..core.rows import Row


class GradNormZero(Check):
    """
    What it finds:
        A gradient norm of at most 1e-7 in 5 rows running, while the learning rate
        is above 0 or not logged.

    Why it matters:
        Without gradients no weight moves: the trained part is not connected to the
        loss, or everything is frozen or masked.

    What it does not find:
        The first 3 rows. A norm that is small because the run has converged, as long
        as it is not nearly zero. Reinforcement learning whose groups all got the
        same reward: see `no_learning_signal`.

    Example:
        >>> check = GradNormZero()
        >>> said = [check.update(Row(n, n, {"grad_norm": 0.0}, 0)) for n in range(1, 9)]
        >>> said[-1].message
        'grad norm is 0 at step 8, nearly zero since step 4, while the learning rate is above 0'

    Source:
        Frozen adapters and detached losses in fine-tuning runs.
    """

    category: ClassVar[str] = "grad_norm_zero"
    severity: ClassVar[Severity] = Severity.WARNING
    suggestion: ClassVar[str] = (
        "Check which parameters have requires_grad, that the loss depends on them, and that the "
        "labels are not all masked. With gradient checkpointing, inputs may need gradients too."
    )
    check_set: ClassVar[str] = "extended"
    reads: ClassVar[tuple[str, ...]] = ("grad_norm",)
    hold: ClassVar[Hold] = Hold(rows=5, clear_rows=5)
    thresholds: ClassVar[dict[str, float]] = {"limit": 1e-7, "warm_up_rows": 3}

    def __init__(self) -> None:
        self.rows = 0
        self.rate = 1.0  # Where none is logged, there is one all the same.
        self.since: Mark | None = None

    def update(self, row: Row) -> Evidence | None:
        self.rows += 1
        norm = row.values["grad_norm"]
        rate = row.values.get("learning_rate", self.rate)
        self.rate = 0.0 if math.isnan(rate) else min(max(rate, 0.0), 1e300)
        low = abs(norm) <= self.thresholds["limit"] and self.rate > 0 and not row.rewarded
        if not low or self.rows <= self.thresholds["warm_up_rows"]:
            self.since = None
            return None
        if self.since is None:
            self.since = mark(row)
        return Evidence(
            f"grad norm is {shown(norm)} at step {shown(row.step)}, nearly zero since step "
            f"{shown(self.since.step)}, while the learning rate is above 0",
            {"grad_norm": norm, "threshold": self.thresholds["limit"]},
            self.since,
        )
