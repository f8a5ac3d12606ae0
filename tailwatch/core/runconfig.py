"""What is read of a run's configuration, from its parsed file or from a row of its log."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from .check import RunConfig
from .numbers import number

CONFIG_NAMES = (
    "args.json",  # ms-swift
    "training_args.yaml",  # LLaMA-Factory
    "config.json",
    "config.yaml",
    "config.yml",
    "params.json",  # RLlib
    "training_options.json",  # StyleGAN, EDM
    ".hydra/config.yaml",
    "hparams.yaml",  # Lightning
    "trainer_state.json",  # Hugging Face: how many steps are planned
)
"""
File names that are looked for beside a metric file, best first.

Never a pickle (`training_args.bin`, `params.pkl`): to load one runs what is in it. Nor
Python (`vis_data/config.py`): those are calls, no literals, and the rates in them are of
SGD on images, which the thresholds are not made for.
"""

PARENT_NAMES = (
    "args.json",
    "training_args.yaml",
    "training_options.json",
    ".hydra/config.yaml",
    "trainer_state.json",
)
"""
Those that only a trainer writes, and for one run. They count in the directory above too:
a `config.json` there is as likely that of a whole project, or of something else.
"""

# Where the learning rate is when there is no table `training`, best first. Not among them:
# SOLVER.BASE_LR (detectron2), again SGD's; lists and schedules, which are no one rate.
_RATE = (
    "learning_rate",  # Hugging Face, LLaMA-Factory, ms-swift, tinker
    "lr",  # RLlib, ms-swift Megatron, big_vision, Lightning
    "optimizer.lr",
    "optim.lr",  # Lingua, verl SFT, DINOv2
    "optimizer.learning_rate",  # Levanter
    "actor_rollout_ref.actor.optim.lr",  # verl; not the critic's, whose loss is not read
    "run.init_lr",  # LAVIS
    "agent.opt.lr",  # DreamerV3
    "G_opt_kwargs.lr",  # StyleGAN: Adam's
    "optimizer_kwargs.lr",  # EDM: Adam's
)
# Counts, in the unit in which the log counts its steps: in Hugging Face's words at the top
# level or in `training`, and as single trainers have them. Not `steps` alone, which is also
# the sampling steps of a diffusion model.
_COUNTS = {
    "planned_steps": (
        "max_steps",
        "total_steps",  # big_vision
        "num_training_steps",
        "train_iters",  # Megatron
        "trainer.max_steps",  # Lightning
        "trainer.total_training_steps",  # verl
        "trainer.num_train_steps",  # Levanter
        "run.steps",  # DreamerV3
        "SOLVER.MAX_ITER",  # detectron2
        "total_kimg",  # StyleGAN, EDM
    ),
    "save_steps": (
        "save_steps",
        "save_interval",  # Megatron
        "save_every",  # tinker
        "ckpt_steps",  # big_vision
        "trainer.save_freq",  # verl
        "checkpoint.dump.every",  # Lingua
        "SOLVER.CHECKPOINT_PERIOD",  # detectron2
    ),
    "eval_steps": (
        "eval_steps",
        "eval_interval",  # Megatron
        "eval_every",  # tinker
        "trainer.test_freq",  # verl
        "checkpoint.eval.every",  # Lingua
        "TEST.EVAL_PERIOD",  # detectron2
    ),
    "logging_steps": (
        "logging_steps",
        "log_interval",  # Megatron
        "log_training_steps",  # big_vision
        "logging.freq",  # Lingua
        "kimg_per_tick",  # StyleGAN, EDM
    ),
}
_COUNT_MAX = 1e15
# YAML is read without merging `<<`, since a few nested merges are millions of keys.
_MERGES_MAX = 8

# Where a row of the log keeps its trainer's configuration, and how it says that it is one.
_NESTED = ("config", "args", "params", "hparams", "hyperparameters")
_SAYS_CONFIG = frozenset({*_NESTED, "configuration", "run_config", "metadata"})
_MEASURED = ("step", "global_step", "current_steps", "iteration", "iter", "_step", "epoch")


def read_config(config: object, source: str | None = None) -> RunConfig:
    """
    What a parsed configuration says; all None if it says nothing.

    >>> hydra = {"optim": {"lr": "3e-4"}, "trainer": {"max_steps": 1000, "save_freq": -1}}
    >>> config = read_config(hydra, "config.yaml")
    >>> config.learning_rate, config.planned_steps, config.save_steps, config.source
    (0.0003, 1000, None, 'config.yaml')
    """
    counts = {field: _count(config, places) for field, places in _COUNTS.items()}
    return RunConfig(configured_learning_rate(config), source, **counts)


def configured_learning_rate(config: object) -> float | None:
    """
    The learning rate in a run configuration, or None.

    A table `training` decides alone; without one the usual places are tried.
    YAML 1.1 reads `2e-4` as text; a numeric text is its number.

    >>> configured_learning_rate({"training": {"lr": 0, "learning_rate": "2e-4"}})
    0.0002
    >>> configured_learning_rate({"optimizer": {"lr": 0.1}})
    0.1
    >>> configured_learning_rate({"training": {}, "lr": 0.1}) is None
    True
    """
    if (training := _get(config, "training")) is not _ABSENT:
        # A rate of 0 under `lr` is a place holder, as in the seed rules.
        return _number(training, "lr") or _number(training, "learning_rate")
    return next((rate for at in _RATE if (rate := _number(config, at)) is not None), None)


def combined(configs: Iterable[RunConfig]) -> RunConfig | None:
    """
    One configuration of several, best first: each number is the first one given.

    Its source is that of the learning rate or, without a rate, of the first number at all.

    >>> combined([RunConfig(None, "a", save_steps=5), RunConfig(0.1, "b", save_steps=7)])
    RunConfig(learning_rate=0.1, source='b', planned_steps=None, save_steps=5, \
eval_steps=None, logging_steps=None)
    """
    said = [config for config in configs if config.says_something]
    if not said:
        return None
    main = next((config for config in said if config.learning_rate is not None), said[0])
    counts = {
        field: next((n for c in said if (n := getattr(c, field)) is not None), None)
        for field in _COUNTS
    }
    return RunConfig(main.learning_rate, main.source, **counts)


def from_record(record: Mapping[str, object]) -> RunConfig | None:
    """
    What a row of the log itself says of the configuration; None if it says nothing.

    That is in a table `config`, `args` or the like, or the whole row, if it calls itself a
    configuration or has neither a step nor a loss. The source is left to the caller.

    >>> from_record({"event": "config", "lr": 1e-06, "max_grad_norm": 1.0}).learning_rate
    1e-06
    >>> from_record({"step": 1, "loss": 2.5, "lr": 1e-06}) is None
    True
    """
    places: list[object] = [record[key] for key in _NESTED if key in record]
    if _is_config(record):
        places.append(record)
    return combined(read_config(place) for place in places)


def _is_config(record: Mapping[str, object]) -> bool:
    said = [record.get(key) for key in ("event", "type", "kind")]
    if any(isinstance(each, str) and each.lower() in _SAYS_CONFIG for each in said):
        return True
    return not any(
        number(value) is not None and (key in _MEASURED or key.endswith("loss"))
        for key, value in record.items()
    )


class _Absent:
    """Of a key that is not there; None is what a key may hold."""


_ABSENT = _Absent()


def _get(table: object, key: str) -> object:
    """The value of *key* in *table*, or in what YAML merges into it."""
    for _ in range(_MERGES_MAX):
        if not isinstance(table, Mapping):
            break
        if key in table:
            value = table[key]
            # W&B writes each setting as {"desc": ..., "value": ...}.
            wrapped = isinstance(value, Mapping) and {"value"} <= value.keys() <= {"desc", "value"}
            return value["value"] if wrapped else value
        table = table.get("<<")
    return _ABSENT


def _number(config: object, place: str) -> float | None:
    for key in place.split("."):
        config = _get(config, key)
    # YAML 1.1 has 10_000 for 10000.
    return number(config.replace("_", "") if isinstance(config, str) else config)


def _count(config: object, places: tuple[str, ...]) -> int | None:
    """The first count among *places*; trainers write -1, 0 or a share below 1 for none."""
    for table in (config, _get(config, "training")):
        for place in places:
            count = _number(table, place)
            if count is not None and math.isfinite(count) and 1 <= count <= _COUNT_MAX:
                return int(count)
    return None
