"""kl_high: the policy moves too far."""

from __future__ import annotations

import math
from typing import ClassVar

from ..core.check import Check, Gauge, mark
from ..core.findings import Evidence, Hold, Mark, Severity
from ..core.numbers import shown
from ..core.rows import Row
from ..core.stats import Ewma


class KlHigh(Check):
    """
    What it finds:
        In reinforcement learning, a KL divergence of one update above 0.1, or a
        smoothed one to the reference model that is above 5 times its usual and above
        0.5: after 20 rows, for 3 rows running. It is over after 20 rows below half
        of that.

    Why it matters:
        A policy that moves far in one update, or away from its reference, often
        has found a hole in the reward, and forgets what it could do.

    What it does not find:
        A slow drift from the reference, and single rows far above, which some
        estimators of the KL have. Preference training (DPO, KTO), whose KL means
        something else.

    Example:
        >>> check = KlHigh()
        >>> said = [check.update(Row(n, n, {"kl": 0.3 if n > 20 else 0.01}, 0, rewarded=True))
        ...         for n in range(1, 22)]
        >>> said[-1].message
        'KL of the update is 0.3 at step 21, above 0.1, since step 21'

    Source:
        PPO's target KL, Schulman et al. 2017: 0.01 to 0.05 is usual.
    """

    category: ClassVar[str] = "kl_high"
    severity: ClassVar[Severity] = Severity.WARNING
    suggestion: ClassVar[str] = (
        "Lower the learning rate or the number of updates for each batch; raise the weight of "
        "the KL term; read some completions, in case the policy games the reward."
    )
    check_set: ClassVar[str] = "extended"
    reads_any: ClassVar[tuple[str, ...]] = ("kl", "kl_reference")
    hold: ClassVar[Hold] = Hold(rows=3, clear_rows=20)
    thresholds: ClassVar[dict[str, float]] = {
        "update_max": 0.1,
        "factor": 5,
        "reference_min": 0.5,
        "warm_up_rows": 20,
        "clear_share": 0.5,
    }

    def __init__(self) -> None:
        self.rows = 0
        self.fast, self.slow = Ewma(0.1), Ewma(0.02)
        self.excess = 0.0
        self.since: Mark | None = None

    def update(self, row: Row) -> Evidence | None:
        self.rows += 1
        limits = self.thresholds
        update, drift = self._value(row, "kl"), self._value(row, "kl_reference")
        update_limit, drift_limit = limits["update_max"], math.inf
        if drift is not None:
            drift_limit = max(limits["factor"] * self.slow.mean, limits["reference_min"])
            # Of two means of the same values the fast one never comes to 5 times the slow: that
            # one stands still while the value is beyond the limit. And one wild row is one row.
            if drift <= drift_limit or self.rows <= limits["warm_up_rows"]:
                self.slow.update(drift)
            self.fast.update(min(drift, 2 * drift_limit))
            drift = self.fast.mean
        worst = max(
            (update or 0.0) / update_limit,
            (drift or 0.0) / drift_limit,
        )
        self.excess = min(worst, 1e300)
        if worst <= 1 or not row.rewarded or self.rows <= limits["warm_up_rows"]:
            self.since = None
            return None
        if self.since is None:
            self.since = mark(row)
        of_update = update is not None and update > update_limit
        value, limit = (update, update_limit) if of_update else (drift, drift_limit)
        what = "of the update" if of_update else "to the reference model"
        assert value is not None
        return Evidence(
            f"KL {what} is {shown(value)} at step {shown(row.step)}, above {shown(limit)}, "
            f"since step {shown(self.since.step)}",
            {"kl": value, "threshold": limit},
            self.since,
        )

    def clears(self) -> bool:
        return self.excess < self.thresholds["clear_share"]

    @staticmethod
    def _value(row: Row, name: str) -> float | None:
        value = row.values.get(name)
        return value if value is not None and math.isfinite(value) else None

    def gauge(self) -> Gauge | None:
        return None if self.waiting() else Gauge("KL against its limit", self.excess, 1.0)
