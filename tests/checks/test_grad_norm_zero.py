"""grad_norm_zero in motion."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.checks.grad_norm_zero import GradNormZero
from tailwatch.core.findings import Mark
from tailwatch.core.rows import Row
from tests.checks.lists import levels
from tests.checks.runs import Run

NAN, INF = math.nan, math.inf


def norms(run: Run, *values: float, rate: float = 1e-4) -> str:
    return "".join(run.row(grad_norm=value, learning_rate=rate) for value in values)


def test_fires_on_the_fifth_row_after_the_first_three() -> None:
    """The first 3 rows do not count; then 5 running fire and name the first that counted."""
    run = Run(GradNormZero)
    assert norms(run, *[0.0] * 8) == "-" * 7 + "F"
    assert run.said == (
        "grad norm is 0 at step 80, nearly zero since step 40, while the learning rate is above 0"
    )
    assert run.transitions[0].evidence.mark == Mark(4, 40, 400)


@pytest.mark.parametrize(
    ("norm", "edge"), [(1e-7, "F"), (math.nextafter(1e-7, 1), "-"), (NAN, "-"), (INF, "-")]
)
def test_the_limit_counts(norm: float, edge: str) -> None:
    """Exactly 1e-7 is still nearly zero; a norm that is not finite is not."""
    run = Run(GradNormZero)
    norms(run, *[0.0] * 7)
    assert edge == norms(run, norm)


def test_four_rows_are_not_enough() -> None:
    """A norm above the limit begins the count anew."""
    run = Run(GradNormZero)
    assert norms(run, *[1.0] * 3, *([0.0] * 4 + [1.0]) * 5) == "-" * 28


@pytest.mark.parametrize("rate", [0.0, -1.0, NAN])
def test_without_a_rate_it_is_no_wonder(rate: float) -> None:
    """While the learning rate is not above 0, gradients of zero are another matter."""
    run = Run(GradNormZero)
    assert norms(run, *[0.0] * 30, rate=rate) == "-" * 30


def test_the_newest_rate_counts() -> None:
    """A rate that is logged now and then is known until the next one."""
    run = Run(GradNormZero)
    norms(run, 1.0, rate=0.0)
    assert run.feed("grad_norm", [0.0] * 20) == "-" * 20
    norms(run, 0.0, rate=1e-4)
    assert run.feed("grad_norm", [0.0] * 4) == "---F"


def test_where_no_rate_is_logged_there_is_one() -> None:
    """A trainer that logs no rate is taken to have one."""
    run = Run(GradNormZero)
    assert run.feed("grad_norm", [0.0] * 8)[-1] == "F"


def test_it_is_over_after_five_rows() -> None:
    """4 norms above the limit do not end it, the 5th running does."""
    run = Run(GradNormZero)
    norms(run, *[0.0] * 8)
    assert norms(run, *[1.0] * 4, 0.0, *[1.0] * 5) == "-" * 9 + "R"


def test_not_in_reinforcement_learning() -> None:
    """There equal rewards give gradients of zero, which another check tells."""
    run = Run(GradNormZero, rewarded=True)
    assert norms(run, *[0.0] * 30) == "-" * 30


def test_evaluations_between_do_not_matter() -> None:
    """Rows without a norm neither count nor break it."""
    run = Run(GradNormZero)
    said = "".join(norms(run, 0.0) + run.evaluation(eval_loss=1.0) for _ in range(8))
    assert said == "-" * 14 + "F-"


pairs = st.tuples(
    st.sampled_from([0.0, 1e-8, -1e-8, 1.0, NAN]),
    st.sampled_from([None, 0.0, 1e-4, NAN, INF, 1e308]),
)


@settings(deadline=None, max_examples=100)
@given(st.lists(pairs, max_size=20))
def test_levels_are_those_of_the_lists(story: list[tuple[float, float | None]]) -> None:
    """From the 4th row on: a norm of nearly zero, and the newest logged rate above 0."""
    rows, expected = [], []
    for n, (norm, rate) in enumerate(story, 1):
        values = {"grad_norm": norm} | ({} if rate is None else {"learning_rate": rate})
        rows.append(Row(n, n, values, 0))
        newest = [r for _, r in story[:n] if r is not None][-1:] or [1.0]
        expected.append(n > 3 and -1e-7 <= norm <= 1e-7 and newest[0] > 0)
    assert expected == levels(GradNormZero(), rows)
