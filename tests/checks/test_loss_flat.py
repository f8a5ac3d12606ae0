"""loss_flat in motion."""

from __future__ import annotations

import math

import pytest

from tailwatch.checks.loss_flat import LossFlat
from tailwatch.core.findings import Mark
from tests.checks.runs import Run


def test_fires_on_the_second_row_that_is_flat() -> None:
    """From 30 losses on, two running within 0.5 per cent of the first fire."""
    run = Run(LossFlat)
    assert run.losses(*[2.0] * 31) == "-" * 30 + "F"
    evidence = run.transitions[0].evidence
    expected = "loss 2 at step 310 is within 0.5% of the first loss, 2, after 31 rows"
    assert expected == evidence.message
    assert Mark(30, 300, 3000) == evidence.mark


@pytest.mark.parametrize(
    ("losses", "found"),
    [
        ([2.0] * 29, False),
        ([2.0] * 30, True),
        ([200.0] * 29 + [201.0], False),
        ([200.0] * 29 + [200.99], True),
        ([200.0] * 29 + [199.0], False),
        ([200.0] * 29 + [199.01], True),
        ([2.0] + [9.0] * 28 + [2.0], True),
        ([0.0] * 40, False),
        ([-2.0] * 40, False),
        ([math.nan] * 10 + [2.0] * 29, False),
        ([2.0] * 29 + [math.nan], False),
        ([2.0] * 30 + [math.nan], True),
        ([5e-324] * 30, True),
        ([1e308] * 29 + [-1e308], False),
    ],
)
def test_thresholds(losses: list[float], found: bool) -> None:
    """Strictly within 0.5 per cent of the first finite loss, above 0, with 30 finite losses."""
    run = Run(LossFlat)
    run.losses(*losses)
    assert found == bool(run.findings)


def test_crossing_the_first_loss_for_one_row_does_not_fire() -> None:
    """A loss that passes its first value on the way down is flat in the diagnosis, not live."""
    run = Run(LossFlat)
    run.losses(2.0, *[5.0] * 30)
    assert run.losses(2.0) == "-"
    assert len(run.findings) == 1
    assert run.losses(1.5) + run.rest() == "--"


def test_resolves_after_twenty_rows() -> None:
    """Twenty losses running away from the first end it; flat again soon after continues it."""
    run = Run(LossFlat)
    run.losses(*[2.0] * 31)
    assert run.losses(*[1.5] * 20, 2.0, 2.0) == "-" * 19 + "R-C"
