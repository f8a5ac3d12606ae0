"""no_learning_signal in motion."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.checks.no_learning_signal import NoLearningSignal
from tailwatch.core.findings import Mark
from tailwatch.core.rows import Row
from tests.checks.lists import levels
from tests.checks.runs import Run

NAN = math.nan


def rows(run: Run, count: int, **values: float) -> str:
    return "".join(run.row(**values) for _ in range(count))


def test_fires_on_the_tenth_row() -> None:
    """Ten rows running of equal rewards fire, and say which reward and since when."""
    run = Run(NoLearningSignal, rewarded=True)
    assert rows(run, 10, reward=1.0, reward_std=0.0) == "-" * 9 + "F"
    assert run.said == (
        "all rewards are the same (1) at step 100, since step 10: there is nothing to learn from"
    )
    assert run.transitions[0].evidence.mark == Mark(1, 10, 100)


@pytest.mark.parametrize(
    ("values", "edge"),
    [
        ({"reward_std": 0.0}, "F"),
        ({"reward_std": 1e-9}, "-"),
        ({"reward_std": NAN}, "-"),
        ({"zero_spread_share": 0.99}, "F"),
        ({"zero_spread_share": 0.989}, "-"),
        ({"zero_spread_share": NAN}, "-"),
        ({"reward_std": 0.3, "zero_spread_share": 1.0}, "F"),
        ({"reward_std": 0.0, "grad_norm": 0.0}, "F"),
        ({"reward_std": 0.0, "grad_norm": 9.9e-9}, "F"),
        ({"reward_std": 0.0, "grad_norm": 1e-8}, "-"),
        ({"reward_std": 0.0, "grad_norm": NAN}, "-"),
    ],
)
def test_thresholds(values: dict[str, float], edge: str) -> None:
    """No spread, or 99% of the groups without, and a norm of nearly zero or none."""
    assert edge == rows(Run(NoLearningSignal, rewarded=True), 10, **values)[-1]


def test_nine_rows_are_not_enough() -> None:
    """A single group with a spread begins the count anew."""
    run = Run(NoLearningSignal, rewarded=True)
    for _ in range(5):
        assert rows(run, 9, reward_std=0.0) + rows(run, 1, reward_std=0.2) == "-" * 10


def test_only_where_there_are_rewards() -> None:
    """Without a reward it is no reinforcement learning."""
    assert rows(Run(NoLearningSignal), 30, reward_std=0.0) == "-" * 30


def test_it_is_over_after_five_rows() -> None:
    """Four rows with a spread do not end it, the fifth running does."""
    run = Run(NoLearningSignal, rewarded=True)
    rows(run, 10, reward_std=0.0)
    assert rows(run, 4, reward_std=0.2) + rows(run, 1, reward_std=0.0) == "-----"
    assert rows(run, 5, reward_std=0.2) == "----R"


def test_rows_without_a_spread_do_not_matter() -> None:
    """Rows of losses and evaluations neither count nor break it."""
    run = Run(NoLearningSignal, rewarded=True)
    said = "".join(rows(run, 1, reward_std=0.0) + run.losses(0.1) for _ in range(10))
    assert said == "-" * 18 + "F-"


options = {
    "reward_std": st.sampled_from([0.0, 0.1, NAN]),
    "zero_spread_share": st.sampled_from([1.0, 0.99, 0.5, NAN]),
    "grad_norm": st.sampled_from([0.0, -1e-9, 1.0, NAN]),
}


@settings(deadline=None, max_examples=100)
@given(st.lists(st.fixed_dictionaries({}, optional=options), max_size=20), st.booleans())
def test_levels_are_those_of_the_rows(story: list[dict[str, float]], rewarded: bool) -> None:
    """The level is that of the row alone."""
    expected = [
        rewarded
        and (values.get("reward_std") == 0 or values.get("zero_spread_share") in (0.99, 1.0))
        and values.get("grad_norm", 0.0) in (0.0, -1e-9)
        for values in story
    ]
    made = [Row(n, n, values, 0, rewarded=rewarded) for n, values in enumerate(story, 1)]
    assert expected == levels(NoLearningSignal(), made)
