"""nan_loss in motion."""

from __future__ import annotations

import math

import pytest

from tailwatch.checks.nan_loss import NanLoss
from tailwatch.core.findings import Mark
from tests.checks.runs import Run

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(("bad", "shown"), [(NAN, "NaN"), (INF, "Infinity"), (-INF, "-Infinity")])
def test_fires_on_the_row_itself(bad: float, shown: str) -> None:
    """One loss that is not finite fires at once, and says which, where, and what was before."""
    run = Run(NanLoss)
    assert run.losses(2.5, 2.4, bad) == "--F"
    evidence = run.transitions[0].evidence
    assert f"loss is {shown} at step 30; the last finite loss was 2.4" == evidence.message
    assert Mark(3, 30, 300) == evidence.mark


def test_a_run_that_is_never_finite() -> None:
    """A NaN in the first row fires, and says that there was nothing finite before it."""
    run = Run(NanLoss)
    assert run.losses(NAN, NAN) == "F-"
    expected = "loss is NaN at step 10; no loss before it was finite"
    assert expected == run.transitions[0].evidence.message


def test_goes_down_after_twenty_finite_losses() -> None:
    """19 finite losses do not end it, the 20th running does."""
    run = Run(NanLoss)
    assert run.losses(NAN, *[2.0] * 19, NAN, *[2.0] * 20) == "F" + "-" * 39 + "R"


def test_rows_without_a_loss_do_not_clear_it() -> None:
    """Evaluation rows between do not count towards the 20."""
    run = Run(NanLoss)
    run.losses(NAN, *[2.0] * 19)
    assert "".join(run.row(eval_loss=2.0) for _ in range(50)) == "-" * 50
    assert run.losses(2.0) == "R"


def test_a_second_nan_soon_continues() -> None:
    """A NaN within 50 rows of resolving continues the old finding: nobody is told again."""
    run = Run(NanLoss)
    run.losses(NAN, *[2.0] * 20)
    assert run.losses(NAN) == "C"


@pytest.mark.parametrize(("finite", "edge"), [(49, "C"), (50, "F"), (200, "F")])
def test_a_second_nan_later_counts_anew(finite: int, edge: str) -> None:
    """On the 50th row after resolving it still continues, from the 51st on it is a new finding."""
    run = Run(NanLoss)
    run.losses(NAN, *[2.0] * 20, *[2.0] * finite)
    assert edge == run.losses(NAN)


def test_the_diagnosis_never_goes_away() -> None:
    """However long the loss has been finite again, the diagnosis names the first NaN and counts."""
    run = Run(NanLoss)
    run.losses(2.0, INF, 2.0, NAN, *[2.0] * 500)
    assert run.evidence.message == "loss is Infinity at step 20, the first of 2 such rows"
    assert run.evidence.values == {"loss": INF, "rows": 2}
    assert run.rest() == "-"


def test_a_bad_grad_norm_is_not_its_business() -> None:
    """A NaN grad norm alone, or a NaN evaluation loss, is no NaN loss."""
    run = Run(NanLoss)
    assert run.row(loss=2.0, grad_norm=NAN) + run.row(eval_loss=NAN) == "--"
    assert run.findings == []
