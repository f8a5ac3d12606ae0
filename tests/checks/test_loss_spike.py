"""loss_spike in motion."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings

from tailwatch.checks.loss_spike import LossSpike
from tailwatch.core.findings import Mark
from tailwatch.core.rows import Row
from tests.checks.lists import above, frozen, levels, noise, rows_of, stretches
from tests.checks.runs import Run

NAN, INF = math.nan, math.inf


def test_fires_on_the_fifth_row() -> None:
    """Four losses of twice the usual are no spike, the fifth running fires and names the first."""
    run = Run(LossSpike)
    assert run.losses(*[2.0] * 50, *[4.0] * 5) == "-" * 54 + "F"
    assert run.said == "loss 4 at step 550 is 2 times its usual 2, since step 510"
    evidence = run.transitions[0].evidence
    assert evidence.values == {"loss": 4.0, "baseline": 2.0, "threshold": 4.0}
    assert Mark(51, 510, 5100) == evidence.mark


def test_small_losses_spike_too() -> None:
    """There is no floor: what counts is the ratio."""
    assert Run(LossSpike).losses(*[0.001] * 50, *[0.003] * 5)[-1] == "F"


def test_four_rows_are_not_enough() -> None:
    """A row below the limit begins the count anew."""
    run = Run(LossSpike)
    assert run.losses(*[2.0] * 50, *([5.0] * 4 + [2.0]) * 5) == "-" * 75


@pytest.mark.parametrize(("loss", "edge"), [(4.0, "F"), (math.nextafter(4.0, 0), "-")])
def test_twice_is_enough(loss: float, edge: str) -> None:
    """Exactly twice the usual counts."""
    run = Run(LossSpike)
    run.losses(*[2.0] * 50, *[5.0] * 4)
    assert edge == run.losses(loss)


@pytest.mark.parametrize(("rows", "edge"), [(49, "-"), (50, "F")])
def test_it_needs_fifty_rows(rows: int, edge: str) -> None:
    """With fewer than 50 losses there is no usual level yet."""
    run = Run(LossSpike)
    run.losses(*[2.0] * rows, *[5.0] * 4)
    assert edge == run.losses(5.0)


def test_the_mean_stands_still_during_a_spike() -> None:
    """However long it lasts, a spike is not learned: it ends 20 rows after the loss came back."""
    run = Run(LossSpike)
    assert run.losses(*[2.0] * 50, *[4.0] * 300) == "-" * 54 + "F" + "-" * 295
    assert run.losses(*[2.0] * 19, 4.0, *[2.0] * 20) == "-" * 39 + "R"
    assert run.losses(*[4.0] * 5) == "----C"


def test_rows_without_a_loss_do_not_matter() -> None:
    """Evaluations between neither break a spike nor clear it."""
    run = Run(LossSpike)
    run.losses(*[2.0] * 50)
    said = "".join(run.losses(5.0) + run.evaluation(eval_loss=2.0) for _ in range(5))
    assert said == "-" * 8 + "F-"
    assert "".join(run.evaluation(eval_loss=2.0) for _ in range(30)) == "-" * 30


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_a_loss_that_is_not_finite_teaches_nothing(bad: float) -> None:
    """It is no spike, and does not spoil the mean."""
    run = Run(LossSpike)
    assert run.losses(*[2.0] * 50, *[bad] * 30, *[5.0] * 5) == "-" * 84 + "F"


@pytest.mark.parametrize("loss", [0.0, -0.1, -1e300])
def test_a_loss_at_or_below_zero_ends_it(loss: float) -> None:
    """Once a loss was zero or below, a ratio says nothing, for the whole segment."""
    run = Run(LossSpike)
    assert run.losses(loss, *[2.0] * 60, *[50.0] * 20) == "-" * 81


def test_not_for_losses_that_wander() -> None:
    """Neither reinforcement nor adversarial learning has a usual loss."""
    for run in (Run(LossSpike, rewarded=True), Run(LossSpike, adversarial=True)):
        assert run.losses(*[2.0] * 60, *[50.0] * 20) == "-" * 80


def test_huge_losses() -> None:
    """Losses near the largest float are a spike like any other."""
    run = Run(LossSpike)
    assert run.losses(*[2.0] * 50, *[1.7e308] * 5)[-1] == "F"


def test_the_end_tells_of_a_spike_that_had_begun() -> None:
    """A run that ends within a spike is told of."""
    run = Run(LossSpike)
    run.losses(*[2.0] * 50, *[9.0] * 3)
    assert run.rest() + run.rest() == "F-"


def test_a_new_segment_begins_anew() -> None:
    """After a restart from the first step nothing is known of the losses before."""
    run = Run(LossSpike, segments=True)
    run.losses(*[0.1] * 60)
    run.step = 10
    assert run.losses(*[5.0] * 8) == "-" * 8


@settings(deadline=None, max_examples=60)
@given(stretches(2.0, 2.3, 1.7, 3.9, 4.7, 9.0, NAN) | noise(2.0, 0.5, 0.02))
def test_levels_are_those_of_the_lists(values: list[float]) -> None:
    """On each row the level is what the list of all earlier losses gives."""
    expected = frozen(values, 0.02, lambda x, usual: above(x, 2 * usual), 50)
    assert expected == levels(LossSpike(), rows_of("loss", values))


def test_one_row_says_so() -> None:
    """The evidence of a row is of that row."""
    check = LossSpike()
    for n in range(1, 51):
        check.update(Row(n, n, {"loss": 1.0}, 0))
    evidence = check.update(Row(51, 51, {"loss": 3.0}, 7))
    assert evidence is not None
    assert evidence.mark == Mark(51, 51, 7)
