"""loss_zero in motion."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings

from tailwatch.checks.loss_zero import LossZero
from tailwatch.core.findings import Mark, TransitionKind
from tests.checks.lists import prefixes, running, stretches
from tests.checks.runs import Run


def test_fires_on_the_twentieth_row() -> None:
    """19 losses of exactly 0 are none, 20 running fire and name the first."""
    run = Run(LossZero)
    assert run.losses(1.0, *[0.0] * 20) == "-" * 20 + "F"
    assert run.said == "loss has been exactly 0 for 20 rows, since step 20"
    assert run.transitions[0].evidence.mark == Mark(2, 20, 200)


@pytest.mark.parametrize("other", [1e-300, 1.0, -1.0, math.nan, math.inf])
def test_any_other_loss_begins_the_count_anew(other: float) -> None:
    """A loss that is not exactly 0 breaks the row of zeros, and ends the finding at once."""
    run = Run(LossZero)
    assert run.losses(*[0.0] * 19, other, *[0.0] * 19) == "-" * 39
    assert run.losses(-0.0) == "F"
    assert run.losses(0.0, other) == "-R"


def test_other_rows_between_do_not_matter() -> None:
    """Evaluations and rows without a loss neither break the row of zeros nor end the finding."""
    run = Run(LossZero)
    for _ in range(19):
        run.losses(0.0)
        run.evaluation(eval_loss=0.7)
        run.null_loss(grad_norm=1.0)
    assert run.losses(0.0) == "F"
    assert run.evaluation(eval_loss=0.7) == "-"


def test_not_for_losses_that_wander() -> None:
    """A policy's loss is 0 by nature, and so may be a discriminator's."""
    for run in (Run(LossZero, rewarded=True), Run(LossZero, adversarial=True)):
        assert run.losses(*[0.0] * 60) == "-" * 60


def test_the_end_tells_of_zeros_that_had_begun() -> None:
    """A run that ends in fewer than 20 zeros is told of."""
    run = Run(LossZero)
    run.losses(1.0, 0.0)
    assert run.rest() == "F"
    assert run.said == "loss has been exactly 0 for 1 row, since step 20"


@settings(deadline=None, max_examples=100)
@given(stretches(0.0, -0.0, 1.0, math.nan, times=(1, 2, 19, 20)))
def test_fires_where_the_list_has_twenty_zeros(values: list[float]) -> None:
    """The first firing is on the first row whose last 20 losses are all 0."""
    run = Run(LossZero)
    run.losses(*values)
    zeros = prefixes(values, lambda some: running([x == 0 for x in some]) >= 20)
    fired = [t.mark.row for t in run.transitions if t.kind is TransitionKind.FIRING]
    assert fired[:1] == ([zeros.index(True) + 1] if True in zeros else [])
    assert len(fired) == sum(
        up and not before for up, before in zip(zeros, [False, *zeros], strict=False)
    )
