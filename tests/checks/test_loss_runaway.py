"""loss_runaway in motion."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given, settings

from tailwatch.checks.loss_runaway import LossRunaway
from tailwatch.core.findings import Mark
from tests.checks.lists import above, deviation, levels, mean, noise, rows_of, running, stretches
from tests.checks.runs import Run

NAN, INF = math.nan, math.inf


def test_a_climb_is_told_with_its_best() -> None:
    """A smoothed loss 1.5 times its best for 5 rows fires; it names both, and where it began."""
    run = Run(LossRunaway)
    climb = [2.0 * 1.03**n for n in range(1, 36)]
    edges = run.losses(*[2.0] * 100, *climb)
    assert edges.count("F") == 1
    at = edges.index("F")
    assert at < 135
    evidence = run.transitions[0].evidence
    assert evidence.message == (
        f"smoothed loss {evidence.values['smoothed']:.4g} at step {10 * at + 10} is "
        f"{evidence.values['smoothed'] / 2:.2f} times its best, 2 at step 200, for 5 rows"
    )
    assert evidence.values["threshold"] == 3.0
    assert Mark(at - 3, 10 * at - 30, 100 * at - 300) == evidence.mark


def test_a_jump_is_found_though_it_has_not_tripled() -> None:
    """A level of twice the best is found within 30 rows; the seed's rule would not see it."""
    run = Run(LossRunaway)
    assert "F" in run.losses(*[2.0] * 100, *[4.0] * 30)


@pytest.mark.parametrize("factor", [1.3, 1.49])
def test_less_than_half_above_is_none(factor: float) -> None:
    """However long a loss stays at less than 1.5 times its best, it has not run away."""
    run = Run(LossRunaway)
    assert run.losses(*[2.0] * 100, *[2.0 * factor] * 300) == "-" * 400


def test_small_rises_are_none() -> None:
    """Below 0.01 above the best it is noise near zero, whatever the ratio."""
    run = Run(LossRunaway)
    assert run.losses(*[0.003] * 100, *[0.0129] * 300) == "-" * 400
    assert "F" in run.losses(*[0.014] * 300)


def test_single_rows_are_none() -> None:
    """A loss near zero with single rows far above does not run away."""
    run = Run(LossRunaway)
    assert run.losses(*([0.003] * 15 + [0.6]) * 40) == "-" * 640


def test_noise_as_large_as_the_loss_is_none() -> None:
    """Where losses vary as much as they are high, the mean wanders by half in health."""
    run = Run(LossRunaway)
    low, high = [0.2, 1.6, 0.3, 1.5] * 25, [0.9, 2.4, 0.4, 2.2] * 25
    assert run.losses(*(low + high) * 3) == "-" * 600


@pytest.mark.parametrize(("losses", "edges"), [([20.1] * 2, "-F"), ([20.0] * 9, "-" * 9)])
def test_ten_times_the_first_at_any_time(losses: list[float], edges: str) -> None:
    """Strictly more than 10 times the first loss in 2 rows fires from the first rows on."""
    run = Run(LossRunaway)
    assert run.losses(2.0) + run.losses(*losses) == "-" + edges
    if "F" in edges:
        assert run.said == "loss 20.1 at step 30 is over 10 times the first loss, 2"


def test_ten_times_next_to_nothing_is_nothing() -> None:
    """It must be by 0.5, too."""
    run = Run(LossRunaway)
    assert run.losses(0.001, *[0.5] * 10) == "-" * 11
    assert run.losses(*[0.501] * 2) == "-F"


def test_one_burst_is_none() -> None:
    """A single row of 100 times the first loss is none."""
    run = Run(LossRunaway)
    assert run.losses(2.0, 200.0, 2.0, 200.0, 2.0) == "-----"


def test_it_is_over_near_the_best() -> None:
    """It ends after 20 rows of a smoothed loss below 1.2 times its best, not before."""
    run = Run(LossRunaway)
    run.losses(*[2.0] * 100, *[4.0] * 40)
    assert run.losses(*[2.5] * 200) == "-" * 200
    back = run.losses(*[2.0] * 80)
    assert back.count("R") == 1
    assert back.index("R") == 23  # The smoothed loss needs 4 rows to come down.


def test_high_losses_of_a_warm_up_are_none() -> None:
    """A loss that begins high and falls has nothing to run away from."""
    run = Run(LossRunaway)
    assert run.losses(*[11.0 * 0.97**n + 2 for n in range(300)]) == "-" * 300


@pytest.mark.parametrize("loss", [0.0, -0.5])
def test_a_loss_at_or_below_zero_ends_it(loss: float) -> None:
    """Once a loss was zero or below, a ratio says nothing, for the whole segment."""
    run = Run(LossRunaway)
    assert run.losses(*[2.0] * 30, loss, *[9.0] * 60, *[90.0] * 9) == "-" * 100


def test_not_for_losses_that_wander() -> None:
    """Neither reinforcement nor adversarial learning has a best loss."""
    for run in (Run(LossRunaway, rewarded=True), Run(LossRunaway, adversarial=True)):
        assert run.losses(*[2.0] * 60, *[50.0] * 60) == "-" * 120


def test_losses_that_are_not_finite_neither_help_nor_hinder() -> None:
    """A NaN in a climb leaves the count of high rows as it is."""
    run, other = Run(LossRunaway), Run(LossRunaway)
    climb = [5.0] * 30
    with_nans = [x for loss in climb for x in (NAN, loss, INF)]
    assert run.losses(*[2.0] * 50, *with_nans).count("F") == 1
    other.losses(*[2.0] * 50, *climb)
    assert run.transitions[0].evidence.values == other.transitions[0].evidence.values


def test_huge_losses() -> None:
    """Losses near the largest float run away like others, and the state stays finite."""
    run = Run(LossRunaway)
    assert run.losses(*[2.0] * 30, *[1.7e308] * 2) == "-" * 31 + "F"
    assert run.losses(1.7e308, 2.0) == "--"
    state = run.monitor.watched[0].check.to_state()
    assert all(math.isfinite(x) for x in state["smooth"])


def test_a_rerun_in_the_same_file_is_none() -> None:
    """Appended reruns: the loss is back at its start, and that is a new segment."""
    run = Run(LossRunaway, segments=True)
    edges = ""
    for _ in range(4):
        for n in range(60):
            run.step = 10 * (n + 1)
            edges += run.losses(1.0 + 9.0 * 0.9**n)
    assert edges == "-" * 240


def oracle(values: Sequence[float]) -> bool:
    """The rule on the list of all losses so far, the last of them finite."""
    losses = [x for x in values if math.isfinite(x)]
    if any(x <= 0 for x in losses):
        return False
    bursts = [above(x, 10 * losses[0]) and above(x, losses[0] + 0.5) for x in losses]
    smooth = [mean(losses[:n], 0.05) for n in range(1, len(losses) + 1)]
    high = []
    for n in range(1, len(losses) + 1):
        if n < 20:
            high.append(False)
            continue
        best = min(smooth[19:n])
        at = smooth.index(best, 19) + 1
        noise = max(0.01, 0.75 * deviation(losses[:n], 0.05), 2 * deviation(losses[:at], 0.05))
        now = smooth[n - 1]
        high.append(now > best and above(now, 1.5 * best) and above(now - best, noise))
    return running(bursts) >= 2 or running(high) >= 5


@settings(deadline=None, max_examples=40)
@given(
    stretches(2.0, 2.3, 1.1, 3.7, 8.0, 31.0, NAN, times=(1, 2, 6, 25), parts=5)
    | noise(2.0, 0.3, 0.1)
)
def test_levels_are_those_of_the_lists(values: list[float]) -> None:
    """On each row the level is what the list of all losses gives."""
    values = values[:70]
    expected = [math.isfinite(value) and oracle(values[:n]) for n, value in enumerate(values, 1)]
    assert expected == levels(LossRunaway(), rows_of("loss", values))
