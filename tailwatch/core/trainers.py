"""Which trainer writes such keys: a guess, for people. Nothing else depends on it."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple


class Trainer(NamedTuple):
    """
    How one trainer is told from the others.

    Attributes:
        name: What people call it.
        marks: Sets of keys (`*` is anything; a dot leads into a nested object). All keys
            of one set are enough.
    """

    name: str
    marks: tuple[tuple[str, ...], ...]


class Guess(NamedTuple):
    """A trainer, and the keys that gave it away."""

    name: str
    keys: tuple[str, ...]


def _marks(*texts: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(text.split(",")) for text in texts)


TRAINERS = (
    Trainer("LLaMA-Factory", _marks("current_steps,total_steps,percentage")),
    Trainer("ms-swift", _marks("global_step/max_steps", "train_speed(*)")),
    Trainer("verl", _marks("data.actor/*", "data.critic/*", "data.val-core/*")),
    Trainer("fairseq", _marks("num_updates,gnorm", "train_num_updates", "valid_num_updates")),
    Trainer("Levanter", _marks("tracker,event,metrics.*")),
    Trainer("detectron2", _marks("iteration,data_time,eta_seconds")),
    Trainer("DINOv2", _marks("iteration,iter_time,last_layer_lr", "dino_local_crops_loss")),
    Trainer("mmengine", _marks("step,iter,data_time", "step,base_lr,data_time")),
    Trainer("mmcv", _marks("mode,epoch,iter,data_time")),
    Trainer("Lingua", _marks("loss/out,speed/wps", "optim/grad_norm,speed/wps")),
    Trainer("DreamerV3", _marks("train/opt/loss", "train/loss/dyn", "episode/score")),
    Trainer("Dreamer", _marks("train/return,train/length,episodes")),
    Trainer(
        "RLlib",
        _marks(
            "training_iteration,info.learner*",
            "training_iteration,learners*",
            "training_iteration,env_runners*",
            "training_iteration,episode_reward_mean",
        ),
    ),
    Trainer("Ray Tune", _marks("training_iteration,time_this_iter_s")),
    Trainer(
        "Stable-Baselines3",
        _marks("time/total_timesteps,time/fps", "time/total_timesteps,rollout/ep_rew_mean"),
    ),
    Trainer(
        "tinker-cookbook",
        _marks("train_mean_nll", "env/all/*", "optim/kl_*", "progress/batch,time/total"),
    ),
    Trainer("StyleGAN or EDM", _marks("Progress/tick,Timing/sec_per_tick")),
    Trainer("big_vision", _marks("training_loss,l2_grads", "img/sec/core")),
    Trainer("open_clip", _marks("clip_val_loss", "imagenet-zeroshot-*")),
    Trainer("torchtitan", _marks("loss_metrics/global_avg_loss")),
    Trainer("Megatron-LM", _marks("lm loss")),
    Trainer("Composer", _marks("loss/train/total")),
    Trainer("OLMo", _marks("train/CrossEntropyLoss")),
    Trainer("kohya or diffusers", _marks("loss/current", "loss/average")),
    Trainer("CleanRL", _marks("charts/episodic_return", "losses/value_loss,losses/policy_loss")),
    Trainer("OpenRLHF", _marks("train/loss_mean")),
    Trainer("MAE, DeiT or DETR", _marks("epoch,train_loss,train_lr")),
    Trainer("LAVIS", _marks("train_loss,train_lr", "val_agg_metrics")),
    # A history or an export of it holds the user's keys, whatever they are.
    Trainer("wandb", _marks("_step,_runtime", "_step,_timestamp")),
    Trainer("Lightning", _marks("trainer/global_step")),
    Trainer(
        "TRL GRPO",
        _marks("frac_reward_zero_std", "reward_std,completion*", "reward_std,rewards/*"),
    ),
    Trainer("TRL DPO or KTO", _marks("rewards/chosen", "logps/chosen")),
    Trainer("TRL SFT", _marks("mean_token_accuracy,learning_rate")),
    Trainer(
        "Hugging Face Trainer",
        _marks(
            "train_runtime,total_flos",
            "eval_runtime,eval_loss",
            "loss,grad_norm,learning_rate,epoch",
            "loss,learning_rate,epoch",
        ),
    ),
    Trainer(
        "a loop of its own, nanoGPT style",
        _marks(
            "iter,train/loss,val/loss",
            "step,train_loss,val_loss",
            "step,train_loss,lr",
            "step,loss,norm",
            "step,loss,param_norm",
            "iter,loss,lr",
            "step,loss,lr",
        ),
    ),
)
"""The closest descriptions first: several trainers write what others do, and more."""


def guess_trainer(keys: Iterable[str]) -> Guess | None:
    """
    The trainer whose keys these are; None if it is not known.

    >>> guess_trainer(["loss", "current_steps", "total_steps", "percentage"])
    Guess(name='LLaMA-Factory', keys=('current_steps', 'total_steps', 'percentage'))
    >>> guess_trainer(["step", "x"]) is None
    True
    """
    known = list(dict.fromkeys(keys))
    for trainer in TRAINERS:
        for patterns in trainer.marks:
            found = [_first(pattern, known) for pattern in patterns]
            if None not in found:
                return Guess(trainer.name, tuple(key for key in found if key is not None))
    return None


def _first(pattern: str, keys: list[str]) -> str | None:
    if "*" not in pattern:
        return pattern if pattern in keys else None
    return next((key for key in keys if fnmatchcase(key, pattern)), None)
