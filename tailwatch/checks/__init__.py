"""The checks: one a file, in the order in which they are shown."""

from __future__ import annotations

from ..core.check import Check
from .entropy_low import EntropyLow
from .eval_loss_nan import EvalLossNan
from .grad_norm_high import GradNormHigh
from .grad_norm_nan import GradNormNan
from .grad_norm_spike import GradNormSpike
from .grad_norm_zero import GradNormZero
from .kl_high import KlHigh
from .loss_diverged import LossDiverged
from .loss_flat import LossFlat
from .loss_runaway import LossRunaway
from .loss_scale_collapse import LossScaleCollapse
from .loss_spike import LossSpike
from .loss_spikes import LossSpikes
from .loss_zero import LossZero
from .lr_too_high import LrTooHigh
from .lr_too_low import LrTooLow
from .lr_zero import LrZero
from .memory_creep import MemoryCreep
from .nan_loss import NanLoss
from .nan_masked import NanMasked
from .no_learning_signal import NoLearningSignal
from .no_metrics import NoMetrics
from .overfit import Overfit
from .reward_drop import RewardDrop
from .run_quiet import RunQuiet
from .run_resumed import RunResumed
from .run_stalled import RunStalled
from .slow_steps import SlowSteps
from .steps_interleaved import StepsInterleaved
from .too_few_steps import TooFewSteps

CHECKS: tuple[type[Check], ...] = (
    NanLoss,
    LossDiverged,
    NanMasked,
    LossRunaway,
    RunStalled,
    LossFlat,
    GradNormHigh,
    LrTooLow,
    LrTooHigh,
    LossSpike,
    LossZero,
    GradNormNan,
    EvalLossNan,
    GradNormSpike,
    GradNormZero,
    Overfit,
    SlowSteps,
    LrZero,
    LossScaleCollapse,
    MemoryCreep,
    NoLearningSignal,
    KlHigh,
    EntropyLow,
    RewardDrop,
    StepsInterleaved,
    TooFewSteps,
    NoMetrics,
    RunResumed,
    LossSpikes,
    RunQuiet,
)
"""Every check, worst severity first."""

CATEGORIES = tuple(check.category for check in CHECKS)
