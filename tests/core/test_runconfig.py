"""Where a run configuration keeps its learning rate."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core.runconfig import CONFIG_NAMES, configured_learning_rate


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


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["training", "lr", "learning_rate", "optimizer", "optim", "x"]),
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


def test_config_names_are_the_formats_it_reads() -> None:
    """JSON is looked for before YAML, and each name once."""
    assert CONFIG_NAMES == ("config.json", "config.yaml", "config.yml")
    assert configured_learning_rate(json.loads('{"training": {"lr": 1e-4}}')) == 1e-4
