"""The checks: one a file, in the order in which they are shown."""

from __future__ import annotations

from ..core.check import Check
from .grad_norm_high import GradNormHigh
from .loss_diverged import LossDiverged
from .loss_flat import LossFlat
from .lr_too_high import LrTooHigh
from .lr_too_low import LrTooLow
from .nan_loss import NanLoss
from .no_metrics import NoMetrics
from .too_few_steps import TooFewSteps

CHECKS: tuple[type[Check], ...] = (
    NanLoss,
    LossDiverged,
    LossFlat,
    GradNormHigh,
    LrTooLow,
    LrTooHigh,
    TooFewSteps,
    NoMetrics,
)
"""Every check, worst severity first."""

CATEGORIES = tuple(check.category for check in CHECKS)
