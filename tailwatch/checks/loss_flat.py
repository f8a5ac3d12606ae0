"""loss_flat: after 30 losses the loss is where it began."""

from __future__ import annotations

from typing import ClassVar

from ..core.check import Gauge
from ..core.check_bases import FirstAgainstLastCheck
from ..core.findings import Evidence, Hold, Severity
from ..core.numbers import shown

ROWS_MIN = 30
RELATIVE_CHANGE = 0.005


class LossFlat(FirstAgainstLastCheck):
    """
    What it finds:
        After at least 30 finite losses, one that differs from the first by
        less than 0.5 per cent. Live, it must last 2 rows.

    Why it matters:
        A loss that does not move means that nothing is learned: a learning
        rate of nearly zero, frozen weights, or gradients that do not flow.

    What it does not find:
        A plateau that sets in after the loss has fallen. It compares two
        rows only, so it also speaks when a loss that went up crosses its
        first value on the way down. That is why it never pages. Live, it
        leaves reinforcement learning (a run that logs a reward) alone.

    Example:
        >>> from tailwatch.core.rows import Row
        >>> check = LossFlat()
        >>> rows = [Row(n, n, {"loss": 2.0 + n % 2 / 1000}, 0) for n in range(1, 31)]
        >>> [check.update(row) for row in rows][-1].message
        'loss 2 at step 30 is within 0.5% of the first loss, 2.001, after 30 rows'

    Source:
        The seed rules (tailwatch), abs((losses[0] - losses[-1]) / losses[0]) < 0.005.
    """

    category: ClassVar[str] = "loss_flat"
    severity: ClassVar[Severity] = Severity.WARNING
    suggestion: ClassVar[str] = (
        "Check that gradients flow: that the weights meant to train are not frozen, and that "
        "the labels are not all masked. If they do, raise the learning rate by a factor of 2 to 5."
    )
    hold: ClassVar[Hold] = Hold(rows=2, clear_rows=20)
    thresholds: ClassVar[dict[str, float]] = {
        "rows_min": ROWS_MIN,
        "relative_change": RELATIVE_CHANGE,
    }

    def diagnose(self) -> Evidence | None:
        if not self.holds():
            return None
        assert self.first is not None
        return Evidence(
            f"loss {shown(self.last)} at step {shown(self.last_step)} is within "
            f"{RELATIVE_CHANGE:.1%} of the first loss, {shown(self.first)}, "
            f"after {self.rows} rows",
            {"loss": self.last, "first_loss": self.first, "threshold": RELATIVE_CHANGE},
            self.since,
        )

    def holds(self) -> bool:
        return (
            self.first is not None
            and self.rows >= ROWS_MIN
            and self.first > 0
            and abs((self.first - self.last) / self.first) < RELATIVE_CHANGE
        )

    def gauge(self) -> Gauge | None:
        if self.first is None or self.waiting():
            return None
        change = abs((self.first - self.last) / self.first)
        return Gauge("change of the loss since its first", change, RELATIVE_CHANGE, above=False)
