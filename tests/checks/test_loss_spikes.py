"""loss_spikes in motion."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings

from tailwatch.checks.loss_spikes import LossSpikes
from tailwatch.core.findings import Mark, Severity
from tests.checks.lists import above, levels, mean, noise, rows_of, stretches
from tests.checks.runs import Run

NAN = math.nan
CALM = [2.0 + n % 2 / 10 for n in range(50)]


def test_a_single_row_is_counted_and_is_over_with_the_next() -> None:
    """It is a fact about one row, of the severity that nobody is told of."""
    run = Run(LossSpikes)
    assert run.losses(*CALM, 4.0, 2.0) == "-" * 50 + "FR"
    assert run.transitions[0].evidence.message == (
        "loss 4 at step 510 stands 29.63 deviations above its usual 2.05"
    )
    assert run.transitions[0].evidence.mark == Mark(51, 510, 5100)
    assert LossSpikes.severity is Severity.INFO


def test_spikes_soon_after_continue() -> None:
    """A second one within 50 rows is not counted again, a later one is."""
    run = Run(LossSpikes)
    run.losses(*CALM, 9.0, 2.0)
    assert run.losses(*[2.0] * 20, 9.0, 2.0) == "-" * 20 + "CR"
    assert run.losses(*[2.0] * 50, 9.0) == "-" * 50 + "F"


@pytest.mark.parametrize(("loss", "edge"), [(3.0, "-"), (3.001, "F")])
def test_one_and_a_half_times_is_asked_too(loss: float, edge: str) -> None:
    """Where nothing varies, any rise is many deviations: it must be by more than half, too."""
    run = Run(LossSpikes)
    assert edge == run.losses(*[2.0] * 60, loss)[-1]
    if edge == "F":
        assert run.said == "loss 3.001 at step 610 is 1.5 times its usual 2"


def test_noise_is_none() -> None:
    """In losses that vary by their own size, one of three times the usual is none."""
    run = Run(LossSpikes)
    assert run.losses(*[0.5, 1.5] * 50, 3.0, *[0.5, 1.5] * 20) == "-" * 141


@pytest.mark.parametrize(("rows", "edge"), [(49, "-"), (50, "F")])
def test_it_needs_fifty_rows(rows: int, edge: str) -> None:
    """With fewer losses nothing is usual yet."""
    assert edge == Run(LossSpikes).losses(*[2.0] * rows, 9.0)[-1]


def test_a_spike_is_hardly_learned() -> None:
    """One huge loss moves the mean no more than one at the limit would."""
    run = Run(LossSpikes)
    run.losses(*CALM, 1.7e308)
    assert len(run.said) < 100
    assert run.losses(*[2.0] * 10, 4.0)[-1] == "C"


@pytest.mark.parametrize("loss", [0.0, -1.0])
def test_a_loss_at_or_below_zero_ends_it(loss: float) -> None:
    """Once a loss was zero or below, a ratio says nothing, for the whole segment."""
    assert Run(LossSpikes).losses(loss, *[2.0] * 60, 90.0) == "-" * 62


def test_not_for_losses_that_wander() -> None:
    """Neither reinforcement nor adversarial learning has a usual loss."""
    for run in (Run(LossSpikes, rewarded=True), Run(LossSpikes, adversarial=True)):
        assert run.losses(*[2.0] * 60, 90.0) == "-" * 61


def test_rows_without_a_loss_do_not_end_it() -> None:
    """Only the next loss does."""
    run = Run(LossSpikes)
    run.losses(*CALM, 9.0)
    assert run.evaluation(eval_loss=1.0) + run.losses(2.0) == "-R"


@settings(deadline=None, max_examples=60)
@given(stretches(2.0, 2.2, 1.7, 2.9, 3.4, 9.0, NAN, times=(1, 1, 2, 30)) | noise(2.0, 1.0, 0.0))
def test_levels_are_those_of_the_lists(values: list[float]) -> None:
    """On each row the level is what the list of all earlier losses, cut at their limits, gives."""
    kept: list[float] = []
    apart: list[float] = []
    expected = []
    for value in values:
        if not math.isfinite(value):
            expected.append(False)
            continue
        usual = mean(kept, 0.02)
        limit = max(usual + 8 * 1.25 * mean(apart, 0.02), 1.5 * usual)
        up = len(kept) >= 50 and above(value, limit)
        value = limit if up else value
        apart += [abs(value - usual)] if kept else []
        kept.append(value)
        expected.append(up)
    assert expected == levels(LossSpikes(), rows_of("loss", values))
