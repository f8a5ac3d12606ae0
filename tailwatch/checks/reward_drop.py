"""reward_drop: the reward has lost half of what it gained."""

from __future__ import annotations

import math
from typing import ClassVar

from ..core.check import Check, Gauge, mark
from ..core.findings import Evidence, Hold, Mark, Severity
from ..core.numbers import shown
from ..core.rows import Row
from ..core.stats import Ewma


class RewardDrop(Check):
    """
    What it finds:
        After 20 rows, a smoothed reward that is below its best by half of all the
        gain so far and by 3 deviations, for 10 rows running.

    Why it matters:
        The policy unlearns what it had learned. The saved models from before the
        fall are better than the one that is being trained.

    What it does not find:
        A fall within the noise, or of less than half the gain. A reward that never
        rose and stays where it is. A reward that is gamed: that one rises.

    Example:
        >>> check = RewardDrop()
        >>> rewards = [n / 50 for n in range(50)] + [0.0] * 40
        >>> said = [check.update(Row(n, n, {"reward": x}, 0, rewarded=True))
        ...         for n, x in enumerate(rewards, 1)]
        >>> next(one for one in said if one).message
        'smoothed reward 0.2515 at step 61 is far below its best, 0.8013 at step 50'

    Source:
        Measured on public RL logs; ratios say nothing where rewards may be negative.
    """

    category: ClassVar[str] = "reward_drop"
    severity: ClassVar[Severity] = Severity.WARNING
    suggestion: ClassVar[str] = (
        "Keep the saved model nearest to the best reward. Look at KL and entropy at the fall; "
        "lower the learning rate or raise the weight of the KL term and go on from there."
    )
    check_set: ClassVar[str] = "extended"
    reads: ClassVar[tuple[str, ...]] = ("reward",)
    hold: ClassVar[Hold] = Hold(rows=10, clear_rows=20)
    thresholds: ClassVar[dict[str, float]] = {
        "alpha": 0.1,
        "share": 0.5,
        "deviations": 3,
        "warm_up_rows": 20,
    }

    def __init__(self) -> None:
        self.smooth = Ewma(self.thresholds["alpha"])
        self.lowest: float | None = None
        self.best: float | None = None
        self.best_step: int | float = 0
        self.spread = 0.0
        self.since: Mark | None = None

    def update(self, row: Row) -> Evidence | None:
        reward, limits = row.values["reward"], self.thresholds
        if not math.isfinite(reward):
            return None
        self.smooth.update(reward)
        now = self.smooth.mean
        if self.smooth.n < limits["warm_up_rows"]:
            return None
        if self.lowest is None:
            self.lowest = now
        if self.best is None or now > self.best:
            # The spread at the best: the fall itself would widen it.
            self.best, self.best_step, self.spread = now, row.step, self.smooth.deviation
        fall, gain = self.best - now, self.best - self.lowest
        if fall <= 0 or fall < limits["share"] * gain or fall < limits["deviations"] * self.spread:
            self.since = None
            return None
        if self.since is None:
            self.since = mark(row)
        return Evidence(
            f"smoothed reward {shown(now)} at step {shown(row.step)} is far below its best, "
            f"{shown(self.best)} at step {shown(self.best_step)}",
            {"reward": reward, "smoothed": now, "best": self.best, "best_step": self.best_step},
            self.since,
        )

    def gauge(self) -> Gauge | None:
        if self.best is None or self.lowest is None:
            return None
        limits, gain = self.thresholds, self.best - self.lowest
        fall = max(limits["share"] * gain, limits["deviations"] * self.spread)
        return Gauge("smoothed reward", self.smooth.mean, self.best - fall, above=False)
