"""grad_norm_nan in motion."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings

from tailwatch.checks.grad_norm_nan import GradNormNan
from tailwatch.core.findings import Mark
from tests.checks.lists import levels, rows_of, stretches
from tests.checks.runs import Run

NAN, INF = math.nan, math.inf


def norms(run: Run, *values: float) -> str:
    return run.feed("grad_norm", values)


@pytest.mark.parametrize(("bad", "shown"), [(NAN, "NaN"), (INF, "Infinity"), (-INF, "-Infinity")])
def test_fires_on_the_third_row(bad: float, shown: str) -> None:
    """Three norms running that are not finite fire, and say what the last good one was."""
    run = Run(GradNormNan)
    assert norms(run, 1.5, bad, bad, bad) == "---F"
    expected = f"grad norm is {shown} at step 40, in 3 rows running; the last finite norm was 1.5"
    assert expected == run.said
    assert run.transitions[0].evidence.mark == Mark(2, 20, 200)


def test_skipped_steps_are_normal() -> None:
    """One or two norms that are not finite, again and again, are the loss scaler at work."""
    run = Run(GradNormNan)
    assert norms(run, *[1.0, INF] * 50, *[1.0, INF, NAN] * 50) == "-" * 250


def test_it_is_over_after_twenty_finite_norms() -> None:
    """19 finite norms do not end it, the 20th running does; soon after, it continues."""
    run = Run(GradNormNan)
    norms(run, *[NAN] * 3)
    assert run.said.endswith("no norm before it was finite")
    assert norms(run, *[1.0] * 19, INF, *[1.0] * 20) == "-" * 39 + "R"
    assert norms(run, *[INF] * 3) == "--C"


def test_rows_without_a_norm_do_not_matter() -> None:
    """Losses and evaluations between neither break it nor clear it."""
    run = Run(GradNormNan)
    for _ in range(2):
        norms(run, NAN)
        run.losses(2.0)
        run.evaluation(eval_loss=1.0)
    assert norms(run, NAN) == "F"


def test_the_end_tells_of_one_row() -> None:
    """A run that dies with such a norm is told of."""
    run = Run(GradNormNan)
    norms(run, 1.0, NAN)
    assert run.rest() == "F"
    assert "in 1 row running" in run.said


@settings(deadline=None, max_examples=60)
@given(stretches(1.0, 1e308, -1.0, NAN, INF, -INF))
def test_levels_are_those_of_the_rows(values: list[float]) -> None:
    """The level is up on exactly the rows whose norm is not finite."""
    expected = [abs(value) == INF or value != value for value in values]
    assert expected == levels(GradNormNan(), rows_of("grad_norm", values))
