"""no_learning_signal: all rewards are the same, so nothing can be learned from them."""

from __future__ import annotations

import math
from typing import ClassVar

from ..core.check import Check, mark
from ..core.findings import Evidence, Hold, Mark, Severity
from ..core.numbers import shown
from ..core.rows import Row


class NoLearningSignal(Check):
    """
    What it finds:
        In reinforcement learning, rewards without any spread (or 99% of the groups
        without) in 10 rows running, while the gradient norm is zero or not logged.

    Why it matters:
        With equal rewards all advantages are zero: rollouts are paid for, and
        nothing is learned from them.

    What it does not find:
        A small spread. A trainer that logs none.

    Example:
        >>> check = NoLearningSignal()
        >>> row = Row(1, 10, {"reward": 1.0, "reward_std": 0.0}, 0, rewarded=True)
        >>> check.update(row).message
        'all rewards are the same (1) at step 10, since step 10: there is nothing to learn from'

    Source:
        Groups of equal rewards in GRPO; DAPO, Yu et al. 2025, filters them out.
    """

    category: ClassVar[str] = "no_learning_signal"
    severity: ClassVar[Severity] = Severity.WARNING
    suggestion: ClassVar[str] = (
        "Look at the completions: too easy (all right) or too hard (all wrong)? Mix in prompts of "
        "another difficulty, raise the temperature, or check that the reward function sees the "
        "answers."
    )
    check_set: ClassVar[str] = "extended"
    reads_any: ClassVar[tuple[str, ...]] = ("reward_std", "zero_spread_share")
    hold: ClassVar[Hold] = Hold(rows=10, clear_rows=5)
    thresholds: ClassVar[dict[str, float]] = {"share_min": 0.99, "grad_norm_max": 1e-8}

    def __init__(self) -> None:
        self.since: Mark | None = None

    def update(self, row: Row) -> Evidence | None:
        values = row.values
        none = values.get("reward_std") == 0
        none = none or values.get("zero_spread_share", 0.0) >= self.thresholds["share_min"]
        norm = abs(values.get("grad_norm", 0.0))
        if not (none and row.rewarded and norm < self.thresholds["grad_norm_max"]):
            self.since = None
            return None
        if self.since is None:
            self.since = mark(row)
        reward = values.get("reward", math.nan)
        what = f" ({shown(reward)})" if math.isfinite(reward) else ""
        return Evidence(
            f"all rewards are the same{what} at step {shown(row.step)}, since step "
            f"{shown(self.since.step)}: there is nothing to learn from",
            {"reward": reward},
            self.since,
        )
