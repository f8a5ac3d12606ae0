"""lr_zero in motion."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.checks.lr_zero import LrZero
from tailwatch.core.check import RunConfig
from tailwatch.core.findings import Mark
from tailwatch.core.rows import Row
from tests.checks.lists import levels
from tests.checks.runs import Run


def rates(run: Run, *values: float, planned: float | None = None) -> str:
    plan = {} if planned is None else {"planned_steps": planned}
    return "".join(run.row(learning_rate=value, **plan) for value in values)


def test_fires_on_the_third_row() -> None:
    """Three rows of a rate of 0, well before the planned end."""
    run = Run(LrZero)
    assert rates(run, *[1e-4] * 5, *[0.0] * 3, planned=1000) == "-" * 7 + "F"
    assert run.said == "learning rate has been 0 since step 60, at 8% of the planned steps"
    evidence = run.transitions[0].evidence
    assert evidence.values == {"learning_rate": 0.0, "peak": 1e-4}
    assert Mark(6, 60, 600) == evidence.mark


@pytest.mark.parametrize("zeros", [3, 4, 5])
def test_a_warm_up_from_zero_is_normal(zeros: int) -> None:
    """The first 3 rows do not count, so 5 zeros at the start are none."""
    run = Run(LrZero)
    assert rates(run, *[0.0] * zeros, *[1e-4] * 20, planned=1000) == "-" * (zeros + 20)


def test_a_rate_that_is_never_set() -> None:
    """Where the plan is known, a rate of 0 from the beginning is found."""
    run = Run(LrZero)
    assert rates(run, *[0.0] * 6, planned=1000) == "-----F"


@pytest.mark.parametrize(("planned", "edge"), [(102, "-"), (103, "F")])
def test_near_the_planned_end_it_is_normal(planned: int, edge: str) -> None:
    """From 98% of the planned steps on, a rate of 0 is the end of the schedule."""
    run = Run(LrZero)
    rates(run, *[1e-4] * 7, 0.0, 0.0, planned=planned)
    assert edge == rates(run, 0.0, planned=planned)


def test_the_plan_of_the_configuration_counts() -> None:
    """The planned steps may stand in the run's configuration."""
    assert rates(Run(LrZero, planned_steps=1000), *[1e-4] * 5, *[0.0] * 3)[-1] == "F"
    assert rates(Run(LrZero, planned_steps=80), *[1e-4] * 5, *[0.0] * 3)[-1] == "-"


def test_a_percentage_counts() -> None:
    """A trainer that logs how far it is need not log the planned steps."""
    run = Run(LrZero)
    rates(run, *[1e-4] * 5)
    said = "".join(run.row(learning_rate=0.0, percent=40.0) for _ in range(3))
    assert said == "--F"
    assert run.said == "learning rate has been 0 since step 60, at 40% of the planned steps"


def test_a_schedule_that_comes_down_is_normal_where_no_plan_is_known() -> None:
    """Cosine to 0, and a few rows more, in a run of unknown length."""
    cosine = [1e-4 * (1 + math.cos(math.pi * n / 100)) / 2 for n in range(101)]
    assert rates(Run(LrZero), *cosine, *[0.0] * 20) == "-" * 121


@pytest.mark.parametrize(("last", "edge"), [(0.05, "-"), (0.051, "F")])
def test_a_rate_that_falls_to_zero_at_once(last: float, edge: str) -> None:
    """Without a plan, only a fall from more than a twentieth of the peak is none of a schedule."""
    run = Run(LrZero)
    assert edge == rates(run, *[1.0] * 5, last, *[0.0] * 3)[-1]
    if edge == "F":
        assert run.said == "learning rate has been 0 since step 70"


def test_it_is_over_after_three_rows() -> None:
    """Two rows with a rate do not end it, the third running does; soon after it continues."""
    run = Run(LrZero)
    rates(run, *[1e-4] * 5, *[0.0] * 3, planned=1000)
    assert rates(run, 1e-4, 1e-4, 0.0, *[1e-4] * 3, planned=1000) == "-----R"
    assert rates(run, *[0.0] * 3, planned=1000) == "--C"


@pytest.mark.parametrize("rate", [1e-300, -1e-9, math.nan, math.inf])
def test_only_zero_is_zero(rate: float) -> None:
    """A rate that is tiny, negative or not finite is another matter."""
    assert rates(Run(LrZero), *[1e-4] * 5, *[rate] * 9, planned=1000) == "-" * 14


def test_rows_without_a_rate_do_not_matter() -> None:
    """Other rows neither break it nor clear it."""
    run = Run(LrZero)
    rates(run, *[1e-4] * 5, planned=1000)
    said = "".join(
        rates(run, 0.0, planned=1000) + run.losses(2.0) + run.evaluation(eval_loss=1.0)
        for _ in range(3)
    )
    assert said == "-" * 6 + "F--"


@settings(deadline=None, max_examples=150)
@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 1e-4, 1e-5, 1e-6, math.nan]), st.integers(1, 5)),
        max_size=8,
    ),
    st.sampled_from([None, 10, 30, 1000]),
)
def test_levels_are_those_of_the_lists(
    parts: list[tuple[float, int]], planned: int | None
) -> None:
    """On each row the level is what the list of all rates gives."""
    values = [rate for rate, count in parts for _ in range(count)]
    check = LrZero()
    check.configure(RunConfig(planned_steps=planned))
    rows = [Row(n, n, {"learning_rate": rate}, 0) for n, rate in enumerate(values, 1)]
    expected = []
    for n, rate in enumerate(values, 1):
        positive = [x for x in values[:n] if x > 0]
        fell = bool(positive) and positive[-1] > 0.05 * max(positive)
        early = n / planned < 0.98 if planned else fell
        expected.append(rate == 0 and n > 3 and early)
    assert expected == levels(check, rows)
