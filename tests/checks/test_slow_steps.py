"""slow_steps in motion."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings

from tailwatch.checks.slow_steps import SlowSteps
from tailwatch.core.findings import Mark
from tests.checks.lists import above, frozen, levels, noise, rows_of, stretches
from tests.checks.runs import Run


def times(run: Run, *values: float) -> str:
    return run.feed("step_time_s", values)


def test_fires_on_the_tenth_row() -> None:
    """Ten steps running of twice the usual time fire, and name the first."""
    run = Run(SlowSteps)
    assert times(run, *[0.5] * 50, *[1.0] * 10) == "-" * 59 + "F"
    assert run.said == "a step takes 2 times its usual time at step 600, since step 510"
    evidence = run.transitions[0].evidence
    assert evidence.values == {"step_time_s": 1.0, "ratio": 2.0}
    assert Mark(51, 510, 5100) == evidence.mark


@pytest.mark.parametrize(("seconds", "edge"), [(1.0, "F"), (math.nextafter(1.0, 0), "-")])
def test_twice_is_enough(seconds: float, edge: str) -> None:
    """Exactly twice the usual time counts."""
    run = Run(SlowSteps)
    times(run, *[0.5] * 50, *[3.0] * 9)
    assert edge == times(run, seconds)


@pytest.mark.parametrize(("rows", "edge"), [(49, "-"), (50, "F")])
def test_it_needs_fifty_rows(rows: int, edge: str) -> None:
    """With fewer there is no usual time yet."""
    run = Run(SlowSteps)
    times(run, *[0.5] * rows, *[3.0] * 9)
    assert edge == times(run, 3.0)


@pytest.mark.parametrize("field", ["tokens_per_second", "samples_per_second"])
def test_throughput_is_as_good(field: str) -> None:
    """Half of the usual throughput is twice the time."""
    run = Run(SlowSteps)
    assert run.feed(field, [4000.0] * 50 + [2000.0] * 10) == "-" * 59 + "F"
    assert run.transitions[0].evidence.values == {field: 2000.0, "ratio": 2.0}


def test_one_source_is_followed() -> None:
    """Of several fields the first that was there, in the order of the table, is followed."""
    run = Run(SlowSteps)
    for _ in range(50):
        run.row(step_time_s=0.5, tokens_per_second=100.0)
    assert "".join(run.row(step_time_s=0.5, tokens_per_second=1.0) for _ in range(20)) == "-" * 20


def test_a_slow_step_now_and_then_is_normal() -> None:
    """Evaluations and saved models make a step long; that is not slow."""
    run = Run(SlowSteps)
    assert times(run, *([0.5] * 9 + [60.0]) * 30) == "-" * 300


def test_a_slow_last_step_is_normal() -> None:
    """It saves the model: a run that ends within a few slow steps is not told of."""
    run = Run(SlowSteps)
    assert times(run, *[0.5] * 60, *[60.0] * 9) + run.rest() == "-" * 70


def test_it_is_over_below_one_point_three() -> None:
    """Times between 1.3 and 2 neither fire nor clear; 20 rows below 1.3 end it."""
    run = Run(SlowSteps)
    times(run, *[1.0] * 50, *[5.0] * 10)
    assert times(run, *[1.0] * 19, 1.4, *[1.0] * 19) == "-" * 39
    assert times(run, 1.0) == "R"


@pytest.mark.parametrize("odd", [0.0, -1.0, math.nan, math.inf, 1e300, 1e-300])
def test_times_that_are_none(odd: float) -> None:
    """What cannot be the time of a step is passed, and does not spoil the usual."""
    run = Run(SlowSteps)
    assert times(run, *[0.5, odd] * 60) == "-" * 120
    assert times(run, *[1.5] * 10) == "-" * 9 + "F"


@settings(deadline=None, max_examples=60)
@given(stretches(1.0, 1.2, 0.8, 1.9, 2.2, 9.0, math.nan) | noise(1.0, 0.5, 0.02))
def test_levels_are_those_of_the_lists(values: list[float]) -> None:
    """On each row the level is what the list of all earlier times gives."""
    expected = frozen(values, 0.02, lambda x, usual: above(x, 2 * usual), 50)
    assert expected == levels(SlowSteps(), rows_of("step_time_s", values))
