"""
The published rules of others, to hold ours against.

Each is judged in their favour: values that are not finite are passed over, the window
begins anew with a new segment, and a rise within 50 rows of the last one is not
counted again, just as for ours.
"""

from __future__ import annotations

import math
from collections.abc import Container
from typing import ClassVar, NamedTuple

from ..checks.grad_norm_high import GradNormHigh
from ..checks.loss_diverged import LossDiverged
from ..checks.loss_flat import LossFlat
from ..checks.nan_loss import NanLoss
from ..core.check import Check
from ..core.findings import Evidence, Hold, Severity
from ..core.rows import Row

_SEED = "seed_"


class RivalRule(Check):
    """Base: judges a value by those before it."""

    severity: ClassVar[Severity] = Severity.WARNING
    suggestion: ClassVar[str] = ""
    check_set: ClassVar[str] = "user"
    hold: ClassVar[Hold] = Hold(rows=1, clear_rows=1)
    reads: ClassVar[tuple[str, ...]] = ("loss",)
    window: ClassVar[int]

    def __init__(self) -> None:
        self.values: list[float] = []
        self.count = 0

    def update(self, row: Row) -> Evidence | None:
        """Take in the value; the level is up while the rule holds."""
        value = row.values[self.reads[0]]
        if not math.isfinite(value):
            return None
        up = self.holds(value)
        self.values = [*self.values[1 - self.window :], value]
        return Evidence("", {}, None) if up else None

    def holds(self, value: float) -> bool:
        """Whether the rule alarms at *value*, after `values`."""
        raise NotImplementedError


def _spread(values: list[float]) -> tuple[float, float]:
    """The mean, and the standard deviation around it."""
    mean = sum(values) / len(values)
    # Of very large values the squares are no doubles.
    return mean, math.hypot(*(value - mean for value in values)) / math.sqrt(len(values))


class WandbZScore(RivalRule):
    """
    A value of more than 3 standard deviations from the mean of the 30 before it, in
    either direction.

    Source: wandb 0.31, wandb/automations/_filters/run_metrics.py: MetricZScoreFilter's
    defaults (window 30, threshold 3.0, change_dir ANY).
    """

    category: ClassVar[str] = "wandb_z_score"
    window: ClassVar[int] = 30

    def holds(self, value: float) -> bool:
        """See the class."""
        if len(self.values) < self.window:
            return False
        mean, deviation = _spread(self.values)
        return deviation > 0 and abs(value - mean) > 3 * deviation


class OlmoLoss(RivalRule):
    """
    A loss of more than 6 standard deviations above the mean of the 128 before it.

    Source: OLMo-core 3.0, src/olmo_core/train/callbacks/stability_monitor.py:
    StabilityMonitorCallback (window_size 128, threshold_std 6.0).
    """

    category: ClassVar[str] = "olmo_loss"
    window: ClassVar[int] = 128

    def holds(self, value: float) -> bool:
        """See the class."""
        if len(self.values) < self.window:
            return False
        mean, deviation = _spread(self.values)
        return deviation >= 1e-10 and value > mean + 6 * deviation


class OlmoGradNorm(OlmoLoss):
    """The same for the gradient norm; same source."""

    category: ClassVar[str] = "olmo_grad_norm"
    reads: ClassVar[tuple[str, ...]] = ("grad_norm",)


class FoundryLoss(RivalRule):
    """
    A loss of at least twice the mean of the 100 before it, 5 times running.

    Source: llm-foundry, llmfoundry/callbacks/kill_loss_spike_callback.py: KillLossSpike
    (patience 4, outlier_multiplier 2; the window is the larger of 100 and 5% of the run,
    which a log does not tell).
    """

    category: ClassVar[str] = "foundry_loss"
    window: ClassVar[int] = 100

    def holds(self, value: float) -> bool:
        """See the class."""
        outlier = len(self.values) == self.window
        outlier = outlier and value >= 2 * _spread(self.values)[0]
        self.count = self.count + 1 if outlier else 0
        return self.count >= 5


class MegatronLoss(RivalRule):
    """
    A loss of at least 10 times the largest of the first 100.

    Source: Megatron-LM, megatron/core/rerun_state_machine.py: is_unexpectedly_large
    (num_samples 100), with the SPIKY_LOSS_FACTOR 10 of pretrain_gpt.py.
    """

    category: ClassVar[str] = "megatron_loss"
    window: ClassVar[int] = 1

    def __init__(self) -> None:
        super().__init__()
        self.largest = 0.0

    def holds(self, value: float) -> bool:
        """See the class."""
        if self.count < 100:
            self.count += 1
            self.largest = max(self.largest, abs(value))
            return False
        return abs(value) >= 10 * self.largest


class MegatronGradNorm(MegatronLoss):
    """The same for the gradient norm, of all ranks together; same source."""

    category: ClassVar[str] = "megatron_grad_norm"
    reads: ClassVar[tuple[str, ...]] = ("grad_norm",)


def without_hold(check: type[Check]) -> type[Check]:
    """
    A seed rule asked anew after every row, with nothing to wait for.

    Source: CHECKS of the seed, the batch rule; see the check's own documentation.
    """

    def update(self: Check, row: Row) -> Evidence | None:
        check.update(self, row)
        return self.diagnose()

    body = {
        "category": f"{_SEED}{check.category}",
        "hold": Hold(rows=1, clear_rows=1),
        "update": update,
        "__doc__": check.__doc__,
        "__module__": __name__,
    }
    return type(f"Seed{check.__name__}", (check,), body)


def answers(check: type[Check], right: Container[str]) -> bool:
    """Whether a finding of *check* is one of the *right* ones: of a rival's own rule, always."""
    return issubclass(check, RivalRule) or check.category.removeprefix(_SEED) in right


class Rival(NamedTuple):
    """Rules that belong together, and their name for people."""

    name: str
    checks: tuple[type[Check], ...]


RIVALS: tuple[Rival, ...] = (
    Rival("W&B z", (WandbZScore,)),
    Rival("OLMo-core", (OlmoLoss, OlmoGradNorm)),
    Rival("foundry", (FoundryLoss,)),
    Rival("Megatron", (MegatronLoss, MegatronGradNorm)),
    Rival(
        "seed",
        tuple(without_hold(check) for check in (NanLoss, LossDiverged, LossFlat, GradNormHigh)),
    ),
)
