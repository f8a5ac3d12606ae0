"""reward_drop in motion."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings

from tailwatch.checks.reward_drop import RewardDrop
from tests.checks.lists import above, deviation, levels, mean, noise, rows_of, stretches
from tests.checks.runs import Run


def rewards(*values: float) -> tuple[Run, str]:
    run = Run(RewardDrop, rewarded=True)
    return run, run.feed("reward", values)


def test_a_fall_by_half_of_the_gain() -> None:
    """A smoothed reward that lost half of its gain for 10 rows running fires, with its best."""
    run, edges = rewards(*[n / 50 for n in range(50)], *[0.0] * 40)
    assert edges.index("F") == 60 + 9
    assert run.said == (
        "smoothed reward 0.09742 at step 700 is far below its best, 0.8013 at step 500"
    )
    assert run.transitions[0].evidence.mark is not None
    assert run.transitions[0].evidence.mark.step == 610


@pytest.mark.parametrize("offset", [-1000.0, 0.0, 5.0])
def test_rewards_may_be_negative(offset: float) -> None:
    """Only gain and fall count, not where zero is."""
    values = [offset + n / 50 for n in range(50)] + [offset] * 40
    assert "F" in rewards(*values)[1]


def test_a_fall_of_less_than_half_is_none() -> None:
    """A reward that keeps more than half of its gain has not dropped."""
    assert "F" not in rewards(*[n / 50 for n in range(50)], *[0.6] * 300)[1]


@pytest.mark.parametrize(("reward", "found"), [(0.55, True), (0.65, False)])
def test_half_of_the_gain_since_the_twentieth_row(reward: float, found: bool) -> None:
    """The gain is counted from the smoothed reward of the 20th row, 0.24 here, to the best, 1."""
    rising = [n / 50 for n in range(51)] + [1.0] * 100
    assert found == ("F" in rewards(*rising, *[reward] * 100)[1])


def test_noise_is_none() -> None:
    """A reward that stays where it is, in noise, does not drop."""
    noise = random.Random(3)
    assert "F" not in rewards(*[noise.gauss(1, 0.5) for _ in range(5000)])[1]


def test_it_is_over_after_twenty_rows() -> None:
    """Twenty rows with less than half of the gain lost end it."""
    run, _ = rewards(*[n / 50 for n in range(50)], *[0.0] * 40)
    back = run.feed("reward", [1.0] * 60)
    assert back.count("R") == 1
    assert back.index("R") == 21  # The second row is the first of the 20.


def test_values_that_are_not_finite_are_passed() -> None:
    """Means of no finished episode are NaN; they neither count nor spoil what is known."""
    nan, inf = math.nan, math.inf
    assert rewards(*[nan] * 50, *[nan, inf, 1.0] * 60)[1] == "-" * 230


def test_rows_without_a_reward_do_not_matter() -> None:
    """Rows of losses neither count nor break it."""
    run, _ = rewards(*[n / 50 for n in range(50)])
    said = "".join(run.feed("reward", [0.0]) + run.losses(0.1) for _ in range(20))
    assert said.count("F") == 1
    assert said.index("F") == 2 * 19


def oracle(values: list[float]) -> bool:
    """The rule on the list of all rewards so far, the last of them finite."""
    seen = [x for x in values if math.isfinite(x)]
    if len(seen) < 20:
        return False
    smooth = [mean(seen[:n], 0.1) for n in range(20, len(seen) + 1)]
    best = max(smooth)
    at = smooth.index(best) + 20
    fall = best - smooth[-1]
    return (
        fall > 0
        and (best == smooth[0] or above(fall, 0.5 * (best - smooth[0])))
        and above(fall, 3 * deviation(seen[:at], 0.1))
    )


@settings(deadline=None, max_examples=40)
@given(
    stretches(0.0, 1.0, 1.3, -0.4, 2.9, math.nan, times=(1, 6, 25), parts=5) | noise(1.0, 0.1, 0.1)
)
def test_levels_are_those_of_the_lists(values: list[float]) -> None:
    """On each row the level is what the list of all rewards gives."""
    values = values[:90]
    expected = [math.isfinite(x) and oracle(values[:n]) for n, x in enumerate(values, 1)]
    assert expected == levels(RewardDrop(), rows_of("reward", values, rewarded=True))
