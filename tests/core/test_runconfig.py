"""Where a run configuration keeps its learning rate."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core.check import RunConfig
from tailwatch.core.runconfig import (
    CONFIG_NAMES,
    PARENT_NAMES,
    combined,
    configured_learning_rate,
    from_record,
    read_config,
)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"training": {"lr": 1e-4}}, 1e-4),
        ({"training": {"learning_rate": 1e-4}}, 1e-4),
        ({"training": {"lr": 0.1, "learning_rate": 1e-4}}, 0.1),
        ({"training": {"lr": 0, "learning_rate": 1e-7}}, 1e-7),
        ({"training": {"lr": None, "learning_rate": 1e-7}}, 1e-7),
        ({"training": {"lr": "", "learning_rate": 1e-7}}, 1e-7),
        ({"training": {"lr": "2e-4"}}, 2e-4),
        ({"training": {"lr": "1e-4", "learning_rate": 1.0}}, 1e-4),
        ({"training": {"lr": 0, "learning_rate": 0}}, 0.0),
        ({"training": {"lr": 0}}, None),
        ({"training": {}}, None),
        ({"training": {"lr": True}}, None),
        ({"training": {"lr": [1e-4]}}, None),
        ({"training": {"lr": "auto"}}, None),
        ({"training": {"lr": -1.0}}, -1.0),
        ({"training": {"lr": math.inf}}, math.inf),
    ],
)
def test_training_table(config: object, expected: float | None) -> None:
    """In the table `training`, `lr` counts unless it is absent or 0; then `learning_rate` does."""
    assert expected == configured_learning_rate(config)


@pytest.mark.parametrize(
    "config",
    [
        {"training": {}, "lr": 0.1},
        {"training": None, "learning_rate": 0.1},
        {"training": "adam", "optimizer": {"lr": 0.1}},
        {"training": [], "optim": {"lr": 0.1}},
    ],
)
def test_a_training_table_decides_alone(config: object) -> None:
    """With `training` there, even empty or of a wrong type, no other place is looked at."""
    assert configured_learning_rate(config) is None


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"learning_rate": 1e-4, "lr": 2e-4}, 1e-4),
        ({"lr": 2e-4, "optimizer": {"lr": 3e-4}}, 2e-4),
        ({"optimizer": {"lr": 3e-4}, "optim": {"lr": 4e-4}}, 3e-4),
        ({"optimizer": "adam", "optim": {"lr": "4e-4"}}, 4e-4),
        ({"learning_rate": None, "lr": 2e-4}, 2e-4),
        ({"learning_rate": 0, "lr": 2e-4}, 0.0),
        ({}, None),
        ({"model": {"lr": 1.0}}, None),
    ],
)
def test_usual_places_without_a_training_table(config: object, expected: float | None) -> None:
    """Without `training`: top-level `learning_rate`, `lr`, then `optimizer.lr`, `optim.lr`."""
    assert expected == configured_learning_rate(config)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"actor_rollout_ref": {"actor": {"optim": {"lr": 1e-6}}}, "critic": {"lr": 1e-5}}, 1e-6),
        ({"run": {"init_lr": "1e-4", "min_lr": "1e-5"}}, 1e-4),
        ({"agent": {"opt": {"lr": "4e-5"}}}, 4e-5),
        ({"G_opt_kwargs": {"lr": 0.0025}, "D_opt_kwargs": {"lr": 0.002}}, 0.0025),
        ({"optimizer_kwargs": {"class_name": "torch.optim.Adam", "lr": 0.001}}, 0.001),
        ({"optimizer": {"learning_rate": 6e-4}}, 6e-4),
        ({"lr": {"desc": None, "value": 0.002}}, 0.002),
        ({"optim": {"value": {"lr": 0.002}}}, 0.002),
        ({"optim": {"<<": {"lr": "3e-4"}, "warmup": "5"}}, 3e-4),
        ({"<<": {"training": {}}, "lr": 0.1}, None),
        ({"lr": "1_0e-4"}, 1e-3),
        ({"lr": [[0, 1e-4], [1000, 0.0]]}, None),
        ({"lr": [1e-4], "optim": {"lr": 2e-4}}, 2e-4),
        ({"lr": {"type": "cosine", "value": 0.1}}, None),
        ({"SOLVER": {"BASE_LR": 0.02}}, None),
        ({"optim_wrapper": {"optimizer": {"type": "SGD", "lr": 0.1}}}, None),
        ({"run": "x", "optim": 3}, None),
    ],
)
def test_places_of_single_trainers(config: object, expected: float | None) -> None:
    """Where trainers keep their rate; a schedule is none, and neither is that of detection."""
    assert expected == configured_learning_rate(config)


def test_the_usual_places_come_before_those_of_single_trainers() -> None:
    """What was read before more places were known is still what is read."""
    config = {"run": {"init_lr": 0.1}, "agent": {"opt": {"lr": 0.2}}, "optim": {"lr": 0.3}}

    assert configured_learning_rate(config) == 0.3


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            {"max_steps": 90, "save_steps": 30, "eval_steps": "15", "logging_steps": 5.0},
            (90, 30, 15, 5),
        ),
        (
            {"max_steps": -1, "save_steps": 0, "eval_steps": None, "logging_steps": 0.1},
            (None,) * 4,
        ),
        ({"max_steps": 1e300, "save_steps": "nan", "eval_steps": True}, (None,) * 4),
        ({"training": {"max_steps": "10_000", "save_steps": 500}}, (10_000, 500, None, None)),
        (
            {"train_iters": 9, "save_interval": 3, "eval_interval": 2, "log_interval": 1},
            (9, 3, 2, 1),
        ),
        (
            {"trainer": {"total_training_steps": None, "save_freq": 20, "test_freq": 5}},
            (None, 20, 5, None),
        ),
        (
            {"steps": 30_000, "logging": {"freq": 1}, "checkpoint": {"dump": {"every": 2500}}},
            (None, 2500, None, 1),
        ),
        (
            {"SOLVER": {"MAX_ITER": 900, "CHECKPOINT_PERIOD": 90}, "TEST": {"EVAL_PERIOD": 0}},
            (900, 90, None, None),
        ),
        ({"total_kimg": 25_000, "kimg_per_tick": 4}, (25_000, None, None, 4)),
        ({"run": {"steps": "5.1e7", "save_every": 900}}, (51_000_000, None, None, None)),
    ],
)
def test_counts(config: object, expected: tuple[int | None, ...]) -> None:
    """Steps planned and between saves, evaluations and rows; what means "none" is none."""
    got = read_config(config)

    assert expected == (got.planned_steps, got.save_steps, got.eval_steps, got.logging_steps)
    assert got.says_something == (expected != (None,) * 4)


def test_of_several_the_first_that_has_a_number_gives_it() -> None:
    """The source is that of the rate, whatever else came from elsewhere."""
    rate = RunConfig(0.1, "rate", save_steps=7)
    state = RunConfig(None, "state", planned_steps=100, save_steps=5)

    assert combined([RunConfig(None, "model"), rate, state, RunConfig(0.2, "late")]) == RunConfig(
        0.1, "rate", planned_steps=100, save_steps=7
    )
    assert combined([state, rate]) == RunConfig(0.1, "rate", planned_steps=100, save_steps=5)
    assert combined([RunConfig(None, "model"), state]) == state
    assert combined([RunConfig(None, "model")]) is None


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"event": "config", "lr": 1e-06, "max_grad_norm": 1.0}, RunConfig(1e-6)),
        ({"type": "Config", "step": 0, "learning_rate": 0.1}, RunConfig(0.1)),
        ({"lr": 0.001, "batch_size": 32, "max_steps": 50}, RunConfig(0.001, planned_steps=50)),
        ({"lr": 0.001, "loss": "mse"}, RunConfig(0.001)),
        ({"event": "hparams", "hparams": {"optimizer": {"learning_rate": 0.1}}}, RunConfig(0.1)),
        ({"args": {"lr": 0.1}, "lr": 0.2}, RunConfig(0.1)),
        ({"params": {"total_steps": 9}, "lr": 0.2}, RunConfig(0.2, planned_steps=9)),
        ({"hyperparameters": {"training": {"lr": 0.1}}}, RunConfig(0.1)),
        ({"training_iteration": 1, "timestamp": 2, "config": {"lr": 1e-4}}, RunConfig(1e-4)),
        ({"step": 3, "lr": 0.1}, None),
        ({"epoch": 3, "train_lr": 0.1, "lr": 0.1}, None),
        ({"train_loss": 2.5, "lr": 0.1}, None),
        ({"loss": "NaN", "lr": 0.1}, None),
        ({"event": "step", "current_steps": 5, "lr": 0.1, "total_steps": 9}, None),
        ({"event": "config", "model": "x"}, None),
        ({"env_info": "...", "config": "lr = 0.1", "exp_name": "x.py"}, None),
        ({"event": ["config"], "loss": 1, "lr": 0.1}, None),
        ({}, None),
    ],
)
def test_rows_that_are_a_configuration(
    record: dict[str, object], expected: RunConfig | None
) -> None:
    """A table in it, or the row itself if it says so or measures nothing; never a data row."""
    assert expected == from_record(record)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["training", "lr", "learning_rate", "optimizer", "optim", "x", "<<"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@settings(deadline=None, max_examples=300)
@given(json_values)
def test_any_configuration_is_a_rate_or_none(config: object) -> None:
    """Whatever a configuration file holds, the answer is a float or None, and nothing raises."""
    assert type(configured_learning_rate(config)) in (float, type(None))


@settings(deadline=None, max_examples=300)
@given(json_values, st.sampled_from(["config", "args", "<<", "event", "lr", "x"]))
def test_any_row_is_a_configuration_or_none(value: object, key: str) -> None:
    """Whatever a row holds, asking it for a configuration raises nothing."""
    found = from_record({key: value})

    assert found is None or found.says_something


def test_what_merges_into_itself_ends() -> None:
    """A table that stands for itself under `<<` has no more keys for that."""
    config: dict[str, object] = {}
    config["<<"] = config

    assert configured_learning_rate(config) is None


def test_config_names_are_data() -> None:
    """Each name once, JSON before YAML; no pickle and no code; those of a parent are among them."""
    assert len(set(CONFIG_NAMES)) == len(CONFIG_NAMES)
    assert CONFIG_NAMES.index("config.json") < CONFIG_NAMES.index("config.yaml")
    assert {name.rsplit(".", 1)[1] for name in CONFIG_NAMES} == {"json", "yaml", "yml"}
    assert set(PARENT_NAMES) < set(CONFIG_NAMES)
    assert not any(name.startswith(("config.", "params", "hparams")) for name in PARENT_NAMES)
