"""loss_diverged in motion."""

from __future__ import annotations

import math

import pytest

from tailwatch.checks.loss_diverged import LossDiverged
from tailwatch.core.findings import Mark
from tests.checks.runs import Run

NAN = math.nan


def test_one_row_does_not_fire_three_do() -> None:
    """Live it takes three losses running above 3 times the first."""
    run = Run(LossDiverged)
    assert run.losses(2.0, 1.9, 1.8, 1.7, 6.5, 1.6, 6.5, 6.6, 1.6, 6.5, 6.6, 6.7) == "-" * 11 + "F"
    evidence = run.transitions[0].evidence
    assert evidence.message == "loss 6.7 at step 120 is over 3 times the first loss, 2"
    assert evidence.values == {"loss": 6.7, "first_loss": 2.0, "threshold": 6.0}
    assert Mark(10, 100, 1000) == evidence.mark


def test_the_diagnosis_takes_one_row() -> None:
    """The batch rule looks at the last loss only: it comes with one row and goes with one."""
    run = Run(LossDiverged)
    run.losses(2.0, 2.0, 2.0, 2.0, 6.1)
    assert len(run.findings) == 1
    run.losses(6.0)
    assert run.findings == []


@pytest.mark.parametrize(
    ("losses", "found"),
    [
        ([1.0, 1.0, 1.0, 1.0, 3.0], False),
        ([1.0, 1.0, 1.0, 1.0, math.nextafter(3.0, 4.0)], True),
        ([1.0, 1.0, 1.0, 9.0], False),
        ([1.0, 1.0, NAN, 1.0, 9.0], False),
        ([NAN, 1.0, 1.0, 1.0, 1.0, 9.0], True),
        ([0.0, 9.0, 9.0, 9.0, 9.0], False),
        ([-1.0, 9.0, 9.0, 9.0, 9.0], False),
        ([0.1, 0.1, 0.1, 0.1, 0.30000000000000004], False),
        ([1e308, 1e308, 1e308, 1e308, 1.7e308], False),
        ([1.0, 9.0, 9.0, 9.0, NAN], False),
        ([1.0, 9.0, 9.0, 9.0, 9.0, NAN], True),
    ],
)
def test_thresholds(losses: list[float], found: bool) -> None:
    """Strictly above 3 times the first finite loss, which is above 0, with 5 finite losses."""
    run = Run(LossDiverged)
    run.losses(*losses)
    assert found == bool(run.findings)


def test_a_start_near_zero_needs_a_real_rise() -> None:
    """Below 0.05 above the first loss the live level stays down; the diagnosis does not wait."""
    run = Run(LossDiverged)
    assert run.losses(0.001, *[0.0509] * 10) == "-" * 11
    assert len(run.findings) == 1
    assert run.rest() == "-"
    assert run.losses(0.0511, 0.0511, 0.0511) == "--F"


def test_rest_fires_what_is_pending() -> None:
    """A run that dies on its first high loss is told of."""
    run = Run(LossDiverged)
    run.losses(2.0, 2.0, 2.0, 2.0, 7.0)
    assert run.rest() == "F"


def test_a_nan_keeps_the_level() -> None:
    """A NaN is no finite loss: the level stays where the last finite one put it."""
    run = Run(LossDiverged)
    assert run.losses(2.0, 2.0, 2.0, 2.0, 7.0, NAN, NAN) == "------F"


def test_resolves_after_twenty_rows_below() -> None:
    """Twenty losses running at or below the threshold end it."""
    run = Run(LossDiverged)
    run.losses(2.0, 2.0, 7.0, 7.0, 7.0, 7.0, 7.0)
    assert run.losses(*[6.0] * 19, 7.0, *[6.0] * 20) == "-" * 39 + "R"
