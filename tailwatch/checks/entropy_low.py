"""entropy_low: the policy has become nearly certain of everything."""

from __future__ import annotations

import math
from typing import ClassVar

from ..core.check import Check, Gauge, mark
from ..core.findings import Evidence, Hold, Mark, Severity
from ..core.numbers import shown
from ..core.rows import Row
from ..core.stats import Ewma


class EntropyLow(Check):
    """
    What it finds:
        In reinforcement learning, a smoothed entropy below a tenth of the mean of the
        first 10 rows and below 0.1 nats, for 10 rows running.

    Why it matters:
        A policy without entropy tries nothing new: its reward stops growing, and it
        seldom comes back.

    What it does not find:
        A low entropy from the beginning. The entropy that fine-tuning logs beside a
        loss, which may fall to 0 in health. Policies over continuous actions, whose
        entropy may be below 0: nothing is said of a run once it was.

    Example:
        >>> check = EntropyLow()
        >>> values = [1.0] * 10 + [0.01] * 40
        >>> said = [check.update(Row(n, n, {"entropy": x}, 0, rewarded=True))
        ...         for n, x in enumerate(values, 1)]
        >>> next(one for one in said if one).message
        'entropy has fallen to 0.09774 nats at step 33, from 1 in the first rows'

    Source:
        Entropy collapse in RL of language models: Cui et al. 2025.
    """

    category: ClassVar[str] = "entropy_low"
    severity: ClassVar[Severity] = Severity.WARNING
    suggestion: ClassVar[str] = (
        "Raise the entropy bonus or the sampling temperature, clip higher than lower, and go "
        "back to a saved model from before the fall if the reward has stopped growing."
    )
    check_set: ClassVar[str] = "extended"
    reads: ClassVar[tuple[str, ...]] = ("entropy",)
    hold: ClassVar[Hold] = Hold(rows=10, clear_rows=20)
    thresholds: ClassVar[dict[str, float]] = {
        "alpha": 0.1,
        "share": 0.1,
        "nats_max": 0.1,
        "warm_up_rows": 10,
    }

    def __init__(self) -> None:
        self.smooth = Ewma(self.thresholds["alpha"])
        self.first = Ewma(0.0)
        self.off = False
        self.since: Mark | None = None

    def update(self, row: Row) -> Evidence | None:
        entropy, limits = row.values["entropy"], self.thresholds
        if not math.isfinite(entropy) or not row.rewarded:
            return None
        # A differential entropy: it passes 0.1 on its way down in health.
        self.off = self.off or entropy < 0
        if self.off:
            return None
        self.smooth.update(entropy)
        if self.first.n < limits["warm_up_rows"]:
            self.first.update(entropy)
            return None
        now = self.smooth.mean
        if now >= limits["share"] * self.first.mean or now >= limits["nats_max"]:
            self.since = None
            return None
        if self.since is None:
            self.since = mark(row)
        return Evidence(
            f"entropy has fallen to {shown(now)} nats at step {shown(row.step)}, "
            f"from {shown(self.first.mean)} in the first rows",
            {"entropy": entropy, "smoothed": now, "baseline": self.first.mean},
            self.since,
        )

    def gauge(self) -> Gauge | None:
        if self.waiting():
            return None
        limit = min(self.thresholds["share"] * self.first.mean, self.thresholds["nats_max"])
        return Gauge("smoothed entropy", self.smooth.mean, limit, above=False)
