"""run_resumed in motion."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.checks.run_resumed import RunResumed
from tailwatch.core.findings import Mark
from tailwatch.core.rows import Row
from tests.checks.lists import levels
from tests.checks.runs import Run


def steps(run: Run, *values: float) -> str:
    edges = ""
    for step in values:
        run.step = step
        edges += run.losses(1.0)
    return edges


def test_a_step_that_fell_back() -> None:
    """It is told on the row itself, with both steps, and is over with the next row."""
    run = Run(RunResumed, segments=True)
    assert steps(run, *range(4000, 5060, 10)) == "-" * 106
    assert steps(run, 4100) == "F"
    assert run.said == (
        "training went on at step 4100, after step 5050: resumed from a saved model"
    )
    evidence = run.transitions[0].evidence
    assert evidence.values == {"step": 4100, "step_before": 5050}
    assert Mark(107, 4100, 10700) == evidence.mark
    assert steps(run, 4110) == "R"


def test_each_resume_is_told() -> None:
    """A second one soon after is a new fact, and no continuation."""
    run = Run(RunResumed, segments=True)
    steps(run, *range(10, 200, 10))
    assert steps(run, 100, 110, 120, 90, 100) == "FR-FR"


def test_a_restart_from_the_first_step_is_none() -> None:
    """That begins a new segment."""
    run = Run(RunResumed, segments=True)
    assert steps(run, *range(10, 200, 10), *range(10, 200, 10)) == "-" * 38


def test_a_row_that_came_late_is_none() -> None:
    """Falling back by an interval or two is no resume."""
    run = Run(RunResumed, segments=True)
    assert steps(run, *range(10, 200, 10), 170, 180, 200, 180) == "-" * 23


def test_evaluations_that_count_otherwise_are_none() -> None:
    """Only training rows tell where training is."""
    run = Run(RunResumed, segments=True)
    for step in range(10, 200, 10):
        assert steps(run, step) == "-"
        run.step = 1
        assert run.evaluation(eval_loss=1.0) == "-"


@settings(deadline=None, max_examples=50)
@given(st.lists(st.none() | st.integers(1, 99), max_size=20))
def test_levels_are_those_of_the_rows(story: list[int | None]) -> None:
    """The level is up on the very rows that say so."""
    rows = [Row(n, n, {}, 0, resumed_from=before) for n, before in enumerate(story, 1)]
    assert [before is not None for before in story] == levels(RunResumed(), rows)
