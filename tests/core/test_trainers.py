"""The guess at the trainer: the keys that each is known to write, and what they are not."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from tailwatch.core.key_use import walk
from tailwatch.core.trainers import TRAINERS, guess_trainer

# Rows of the shape that each trainer writes.
ROWS = {
    "LLaMA-Factory": {"current_steps": 5, "total_steps": 9, "loss": 1, "lr": 1, "percentage": 5},
    "ms-swift": {"loss": 1, "global_step/max_steps": "1/9", "train_speed(s/it)": 2, "epoch": 0.1},
    "verl": {"step": 1, "data": {"actor/pg_loss": 0.1, "critic/rewards/mean": 0}},
    "fairseq": {"epoch": 1, "loss": "9", "num_updates": "10", "lr": "7e-06", "gnorm": "30"},
    "Levanter": {"tracker": "json_logger", "event": "log", "metrics": {"train/loss": 1}},
    "detectron2": {"iteration": 19, "total_loss": 5, "data_time": 0.1, "eta_seconds": 9, "lr": 1},
    "DINOv2": {"iteration": 0, "iter_time": 1, "last_layer_lr": 0, "total_loss": 9},
    "mmengine": {"lr": 1, "data_time": 0.1, "loss": 2, "time": 1, "iter": 50, "step": 50},
    "mmcv": {"mode": "train", "epoch": 1, "iter": 50, "lr": 1, "data_time": 0.1, "loss": 2},
    "Lingua": {"global_step": 1, "loss/out": 7, "speed/wps": 1320, "optim/grad_norm": 19},
    "DreamerV3": {"step": 1000, "train/opt/loss": 595, "train/opt/grad_norm": 6329},
    "Dreamer": {"step": 50, "train/return": -48, "train/length": 50, "episodes": 1},
    "RLlib": {"training_iteration": 1, "info": {"learner": {"p": {"total_loss": 1}}}},
    "Stable-Baselines3": {"time/total_timesteps": 2048, "rollout/ep_rew_mean": 20},
    "tinker-cookbook": {"step": 0, "train_mean_nll": 2.5, "progress/batch": 0},
    "StyleGAN or EDM": {"Progress/tick": {"mean": 1}, "Timing/sec_per_tick": {"mean": 9}},
    "big_vision": {"step": 1, "training_loss": 3, "l2_grads": 1},
    "MAE, DeiT or DETR": {"train_lr": 1e-6, "train_loss": 4, "test_acc1": 0.3, "epoch": 0},
    "LAVIS": {"train_lr": "1e-6", "train_loss": "3.3"},
    "wandb": {"_step": 5, "_runtime": 3, "_timestamp": 1.7e9, "train/loss": 2},
    "TRL GRPO": {"loss": 0, "reward": 1, "reward_std": 0, "rewards/fn/mean": 1, "epoch": 0.1,
                 "learning_rate": 1, "grad_norm": 1},
    "TRL DPO or KTO": {"loss": 0.69, "rewards/chosen": 0, "learning_rate": 1, "epoch": 0.1},
    "TRL SFT": {"loss": 2, "mean_token_accuracy": 0.5, "learning_rate": 1, "epoch": 0.1},
    "Hugging Face Trainer": {"loss": 2, "grad_norm": 1, "learning_rate": 1, "epoch": 0.1},
    "a loop of its own, nanoGPT style": {"step": 0, "train_loss": 9, "val_loss": 9, "lr": 1e-3},
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_a_trainer_is_known_by_its_row(name: str) -> None:
    """A row of its shape names the trainer, with keys that are in the row."""
    keys = [key for key, _ in walk(ROWS[name])]
    guess = guess_trainer(keys)

    assert guess is not None
    assert (name, True) == (guess.name, set(guess.keys) <= set(keys)), json.dumps(ROWS[name])


@pytest.mark.parametrize("keys", [[], ["step"], ["loss"], ["step", "x", "y"], ["text", "label"]])
def test_unknown_is_an_answer(keys: list[str]) -> None:
    """Keys that many write, or nobody, name no trainer."""
    assert guess_trainer(keys) is None


def test_no_description_hides_a_closer_one() -> None:
    """Every set of marks names its own trainer when just those keys are seen."""
    for trainer in TRAINERS:
        for marks in trainer.marks:
            guess = guess_trainer([mark.replace("*", "x") for mark in marks])
            assert guess is not None
            assert trainer.name == guess.name, marks


def test_names_are_distinct() -> None:
    """A trainer has one entry in the table."""
    names = sorted(trainer.name for trainer in TRAINERS)

    assert all(a != b for a, b in pairwise(names))
