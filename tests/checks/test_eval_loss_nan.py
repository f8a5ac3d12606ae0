"""eval_loss_nan in motion."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.checks.eval_loss_nan import EvalLossNan
from tailwatch.core.check import SETS_MAX
from tailwatch.core.findings import Mark
from tailwatch.core.rows import Row, RowKind
from tests.checks.lists import levels
from tests.checks.runs import Run

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(("bad", "shown"), [(NAN, "NaN"), (INF, "Infinity")])
def test_fires_at_once_and_ends_with_the_next_finite(bad: float, shown: str) -> None:
    """One evaluation is enough to fire, and one to resolve."""
    run = Run(EvalLossNan)
    assert run.evaluation(eval_loss=1.0) + run.evaluation(eval_loss=bad) == "-F"
    assert run.said == f"eval_loss is {shown} at step 20"
    assert run.transitions[0].evidence.mark == Mark(2, 20, 200)
    assert run.evaluation(eval_loss=bad) + run.evaluation(eval_loss=1.0) == "-R"


def test_sets_are_kept_apart() -> None:
    """A finite loss of another set ends nothing."""
    run = Run(EvalLossNan)
    assert run.evaluation(eval_a_loss=NAN) + run.evaluation(eval_b_loss=1.0) == "F-"
    assert run.evaluation(eval_a_loss=1.0, eval_b_loss=1.0) == "R"
    assert run.evaluation(eval_a_loss=NAN, eval_b_loss=NAN) == "C"
    assert run.said == "eval_a_loss is NaN at step 40 (and of 1 more set)"


def test_training_rows_between_do_not_matter() -> None:
    """A NaN of training is another matter, and a finite loss of training clears nothing."""
    run = Run(EvalLossNan)
    assert run.losses(NAN, 2.0) == "--"
    assert run.evaluation(eval_loss=NAN) + run.losses(*[2.0] * 30) == "F" + "-" * 30


def test_an_evaluation_in_a_training_row_counts() -> None:
    """Some trainers write the evaluation into the row of the step."""
    run = Run(EvalLossNan)
    assert run.other(RowKind.TRAIN, loss=2.0, evals={"val_loss": NAN}) == "F"


def test_sets_are_bounded() -> None:
    """Beyond 32 sets in trouble none is remembered, and all can still recover."""
    run = Run(EvalLossNan)
    names = [f"eval_{n}_loss" for n in range(3 * SETS_MAX)]
    run.evaluation(**dict.fromkeys(names, NAN))
    assert len(run.monitor.watched[0].check.to_state()["bad"]) == SETS_MAX
    assert run.evaluation(**dict.fromkeys(names, 1.0)) == "R"


evaluations = st.lists(
    st.dictionaries(st.sampled_from("abc"), st.sampled_from([1.0, NAN, INF]), min_size=1),
    max_size=12,
)


@settings(deadline=None, max_examples=100)
@given(evaluations)
def test_levels_are_those_of_the_lists(story: list[dict[str, float]]) -> None:
    """The level is up while the newest loss of any set is not finite."""
    rows, expected, newest = [], [], dict[str, float]()
    for n, evals in enumerate(story, 1):
        rows.append(Row(n, n, {"eval_loss": next(iter(evals.values()))}, 0, evals=evals))
        newest |= evals
        expected.append(not all(math.isfinite(x) for x in newest.values()))
    assert expected == levels(EvalLossNan(), rows)
