"""
The alias table: which key of a trainer's row means which field. Data, no logic.

A key is tried as it is written, below a wrapper (`data`, `metrics`, ...), and, if it
has dots, as a path into nested objects, where `*` is any one key. The first source of
a field that a row has wins; sources in a group of their own are equals.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Source(NamedTuple):
    """
    One key that may hold a field.

    Attributes:
        key: As written, or a dotted path.
        reading: How its value becomes a number: a name in `core.readings.READINGS`.
        unless: It means something else in a row that has one of these keys.
        beside: It means this only in a row that has one of these keys.
    """

    key: str
    reading: str = "number"
    unless: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


SUMMARY_KEYS = ("train_runtime", "total_flos")
"""Hugging Face ends a log with a row of these: what else is in it sums up the run."""

WRAPPERS = ("data", "metrics", "logs", "scalars")
"""Keys whose object holds the fields: verl's `data`, Levanter's `metrics`."""

_RLLIB = ("info.learner.*.learner_stats.", "info.learner.*.", "info.learner.", "learners.*.")


def _rllib(key: str) -> tuple[str, ...]:
    return tuple(prefix + key for prefix in _RLLIB)


ALIASES: dict[str, tuple[str | Source | tuple[str, ...], ...]] = {
    "step": (
        # Beside a global step it counts within the epoch.
        Source("step", "numerator", unless=("global_step",)),
        Source("global_step", "numerator"),
        "current_steps",
        Source("iteration", "numerator"),
        "trainer/global_step",
        "train/global_step",
        "training/global_step",
        "_step",
        ("num_updates", "train_num_updates", "valid_num_updates"),
        Source("global_step/max_steps", "numerator"),
        "training_iteration",
        "n_iter",
        # With an epoch beside it, it counts within the epoch: see `iter` below.
        Source("iter", unless=("epoch",)),
        "time/total_timesteps",
        "timesteps_total",
        "env_steps",
        "step_count",
        "Progress/kimg.mean",
        "Progress/tick.mean",
        Source("update", unless=("num_updates",)),
        Source("batch", unless=("epoch",)),
    ),
    "iter": tuple(Source(key, beside=("epoch",)) for key in ("iter", "batch")),
    "planned_steps": (
        "total_steps",
        "max_steps",
        "num_training_steps",
        # One text holds both, "10/438".
        *(Source(key, "denominator") for key in ("global_step/max_steps", "iteration", "step")),
    ),
    "percent": (Source("percentage", "percent"),),
    "epoch": ("epoch", "train/epoch", "training/epoch", "_epoch", "current_epoch"),
    "loss": (
        "loss",
        Source("train_loss", unless=SUMMARY_KEYS),
        "train/loss",
        "total_loss",
        "training_loss",
        "train/loss_mean",
        "loss_mean",
        "lm_loss",
        "lm loss",
        "loss/out",
        "loss_metrics/global_avg_loss",
        "train_mean_nll",
        "dpo_loss",
        "train/opt/loss",
        "Loss/loss.mean",
        "Loss/G/loss.mean",
        "actor/pg_loss",
        *_rllib("total_loss"),
        "loss/train/total",
        "loss/current",
        "loss/average",
        "train/CrossEntropyLoss",
        "loss_tgt_mean",
        "current_loss",
        "avg_loss",
        "world_model_loss",
        "mse",
    ),
    "discriminator_loss": ("Loss/D/loss.mean", "loss_D", "D_loss", "d_loss", "disc_loss"),
    "grad_norm": (
        "grad_norm",
        "gradient_norm",
        "train/grad_norm",
        "optim/grad_norm",
        "optim/total_grad_norm",
        "gnorm",
        "train_gnorm",  # Of a whole epoch.
        "train_grad_norm",
        "grad norm",
        "total_grad_norm",
        *_rllib("grad_gnorm"),
        "grad_gnorm",
        "global_norm",
        "actor/grad_norm",
        "learners.*.gradients_*_global_norm",
        "info.grad_norm",
        "train/opt/grad_norm",
        "l2_grads",
        # nanoGPT's; `param_norm` and `weights_norm` are of the weights.
        "norm",
    ),
    "learning_rate": tuple(
        Source(key, "largest")
        for key in (
            "learning_rate",
            "lr",
            "train_lr",
            "train/lr",
            "train/learning_rate",
            "optim/lr",
            "optim/learning_rate_group0",
            "actor/lr",
            "lr/pg0",
            "base_lr",
            *_rllib("cur_lr"),
            "cur_lr",
            "learners.*.default_optimizer_learning_rate",
            "learning rate",
        )
    ),
    "reward": (
        "reward",
        "critic/rewards/mean",
        "critic/score/mean",
        "env_runners.episode_return_mean",
        "episode_reward_mean",
        "rollout/ep_rew_mean",
        "episode/score",
        "train/return",
        "charts/episodic_return",
        "env/all/reward/total",
        "reward/mean",
        "mean_reward",
        "reward_mean",
        "reward/total",
        "env_reward",
        "episodic_reward",
    ),
    "reward_std": ("reward_std", "critic/rewards/std", "reward/std"),
    "zero_spread_share": ("frac_reward_zero_std",),
    # Between the policy before and after the update.
    "kl": (
        "actor/ppo_kl",
        "train/approx_kl",
        "approx_kl",
        "policy_kl",
        "mean_kl",
        *_rllib("kl"),
        "losses/approx_kl",
    ),
    "kl_reference": (  # Between the policy and the reference model.
        "kl",
        "objective/kl",
        "actor/kl_loss",
        "train/reverse_kl",
        "optim/kl_sample_train_v1",
    ),
    "entropy": (
        "entropy",
        "actor/entropy",
        Source("train/entropy_loss", "negated"),
        "policy_entropy",
        "optim/entropy",
        *_rllib("entropy"),
    ),
    "tokens_per_second": (
        "tokens_per_second",
        Source("train_tokens_per_second", unless=SUMMARY_KEYS),
        "tokens_per_second_per_gpu",
        "tps",
        "throughput(tps)",
        "throughput",
        "perf/throughput",
        "speed/wps",
        "wps",
        "tok_per_sec",
        "tok/sec",
        "throughput/device/tokens_per_sec",
        "tokens/train_per_sec_per_gpu",
    ),
    "samples_per_second": (
        "samples_per_second",
        Source("train_samples_per_second", unless=SUMMARY_KEYS),
        "time/fps",
        "img/sec/core",
    ),
    "step_time_s": (
        "step_time",
        "time_per_step",
        "timing_s/step",
        "perf/time_per_step",
        "speed/curr_iter_time",
        "iter_time",
        # Elsewhere `time` is a clock, or the time since the start.
        Source("time", beside=("data_time",)),
        "time/step",
        "time/total",
        "time_this_iter_s",
        "train_speed(s/it)",
        Source("train_speed(iter/s)", "inverse"),
        Source("elapsed time per iteration (ms)", "thousandth"),
        "batch_time",
        "train/step_time_s",
        Source("dt", "thousandth"),
    ),
    "elapsed_s": tuple(
        Source(key, "duration") for key in ("elapsed_time", "time_total_s", "wall_time_sec")
    ),
    "loss_scale": ("loss_scale", "train_loss_scale", "loss scale", "train/loss_scale"),
    "nan_count": ("nan_steps_skipped", "number of nan iterations", "nan_iterations"),
    "memory_gib": (
        "memory(GiB)",
        "memory/max_active_gib",
        "memory/max_active (GiB)",
        "memory/max_active(GiB)",
        "vram_allocated",
        "Resources/peak_gpu_mem_gb.mean",
        "gpu_mem",
        Source("memory", "mebibytes", beside=("data_time",)),
    ),
    "oom_count": ("memory/num_alloc_retries", "memory/num_ooms"),
    "timestamp_s": tuple(
        Source(key, "clock") for key in ("_timestamp", "timestamp", "created_at", "ts", "time")
    ),
}
"""Canonical field -> its sources, best first."""

EVAL_LOSS_KEYS = frozenset({"val/bpb", "loss/validation/epoch_average", "clip_val_loss"})
_EVAL_WORDS = "eval|evaluation|val|valid|validation|test|dev"
EVAL_LOSS = re.compile(rf"(?:{_EVAL_WORDS})[_/](?!best)(?:.+[_/])?(?:loss|nll)", re.ASCII)
"""An evaluation loss, perhaps of one set of several: `eval_loss`, `eval_g0_loss`, `test/nll`."""

EVAL_SCORE = re.compile(
    rf"(?:{_EVAL_WORDS})[_/-].+|(?:coco|bbox|segm|keypoints)/.+|(?:.*[_/])?mAP(?:_.+)?"
    r"|accuracy/top\d",
    re.ASCII,
)
"""What else only an evaluation has: `eval_accuracy`, `val-core/...`, `bbox/AP`."""

SPEED_FIELDS = frozenset({"step_time_s", "tokens_per_second", "samples_per_second"})
"""Of an evaluation they are not the speed of the training."""

TRAINING_FIELDS = frozenset({"loss", "eval_loss", "grad_norm", "learning_rate", "reward"})
"""A file is a metric file once a row has one of these."""
