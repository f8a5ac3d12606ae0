"""Running numbers against the same numbers from whole lists."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core.stats import Ewma
from tests.checks import lists

values = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


@settings(deadline=None)
@given(values, st.sampled_from([0.01, 0.02, 0.05, 0.1, 0.5, 1.0]))
def test_mean_and_deviation_are_those_of_the_weighted_list(
    some: list[float], alpha: float
) -> None:
    """The weights of all values are kept in three numbers."""
    running = Ewma(alpha)
    for value in some:
        running.update(value)
    size = max(map(abs, some)) + 1
    assert lists.mean(some, alpha) == pytest.approx(running.mean, rel=1e-9, abs=1e-9 * size)
    assert lists.deviation(some, alpha) == pytest.approx(
        running.deviation, rel=1e-5, abs=1e-5 * size
    )
    assert running.n == len(some)


@settings(deadline=None)
@given(values)
def test_it_starts_as_a_plain_mean(some: list[float]) -> None:
    """Until there are as many values as the weight says, all of them weigh alike."""
    running = Ewma(1 / 60)
    for value in some:
        running.update(value)
    size = max(map(abs, some)) + 1
    assert statistics.fmean(some) == pytest.approx(running.mean, rel=1e-9, abs=1e-9 * size)
    assert statistics.pstdev(some) == pytest.approx(running.deviation, rel=1e-5, abs=1e-5 * size)


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=30))
def test_it_stays_finite(some: list[float]) -> None:
    """Whatever finite values come, what it keeps is finite, and comes back as it was."""
    running = Ewma(0.1)
    for value in some:
        running.update(value)
    assert all(math.isfinite(x) for x in (*running.to_state(), running.deviation))
    again = Ewma(0.1)
    again.restore(running.to_state())
    assert again == running


def test_nothing_yet() -> None:
    """Without a value it is all zero."""
    assert Ewma(0.1).to_state() == [0, 0.0, 0.0]
    assert Ewma(0.1).deviation == 0.0
