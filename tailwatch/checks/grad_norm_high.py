"""grad_norm_high: a fifth of all gradient norms is above 50."""

from __future__ import annotations

import math
from typing import ClassVar

from ..core.check import Check, Gauge, mark
from ..core.findings import STANDS, Evidence, Hold, Mark, Severity
from ..core.numbers import shown
from ..core.rows import Row

LIMIT = 50
ROWS_MIN = 10
COUNT_MIN = 3
SHARE = 5


class GradNormHigh(Check):
    """
    What it finds:
        After at least 10 finite gradient norms, that at least a fifth of them,
        and at least 3, were above 50. Live, it must last 2 rows.

    Why it matters:
        Large gradients, unless they are clipped, push the weights far in one
        step; a loss spike or a NaN often follows.

    What it does not find:
        A sudden jump against the run's own level. 50 is a fixed limit: some
        healthy runs live at 100,000, and norms logged before clipping are high
        during warm-up. That is why it never pages.

    Example:
        >>> check = GradNormHigh()
        >>> rows = [Row(n, n, {"grad_norm": 80.0 if n > 7 else 1.0}, 0) for n in range(1, 11)]
        >>> [check.update(row) for row in rows][-1].message
        'grad norm was above 50 in 3 of 10 rows up to step 10; it is 80 now'

    Source:
        The seed rules (tailwatch), sum(g > 50) >= max(3, len(g) // 5).
    """

    category: ClassVar[str] = "grad_norm_high"
    severity: ClassVar[Severity] = Severity.WARNING
    suggestion: ClassVar[str] = (
        "Clip the gradient norm at 1.0 and lower the learning rate. If this model's norms are "
        "always this large and its loss falls, nothing needs to be done."
    )
    reads: ClassVar[tuple[str, ...]] = ("grad_norm",)
    hold: ClassVar[Hold] = Hold(rows=2, clear_rows=20)
    thresholds: ClassVar[dict[str, float]] = {
        "limit": LIMIT,
        "rows_min": ROWS_MIN,
        "count_min": COUNT_MIN,
        "share": 1 / SHARE,
    }

    def __init__(self) -> None:
        self.rows = 0
        self.high_rows = 0
        self.last = 0.0
        self.last_step: int | float = 0
        self.since: Mark | None = None

    def update(self, row: Row) -> Evidence | None:
        return self.diagnose() if self._up(row) else None

    def still_up(self, row: Row) -> Evidence | None:
        return STANDS if self._up(row) else None

    def _up(self, row: Row) -> bool:
        norm = row.values["grad_norm"]
        if math.isfinite(norm):
            self.rows += 1
            self.high_rows += norm > LIMIT
            self.last, self.last_step = norm, row.step
            if not self._high():
                self.since = None
            elif self.since is None:
                self.since = mark(row)
        return self.since is not None

    def diagnose(self) -> Evidence | None:
        if not self._high():
            return None
        return Evidence(
            f"grad norm was above {LIMIT} in {self.high_rows} of {self.rows} rows up to step "
            f"{shown(self.last_step)}; it is {shown(self.last)} now",
            {"grad_norm": self.last, "high_rows": self.high_rows, "threshold": LIMIT},
            self.since,
        )

    def _high(self) -> bool:
        if self.high_rows < COUNT_MIN:  # Nearly every row of nearly every run.
            return False
        return self.rows >= ROWS_MIN and self.high_rows >= self.rows // SHARE

    def gauge(self) -> Gauge | None:
        if self.waiting():
            return None
        limit = max(COUNT_MIN, self.rows // SHARE)
        return Gauge(f"rows with a gradient norm above {LIMIT}", self.high_rows, limit)
