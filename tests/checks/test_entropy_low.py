"""entropy_low in motion."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings

from tailwatch.checks.entropy_low import EntropyLow
from tests.checks.lists import above, levels, mean, noise, rows_of, stretches
from tests.checks.runs import Run


def entropies(*values: float) -> tuple[Run, str]:
    run = Run(EntropyLow, rewarded=True)
    return run, run.feed("entropy", values)


def test_a_collapse_is_told() -> None:
    """A smoothed entropy below a tenth of the first rows' for 10 rows running fires."""
    run, edges = entropies(*[1.0] * 10, *[0.01] * 40)
    assert edges.index("F") == 32 + 9
    assert run.said == "entropy has fallen to 0.04399 nats at step 420, from 1 in the first rows"
    assert run.transitions[0].evidence.mark is not None
    assert run.transitions[0].evidence.mark.step == 330


@pytest.mark.parametrize(
    "values",
    [
        [1.0] * 10 + [0.101] * 300,
        [5.0] * 10 + [0.101] * 300,
        [0.3] * 10 + [0.031] * 300,
        [0.05] * 300,
        [0.0] * 300,
    ],
)
def test_both_limits_are_asked(values: list[float]) -> None:
    """It must be below a tenth of the beginning and below 0.1 nats."""
    assert "F" not in entropies(*values)[1]


def test_continuous_policies_pass_zero_in_health() -> None:
    """A differential entropy may be below 0: it says nothing, and passing 0.1 says nothing."""
    run, edges = entropies(*[8.0 - n / 20 for n in range(400)], *[-9.0] * 100)
    assert "F" not in edges
    assert "F" not in run.feed("entropy", [0.01] * 200)


def test_it_is_over_after_twenty_rows() -> None:
    """Twenty rows of a smoothed entropy above the limit end it."""
    run, _ = entropies(*[1.0] * 10, *[0.01] * 60)
    back = run.feed("entropy", [1.0] * 30)
    assert back.count("R") == 1
    assert back.index("R") == 19


def test_only_where_there_are_rewards() -> None:
    """Fine-tuning logs an entropy, too, and it may fall to 0 in health."""
    assert Run(EntropyLow).feed("entropy", [1.0] * 10 + [0.0] * 90) == "-" * 100


def test_values_that_are_not_finite_are_passed() -> None:
    """They neither count nor spoil the mean."""
    nan, inf = math.nan, math.inf
    run, edges = entropies(*[1.0, nan] * 10, *[0.01] * 40)
    other, plain = entropies(*[1.0] * 10, *[0.01] * 40)
    assert edges.count("F") == plain.count("F") == 1
    values = run.transitions[0].evidence.values, other.transitions[0].evidence.values
    assert values[0] == values[1]
    assert run.feed("entropy", [inf] * 5) == "-" * 5


@settings(deadline=None, max_examples=80)
@given(stretches(1.0, 0.7, 0.11, 0.03, 0.001, math.nan, times=(1, 9, 30)) | noise(0.3, 0.3, 0.3))
def test_levels_are_those_of_the_lists(values: list[float]) -> None:
    """On each row the level is what the list of all values gives."""
    expected = []
    for n, value in enumerate(values, 1):
        seen = [x for x in values[:n] if math.isfinite(x)]
        up = math.isfinite(value) and len(seen) > 10
        if up:
            now = mean(seen, 0.1)
            up = above(0.1, now) and above(sum(seen[:10]) / 100, now)
        expected.append(up)
    assert expected == levels(EntropyLow(), rows_of("entropy", values, rewarded=True))
