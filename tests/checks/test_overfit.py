"""overfit in motion."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.checks.overfit import Overfit
from tailwatch.core.check import SETS_MAX
from tailwatch.core.rows import Row
from tests.checks.lists import above, levels, mean
from tests.checks.runs import Run

NAN = math.nan


def epoch(run: Run, loss: float, **evals: float) -> str:
    """One training row and one evaluation; the edges of both."""
    return (run.losses(loss) + run.evaluation(**evals)).replace("--", "-")


def test_three_evaluations_above_the_best() -> None:
    """The third evaluation without a new best fires, if it is 5% above it."""
    run = Run(Overfit)
    edges = [
        epoch(run, 2.0 - n / 10, eval_loss=x) for n, x in enumerate([1.5, 1.0, 1.1, 1.2, 1.3])
    ]
    assert edges == ["-", "-", "-", "-", "-F"]
    assert (
        run.said == "eval_loss 1.3 at step 100 is above its best, 1 at step 40, for 3 evaluations"
    )
    assert run.transitions[0].evidence.values == {"best": 1.0, "best_step": 40}


@pytest.mark.parametrize(
    ("best", "last", "edge"),
    [
        (10.0, 10.5, "-"),
        (1.0, 1.051, "-F"),
        (0.1, 0.119, "-"),
        (0.1, 0.121, "-F"),
        (-1.0, -0.96, "-"),
        (-1.0, -0.94, "-F"),
    ],
)
def test_by_more_than_five_percent_and_two_hundredths(best: float, last: float, edge: str) -> None:
    """Both are strict, and both are asked."""
    run = Run(Overfit)
    for n, x in enumerate([best, best, best]):
        epoch(run, 2.0 - n / 10, eval_loss=x)
    assert edge == epoch(run, 1.0, eval_loss=last)


def test_not_while_training_gets_worse_too() -> None:
    """Where the training loss rises as well, it is no overfitting."""
    run = Run(Overfit)
    losses = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5]
    assert [epoch(run, 1.0 + x, eval_loss=x) for x in losses] == ["-"] * 6


def test_not_without_training_losses() -> None:
    """A log of evaluations alone says nothing of training."""
    run = Run(Overfit)
    assert "".join(run.evaluation(eval_loss=x) for x in (1.0, 2.0, 3.0, 4.0, 5.0)) == "-----"


def test_a_new_best_ends_it() -> None:
    """Once found it stands, whatever comes, until there is a new best."""
    run = Run(Overfit)
    for n, x in enumerate([1.0, 1.2, 1.3, 1.4]):
        epoch(run, 2.0 - n / 10, eval_loss=x)
    assert [epoch(run, 1.0, eval_loss=x) for x in (1.01, 1.0)] == ["-", "-"]
    assert run.losses(*[1.0] * 50) == "-" * 50
    assert run.evaluation(eval_loss=0.99) == "R"


@pytest.mark.parametrize(("loss", "evaluated", "edge"), [
    (0.2, 0.71, "-F"), (0.2, 0.7, "-"), (0.3, 3.0, "-"), (0.29, 3.0, "-F"), (-0.1, 3.0, "-"),
])  # fmt: skip
def test_the_gap(loss: float, evaluated: float, edge: str) -> None:
    """A training loss below 0.3 and an evaluation more than 0.5 above it: at the first one."""
    run = Run(Overfit)
    run.losses(*[loss] * 3)
    assert edge == epoch(run, loss, eval_loss=evaluated)
    if "F" in edge:
        assert run.said == (
            f"eval_loss {evaluated:g} at step 50 is far above the training loss, {loss:g}"
        )


@pytest.mark.parametrize(("rows", "edge"), [(6, "-"), (7, "F")])
def test_the_gap_is_to_the_smoothed_training_loss(rows: int, edge: str) -> None:
    """A few easy batches are no memory of the data: the mean has to come below 0.3."""
    run = Run(Overfit)
    run.losses(*[0.5] * 20, *[0.1] * rows)
    assert edge == run.evaluation(eval_loss=1.0)


def test_a_gap_that_stays_is_not_over_with_a_new_best() -> None:
    """A new best that is still far above the training loss changes nothing."""
    run = Run(Overfit)
    epoch(run, 0.1, eval_loss=2.0)
    assert epoch(run, 0.1, eval_loss=1.9) == "-"
    assert epoch(run, 0.1, eval_loss=0.5) == "-R"


def test_sets_are_kept_apart() -> None:
    """Each set has its own best; the finding speaks of the first and counts the others."""
    run = Run(Overfit)
    edges = [
        epoch(
            run, 2.0 - n / 10, eval_a_loss=3.0 - n / 10, eval_b_loss=1.0 + n, eval_c_loss=2.0 + n
        )
        for n in range(4)
    ]
    assert edges == ["-", "-", "-", "-F"]
    assert "(and of 1 more set)" in run.said
    values = run.transitions[0].evidence.values
    shown = f"its best, {values['best']:g} at step"
    assert shown in run.said
    assert run.evaluation(eval_b_loss=0.5) + run.evaluation(eval_c_loss=0.5) == "-R"


def test_a_resume_forgets_the_evaluations_since_the_best() -> None:
    """They were of a model that is gone: the count begins anew."""
    run = Run(Overfit)
    for n, x in enumerate([1.0, 1.2, 1.3]):
        epoch(run, 2.0 - n / 10, eval_loss=x)
    run.other(loss=1.9, resumed_from=60)
    assert [epoch(run, 1.0, eval_loss=x) for x in (1.4, 1.4, 1.4)] == ["-", "-", "-F"]


def test_a_resume_before_the_best_forgets_it() -> None:
    """A best of the part that was lost is no measure for what is trained anew."""
    run = Run(Overfit)
    for n, x in enumerate([1.5, 1.0, 1.2, 1.3, 1.4]):
        epoch(run, 2.0 - n / 10, eval_a_loss=x, eval_b_loss=x + 1)
    assert len(run.transitions) == 1
    run.step = 25
    assert run.other(loss=1.9, resumed_from=100) == "R"
    run.step = 30
    assert run.evaluation(eval_a_loss=1.4) == "-"
    assert [epoch(run, 1.0, eval_a_loss=x) for x in (1.45, 1.42, 1.41)] == ["-"] * 3


def test_values_that_are_not_finite_are_passed() -> None:
    """A NaN is no evaluation here, and no training loss."""
    run = Run(Overfit)
    for n, x in enumerate([1.0, NAN, 1.2, NAN, 1.3, math.inf]):
        run.losses(NAN)
        assert epoch(run, 2.0 - n / 10, eval_loss=x) == "-"
    assert epoch(run, 1.0, eval_loss=1.4) == "-F"


def test_not_in_reinforcement_learning() -> None:
    """There losses say nothing."""
    run = Run(Overfit, rewarded=True)
    assert [epoch(run, 0.1, eval_loss=1.0 + n) for n in range(9)] == ["-"] * 9


def test_sets_are_bounded() -> None:
    """Beyond 32 sets none is looked at."""
    run = Run(Overfit)
    for n in range(6):
        epoch(run, 2.0 - n / 10, **{f"eval_{k}_loss": 1.0 + n for k in range(3 * SETS_MAX)})
    assert len(run.monitor.watched[0].check.to_state()["sets"]) == SETS_MAX


def oracle(events: list[tuple[str, float]]) -> bool:
    """One set, on the list of all training losses and evaluations so far."""
    losses: list[float] = []
    evaluated: list[tuple[float, float]] = []
    trouble = False
    for kind, value in events:
        if kind == "loss":
            losses.append(value)
            continue
        evaluated.append((value, mean(losses, 0.1) if losses else 0.0))
        values = [x for x, _ in evaluated]
        best = values.index(min(values))
        now = evaluated[-1][1]
        gap = bool(losses) and now > 0 and above(0.3, now) and above(value, now + 0.5)
        if best == len(values) - 1:
            trouble = gap
            continue
        rise = above(value - min(values), max(0.05 * abs(min(values)), 0.02))
        falls = bool(losses) and (now == evaluated[best][1] or above(evaluated[best][1], now))
        trouble = trouble or gap or (len(values) - 1 - best >= 3 and rise and falls)
    return trouble


@settings(deadline=None, max_examples=100)
@given(
    st.lists(
        st.tuples(st.just("loss"), st.sampled_from([0.1, 0.21, 0.4, 1.3, 2.2]))
        | st.tuples(st.just("eval"), st.sampled_from([0.31, 0.85, 0.9, 1.0, 1.03, 1.2, 2.7])),
        max_size=30,
    )
)
def test_levels_are_those_of_the_lists(events: list[tuple[str, float]]) -> None:
    """On each row the level is what the lists of losses and evaluations give."""
    rows = [
        Row(n, n, {"loss": x}, 0)
        if kind == "loss"
        else Row(n, n, {"eval_loss": x}, 0, evals={"eval_loss": x})
        for n, (kind, x) in enumerate(events, 1)
    ]
    expected = [oracle(events[:n]) for n in range(1, len(events) + 1)]
    assert expected == levels(Overfit(), rows)
