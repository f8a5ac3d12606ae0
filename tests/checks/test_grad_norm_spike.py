"""grad_norm_spike in motion."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings

from tailwatch.checks.grad_norm_spike import GradNormSpike
from tailwatch.core.findings import Mark
from tests.checks.lists import above, frozen, levels, noise, rows_of, stretches
from tests.checks.runs import Run


def norms(run: Run, *values: float) -> str:
    return run.feed("grad_norm", values)


def test_fires_on_the_third_row() -> None:
    """Three norms running of three times the usual fire, and name the first of them."""
    run = Run(GradNormSpike)
    assert norms(run, *[0.5] * 50, 1.5, 1.6, 2.0) == "-" * 52 + "F"
    assert run.said == "grad norm 2 at step 530 is 4 times its usual 0.5, since step 510"
    evidence = run.transitions[0].evidence
    assert evidence.values == {"grad_norm": 2.0, "baseline": 0.5, "threshold": 1.5}
    assert Mark(51, 510, 5100) == evidence.mark


@pytest.mark.parametrize(("norm", "edge"), [(1.5, "F"), (math.nextafter(1.5, 0), "-")])
def test_three_times_is_enough(norm: float, edge: str) -> None:
    """Exactly three times the usual counts."""
    run = Run(GradNormSpike)
    norms(run, *[0.5] * 50, 9.0, 9.0)
    assert edge == norms(run, norm)


@pytest.mark.parametrize(("rows", "edge"), [(49, "-"), (50, "F")])
def test_it_needs_fifty_rows(rows: int, edge: str) -> None:
    """With fewer than 50 norms there is no usual level yet."""
    run = Run(GradNormSpike)
    norms(run, *[0.5] * rows, 9.0, 9.0)
    assert edge == norms(run, 9.0)


@pytest.mark.parametrize(("norm", "edge"), [(0.001, "F"), (math.nextafter(0.001, 0), "-")])
def test_tiny_norms_do_not_spike(norm: float, edge: str) -> None:
    """Below 0.001 a ratio says nothing."""
    run = Run(GradNormSpike)
    norms(run, *[1e-5] * 50)
    assert edge == norms(run, *[norm] * 3)[-1]


def test_norms_in_the_millions_are_usual_where_they_are_usual() -> None:
    """Only a run's own level counts, whatever it is."""
    run = Run(GradNormSpike)
    assert norms(run, *[4e6, 1e6, 2e6] * 60) == "-" * 180
    assert norms(run, *[2e7] * 3) == "--F"


def test_it_is_over_below_one_and_a_half() -> None:
    """Norms between 1.5 and 3 times neither fire nor clear; 20 rows below 1.5 end it."""
    run = Run(GradNormSpike)
    norms(run, *[1.0] * 50, *[5.0] * 3)
    assert norms(run, *[1.0] * 19, 1.9, *[1.0] * 19) == "-" * 39
    assert norms(run, 1.0) == "R"


def test_one_norm_is_nothing() -> None:
    """Single norms, however high, and those that are not finite, are no spike."""
    run = Run(GradNormSpike)
    norms(run, *[1.0] * 50)
    assert norms(run, *[1e308, 1.0, math.inf, 1.0, math.nan, 1.0] * 10) == "-" * 60


def test_a_norm_that_is_not_finite_does_not_spoil_the_mean() -> None:
    """The usual level is that of the finite norms."""
    run = Run(GradNormSpike)
    norms(run, *[1.0, math.inf] * 50)
    assert norms(run, *[3.5] * 3) == "--F"


def test_negative_norms_are_no_base() -> None:
    """Where the mean is not above zero, nothing is said."""
    run = Run(GradNormSpike)
    assert norms(run, *[-1.0] * 60, *[9.0] * 3) == "-" * 63


@settings(deadline=None, max_examples=60)
@given(stretches(1.0, 1.3, 0.7, 2.9, 3.3, 8.0, math.inf, 1e-5) | noise(1.0, 0.7, 0.02))
def test_levels_are_those_of_the_lists(values: list[float]) -> None:
    """On each row the level is what the list of all earlier norms gives."""
    expected = frozen(values, 0.02, lambda x, usual: above(x, 3 * usual) and above(x, 0.001), 50)
    assert expected == levels(GradNormSpike(), rows_of("grad_norm", values))
