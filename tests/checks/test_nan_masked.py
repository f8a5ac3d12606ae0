"""nan_masked in motion."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.checks.nan_masked import NanMasked
from tailwatch.core.findings import Mark
from tailwatch.core.rows import Row, RowKind
from tests.checks.lists import levels, running
from tests.checks.runs import Run

NAN, INF = math.nan, math.inf


def healthy(run: Run, count: int = 10) -> str:
    return "".join(run.row(loss=2.0 - n / 100, grad_norm=1.3 + n / 70) for n in range(count))


# 1. Zero beside a norm that is not finite.


@pytest.mark.parametrize(("norm", "shown"), [(NAN, "NaN"), (INF, "Infinity")])
def test_a_zero_beside_a_bad_norm(norm: float, shown: str) -> None:
    """A loss of 0 with a norm that is not finite fires on the row itself."""
    run = Run(NanMasked)
    assert healthy(run) + run.row(loss=0.0, grad_norm=norm) == "-" * 10 + "F"
    assert run.said == (
        f"loss is 0 and grad norm {shown} at step 110: a NaN loss that was written as 0"
    )
    assert run.transitions[0].evidence.mark == Mark(11, 110, 1100)


def test_from_the_first_row() -> None:
    """A run that was never healthy is found on its first row."""
    assert Run(NanMasked).row(loss=0.0, grad_norm=NAN) == "F"


def test_an_infinite_norm_beside_a_loss_is_a_skipped_step() -> None:
    """Under AMP a norm is infinite now and then; the loss is none the worse."""
    run = Run(NanMasked)
    for _ in range(30):
        assert healthy(run, 5) + run.row(loss=1.9, grad_norm=INF) == "-" * 6


@pytest.mark.parametrize("before", [0.0099, -0.02, 0.0])
def test_where_zeros_are_usual_one_proves_nothing(before: float) -> None:
    """In RL, or after losses near 0, a loss of 0 and a skipped step may meet by chance."""
    for run in (Run(NanMasked, rewarded=True), Run(NanMasked)):
        for _ in range(20):
            run.row(loss=before if abs(before) < 0.01 and before else 0.005, grad_norm=0.5)
            assert run.row(loss=0.0, grad_norm=INF) == "-"
            assert run.row(loss=0.0, grad_norm=0.5) == "-"


def test_after_a_loss_of_a_hundredth_zeros_are_not_usual() -> None:
    """0.01 is not rounded to 0 by anyone."""
    run = Run(NanMasked)
    assert run.row(loss=0.01, grad_norm=0.5) + run.row(loss=0.0, grad_norm=INF) == "-F"


def test_where_zeros_are_usual_three_rows_are_needed() -> None:
    """There the norm has to stay bad for 3 rows, and then it fires."""
    run = Run(NanMasked, rewarded=True)
    run.row(loss=-0.01, grad_norm=0.5)
    assert "".join(run.row(loss=0.0, grad_norm=NAN) for _ in range(3)) == "--F"


# 2. Zeros after losses that were none.


@pytest.mark.parametrize("norm", [{}, {"grad_norm": 0.0}, {"grad_norm": -1.0}])
def test_three_zeros_after_high_losses(norm: dict[str, float]) -> None:
    """A loss that was above 0.2 is 0 for 3 rows, and no norm says that all is well."""
    run = Run(NanMasked)
    run.losses(0.7, 0.21, 0.5)
    assert "".join(run.row(loss=0.0, **norm) for _ in range(3)) == "--F"
    assert run.said == (
        "loss has been exactly 0 for 3 rows up to step 60, after 0.5: a NaN that was written as 0"
    )


@pytest.mark.parametrize("low", [0.2, 0.1, -3.0])
def test_not_after_a_low_loss(low: float) -> None:
    """One loss of 0.2 or less among the last 5 that were not 0 makes zeros believable."""
    run = Run(NanMasked)
    assert run.losses(low, *[0.5] * 4, *[0.0] * 30) == "-" * 35
    run = Run(NanMasked)
    assert run.losses(low, *[0.5] * 5, *[0.0] * 3) == "-" * 8 + "F"


def test_not_from_the_first_row() -> None:
    """Zeros with nothing before them say nothing."""
    assert Run(NanMasked).losses(*[0.0] * 50) == "-" * 50


def test_not_with_a_healthy_norm() -> None:
    """A positive norm shows that there is a loss to learn from."""
    run = Run(NanMasked)
    healthy(run)
    assert "".join(run.row(loss=0.0, grad_norm=0.9) for _ in range(50)) == "-" * 50


def test_two_zeros_are_not_enough() -> None:
    """Two rows of 0 are rounding, or two easy batches."""
    run = Run(NanMasked)
    assert run.losses(*[0.5, 0.0, 0.0] * 20) == "-" * 60


# 3. Norms that stay at a root.


@pytest.mark.parametrize("square", range(1, 9))
@pytest.mark.parametrize("loss", [0.0, 1.0])
def test_a_norm_at_a_root(square: int, loss: float) -> None:
    """For 3 rows a norm of the root of a small whole number, and a loss that does not move."""
    run = Run(NanMasked)
    run.row(loss=1.0, grad_norm=0.7)
    edges = "".join(run.row(loss=loss, grad_norm=math.sqrt(square)) for _ in range(3))
    assert edges == "--F"
    assert f"the root of {square}, for 3 rows up to step 40" in run.said


@pytest.mark.parametrize(
    "norms",
    [
        [math.sqrt(2) + 1.1e-6] * 9,
        [math.sqrt(2) - 1.1e-6] * 9,
        [math.sqrt(9)] * 9,
        [0.0] * 9,
        [math.sqrt(2), math.sqrt(3)] * 5,
        [math.sqrt(2), math.sqrt(2), 1.7] * 5,
    ],
)
def test_other_norms_are_none(norms: list[float]) -> None:
    """Not within 1e-6, not of 1 to 8, or not the same for 3 rows."""
    run = Run(NanMasked)
    run.row(loss=1.0, grad_norm=0.7)
    assert "".join(run.row(loss=1.0, grad_norm=norm) for norm in norms) == "-" * len(norms)


def test_norms_that_were_clipped_at_one_are_healthy() -> None:
    """Some trainers log the norm after clipping: always 1, beside a loss that moves."""
    run = Run(NanMasked)
    said = "".join(run.row(loss=2.0 - n / 1000, grad_norm=1.0) for n in range(200))
    said += "".join(run.row(grad_norm=1.0) for _ in range(9))
    assert said == "-" * 209
    run = Run(NanMasked, rewarded=True)
    assert "".join(run.row(loss=0.0, grad_norm=1.0) for _ in range(50)) == "-" * 50


def test_rounded_losses_near_zero_may_stand_still() -> None:
    """0.0001 again and again beside a clipped norm is a loss that was rounded."""
    run = Run(NanMasked)
    assert "".join(run.row(loss=0.0001, grad_norm=1.0) for _ in range(50)) == "-" * 50


def test_a_root_within_a_millionth() -> None:
    """Single precision rounds a root a little."""
    run = Run(NanMasked)
    run.row(loss=1.0, grad_norm=0.7)
    norm = math.sqrt(2) + 9e-7
    assert "".join(run.row(loss=1.0, grad_norm=norm) for _ in range(3)) == "--F"


# 4. Null.


def test_a_loss_that_turns_null() -> None:
    """A loss that was a number in 5 rows is null in 2 rows running."""
    run = Run(NanMasked)
    run.losses(*[2.0] * 5)
    assert run.null_loss(grad_norm=1.0) + run.null_loss() == "-F"
    assert run.said == (
        "loss has been null for 2 rows up to step 70, after 5 rows with a number: "
        "a NaN that was written as null"
    )
    assert run.losses(*[2.0] * 20) == "-" * 19 + "R"


def test_four_numbers_are_too_few() -> None:
    """Before 5 numbers, nobody knows that the loss is one."""
    run = Run(NanMasked)
    run.losses(*[2.0] * 4, NAN)
    assert "".join(run.null_loss() for _ in range(50)) == "-" * 50


def test_one_null_is_none() -> None:
    """A single row without a loss, again and again, is none."""
    run = Run(NanMasked)
    run.losses(*[2.0] * 5)
    assert "".join(run.null_loss() + run.losses(2.0) for _ in range(30)) == "-" * 60


def test_the_step_has_to_advance() -> None:
    """Rows of the same step, that hold other things, are no rows of a loss."""
    run = Run(NanMasked)
    run.losses(*[2.0] * 5)
    for _ in range(50):
        run.step = 50
        assert run.null_loss(grad_norm=1.0) == "-"


def test_null_in_evaluations_is_none() -> None:
    """A log that always writes both keys has a null loss in each row of an evaluation."""
    run = Run(NanMasked)
    run.losses(*[2.0] * 5)
    for kind in (RowKind.EVAL, RowKind.OTHER, RowKind.END):
        assert "".join(run.other(kind, nulls=("loss",)) for _ in range(9)) == "-" * 9
    assert run.null_loss() == "-"


def test_a_loss_that_is_logged_now_and_then() -> None:
    """Where null stood between the first losses, only a longer stretch of it is news."""
    run = Run(NanMasked)
    for _ in range(40):
        assert run.losses(2.0) + "".join(run.null_loss() for _ in range(9)) == "-" * 10
    assert run.null_loss() + run.null_loss() == "-F"


# 5. Counters.


def test_a_counter_of_nan_iterations() -> None:
    """A count that grows fires at once; where it begins, and that it stays, is no news."""
    run = Run(NanMasked)
    counts = "".join(run.row(loss=2.0, nan_count=count) for count in (7.0, 7.0, 8.0, 8.0))
    assert counts == "--F-"
    assert run.said == "the trainer's count of NaN iterations grew from 7 to 8 at step 30"
    assert run.row(loss=2.0, nan_count=0.0) + run.row(loss=2.0, nan_count=NAN) == "--"


# What they have in common.


def test_the_diagnosis_never_goes_away() -> None:
    """Like a NaN that is shown, it stays in the diagnosis: the first row, and how many."""
    run = Run(NanMasked)
    healthy(run)
    run.row(loss=0.0, grad_norm=NAN)
    healthy(run, 5)
    run.row(loss=0.0, grad_norm=NAN)
    healthy(run, 500)
    assert run.evidence.message.startswith("loss is 0 and grad norm NaN at step 110")
    assert run.evidence.values == {"rows": 2}
    assert run.evidence.mark == Mark(11, 110, 1100)
    assert run.rest() == "-"


def test_it_goes_down_after_twenty_rows_and_continues_soon_after() -> None:
    """As a level it ends after 20 healthy rows; within 50 rows more it is the same finding."""
    run = Run(NanMasked)
    run.row(loss=0.0, grad_norm=NAN)
    assert healthy(run, 20) == "-" * 19 + "R"
    assert run.row(loss=0.0, grad_norm=NAN) == "C"
    assert healthy(run, 71)[19] == "R"
    assert run.row(loss=0.0, grad_norm=NAN) == "F"


def test_two_kinds_at_once_are_both_kept_in_mind() -> None:
    """A count that grows on a row of another kind is not told again on the next."""
    run = Run(NanMasked)
    run.row(loss=2.0, grad_norm=1.2, nan_count=0.0)
    assert run.row(loss=0.0, grad_norm=NAN, nan_count=1.0) == "F"
    assert run.row(loss=2.0, grad_norm=1.2, nan_count=1.0) == "-"
    assert run.evidence.values == {"rows": 1}


story = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.0, 2.0, 0.4, 0.1, 0.001, -1.0, NAN, "null", None]),
        st.sampled_from([None, None, 0.0, 1.0, math.sqrt(2), 1.3, NAN, INF]),
        st.sampled_from([None, None, 0.0, 1.0, 2.0]),
        st.sampled_from([1, 1, 2, 3, 5]),
    ),
    max_size=12,
)


def oracle(rows: list[Row], rewarded: bool) -> bool:
    """The five rules on the list of all rows so far, for the last of them."""
    last = rows[-1]
    with_loss = [r for r in rows if "loss" in r.values]
    losses = [r.values["loss"] for r in with_loss]
    loss, norm = last.values.get("loss"), last.values.get("grad_norm")

    def usual(upto: int) -> bool:
        seen = [x for x in losses[:upto] if math.isfinite(x) and x != 0][-5:]
        return rewarded or any(-0.01 < x < 0.01 for x in seen)

    if loss == 0:
        seen = [x for x in losses[:-1] if math.isfinite(x) and x != 0][-5:]
        bad = [
            r.values["loss"] == 0 and not math.isfinite(r.values.get("grad_norm", 1.0))
            for r in with_loss
        ]
        if running(bad) >= (3 if usual(len(losses) - 1) else 1):
            return True
        well = norm is not None and math.isfinite(norm) and norm > 0
        if running([x == 0 for x in losses]) >= 3 and seen and min(seen) > 0.2 and not well:
            return True
    if loss is not None and norm is not None:
        kept: list[int] = []
        for n, row in enumerate(with_loss):
            if "grad_norm" not in row.values:
                continue
            its, now = row.values["grad_norm"], losses[n]
            roots = [k for k in range(1, 9) if abs(its - math.sqrt(k)) <= 1e-6]
            still = now == 0 or (n > 0 and now == losses[n - 1])
            stuck = not math.isfinite(now) or (still and not usual(n))
            kept.append(roots[0] if roots and stuck else -len(kept) - 9)
        if len(kept) >= 3 and kept[-3] == kept[-2] == kept[-1]:
            return True
    if "loss" in last.nulls:
        numbers = [n for n, r in enumerate(rows) if math.isfinite(r.values.get("loss", NAN))]
        ends = [-1] + [n for n, r in enumerate(rows) if "loss" in r.values]
        gaps = [
            sum("loss" in r.nulls for r in rows[a + 1 : b]) for a, b in itertools.pairwise(ends)
        ]
        early = [
            g
            for g, b in zip(gaps, ends[1:], strict=False)
            if len([n for n in numbers if n < b]) < 5
        ]
        now_null = sum("loss" in r.nulls for r in rows[ends[-1] + 1 :])
        if len(numbers) >= 5 and now_null >= 2 + max(early, default=0):
            return True
    counts = [r.values["nan_count"] for r in rows if "nan_count" in r.values]
    return "nan_count" in last.values and len(counts) > 1 and counts[-1] > counts[-2]


@settings(deadline=None, max_examples=150)
@given(story, st.booleans())
def test_levels_are_those_of_the_lists(
    parts: list[tuple[float | str | None, float | None, float | None, int]], rewarded: bool
) -> None:
    """On each row the level is what the list of all rows gives."""
    rows: list[Row] = []
    for loss, norm, count, times in parts:
        for _ in range(times):
            values = {"loss": loss, "grad_norm": norm, "nan_count": count}
            numbers = {k: v for k, v in values.items() if isinstance(v, float)}
            nulls = ("loss",) if loss == "null" else ()
            n = len(rows) + 1
            rows.append(Row(n, n, numbers, 0, nulls=nulls, rewarded=rewarded))
    expected = [oracle(rows[:n], rewarded) for n in range(1, len(rows) + 1)]
    assert expected == levels(NanMasked(), rows)
