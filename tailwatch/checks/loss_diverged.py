"""loss_diverged: the loss stands far above where it began."""

from __future__ import annotations

from typing import ClassVar

from ..core.check import Gauge
from ..core.check_bases import FirstAgainstLastCheck
from ..core.findings import Evidence, Hold, Severity
from ..core.numbers import shown
from ..core.rows import Row

FACTOR = 3
ROWS_MIN = 5
RISE_MIN = 0.05


class LossDiverged(FirstAgainstLastCheck):
    """
    What it finds:
        A finite loss of more than 3 times the first finite loss, with at
        least 5 finite losses so far. Live, it must last 3 rows and be at least
        0.05 above the first loss.

    Why it matters:
        A loss that has tripled rarely comes back by itself, and what it
        learned before is being lost with every step.

    What it does not find:
        A rise from the lowest loss that stays under 3 times the first one. A
        run whose first loss is zero or negative. Live, reinforcement learning
        (a run that logs a reward), whose losses may grow as it gets better.

    Example:
        >>> check = LossDiverged()
        >>> rows = [Row(n, n, {"loss": x}, 0) for n, x in enumerate([2.0, 1.9, 1.8, 2.2, 6.5], 1)]
        >>> [check.update(row) for row in rows][-1].message
        'loss 6.5 at step 5 is over 3 times the first loss, 2'

    Source:
        The seed rules (tailwatch), losses[-1] > 3 * losses[0].
    """

    category: ClassVar[str] = "loss_diverged"
    severity: ClassVar[Severity] = Severity.CRITICAL
    suggestion: ClassVar[str] = (
        "Go back to a saved model from before the rise. Then lower the learning rate by a "
        "factor of 5, clip the gradient norm at 1.0, lengthen the warm-up, and use bf16 "
        "instead of fp16."
    )
    hold: ClassVar[Hold] = Hold(rows=3, clear_rows=20)
    thresholds: ClassVar[dict[str, float]] = {
        "factor": FACTOR,
        "rows_min": ROWS_MIN,
        "rise_min": RISE_MIN,
    }

    def up(self, row: Row) -> bool:
        up = super().up(row)
        # A segment that starts near zero would diverge by noise.
        return up and self.first is not None and self.last - self.first >= RISE_MIN

    def diagnose(self) -> Evidence | None:
        if not self.holds():
            return None
        assert self.first is not None
        return Evidence(
            f"loss {shown(self.last)} at step {shown(self.last_step)} is over {FACTOR} times "
            f"the first loss, {shown(self.first)}",
            {"loss": self.last, "first_loss": self.first, "threshold": FACTOR * self.first},
            self.since,
        )

    def holds(self) -> bool:
        return (
            self.first is not None
            and self.rows >= ROWS_MIN
            and self.first > 0
            and self.last > FACTOR * self.first
        )

    def gauge(self) -> Gauge | None:
        if self.waiting():
            return None
        return Gauge("loss", self.last, FACTOR * (self.first or 0.0))
