"""The sequence of steps tells a resume from a new start, and jitter from both."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core.rows import Row
from tailwatch.core.segments import Course, SegmentTracker

SAME, RESUMED, NEW = Course.SAME, Course.RESUMED, Course.NEW_SEGMENT


def loss_row(step: float, *, has_step: bool = True) -> Row:
    return Row(1, step, {"loss": 1.0}, 0, has_step=has_step)


def eval_row(step: float) -> Row:
    return Row(1, step, {"eval_loss": 1.0}, 0)


def courses(tracker: SegmentTracker, steps: Iterable[float]) -> list[Course]:
    return [tracker.update(loss_row(step)) for step in steps]


def after(steps: Iterable[float]) -> SegmentTracker:
    tracker = SegmentTracker()
    assert set(courses(tracker, steps)) <= {SAME}
    return tracker


@pytest.mark.parametrize(
    ("rows", "step", "expected"),
    [
        (10, 100, NEW),
        (10, 50, NEW),
        (10, 0, NEW),
        (9, 100, RESUMED),
        (9, 0, RESUMED),
        (30, 100, NEW),
        (30, 101, RESUMED),
        (30, 200, RESUMED),
    ],
)
def test_a_fall_to_the_first_step(rows: int, step: int, expected: Course) -> None:
    """At or below the segment's first step after 10 rows is a new segment; else a resume."""
    tracker = after(range(100, 100 + 10 * rows, 10))
    assert [expected] == courses(tracker, [step])


@pytest.mark.parametrize(
    ("fall", "expected"), [(0, SAME), (10, SAME), (20, SAME), (21, RESUMED), (50, RESUMED)]
)
def test_jitter_of_two_intervals_is_no_resume(fall: int, expected: Course) -> None:
    """A step that falls by at most two logging intervals is neither a resume nor a new start."""
    tracker = after(range(0, 300, 10))
    assert [expected] == courses(tracker, [290 - fall])


def test_a_new_segment_starts_afresh() -> None:
    """After a new start the first step and the ten rows are counted anew."""
    tracker = after(range(0, 300, 10))
    assert courses(tracker, [0]) == [NEW]
    assert courses(tracker, range(10, 80, 10)) == [SAME] * 7
    assert courses(tracker, [0]) == [RESUMED]
    assert courses(tracker, [10]) == [SAME]
    assert courses(tracker, [0]) == [NEW]


def test_a_resume_keeps_the_first_step() -> None:
    """A resumed run that later falls to its very first step begins a new segment."""
    tracker = after(range(100, 400, 10))
    assert courses(tracker, [200, 210, 220, 100]) == [RESUMED, SAME, SAME, NEW]


def test_evaluation_rows_do_not_drive() -> None:
    """Once losses came, rows without one change nothing, whatever stands as their step."""
    tracker = after(range(0, 300, 10))
    assert [tracker.update(eval_row(step)) for step in (1, 0, 10**6)] == [SAME] * 3
    assert courses(tracker, [300, 310]) == [SAME, SAME]


def test_steps_before_the_first_loss_are_forgotten() -> None:
    """A first row of another kind, far up in steps, makes no fall of the first loss row."""
    tracker = SegmentTracker()
    for _ in range(12):
        tracker.update(eval_row(10_000))
    assert courses(tracker, [1, 2, 3]) == [SAME] * 3


def test_a_file_without_losses_is_driven_by_what_it_has() -> None:
    """Where no row has a loss, the other rows' steps tell a new start."""
    tracker = SegmentTracker()
    rows = [eval_row(step) for step in [*range(12), 0]]
    assert [tracker.update(row) for row in rows] == [*[SAME] * 12, NEW]


def test_rows_without_a_step_drive_nothing() -> None:
    """A row number that stands in for a missing step is no step."""
    tracker = after(range(1000, 1300, 10))
    assert tracker.update(loss_row(31, has_step=False)) is SAME
    assert courses(tracker, [1300]) == [SAME]


@pytest.mark.parametrize(
    ("step", "expected"), [(300, SAME), (291, SAME), (290, NEW), (150, NEW), (0, NEW)]
)
def test_truncation(step: int, expected: Course) -> None:
    """In a file written anew, steps that go on are as before, all others a new segment."""
    tracker = after(range(0, 300, 10))
    tracker.source_restarted()
    assert courses(tracker, [step]) == [expected]
    assert courses(tracker, [step + 10]) == [SAME]


def test_truncation_without_steps() -> None:
    """A file written anew whose rows name no step is a new segment."""
    tracker = after(range(0, 300, 10))
    tracker.source_restarted()
    assert tracker.update(loss_row(1000, has_step=False)) is NEW


def test_truncation_before_any_row() -> None:
    """A file that was written anew before its first row has no segment to end."""
    tracker = SegmentTracker()
    tracker.source_restarted()
    assert courses(tracker, [5, 6]) == [SAME, SAME]


@settings(deadline=None, max_examples=200)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 40) | st.floats(0, 40), st.sampled_from(["loss", "eval", "none", "new"])
        ),
        max_size=60,
    ),
    st.data(),
)
def test_saving_is_invisible(acts: list[tuple[float, str]], data: st.DataObject) -> None:
    """A tracker rebuilt from its JSON state at any row goes on as the old one does."""
    kept = saved = SegmentTracker()
    for step, kind in acts:
        if kind == "new":
            kept.source_restarted()
            if saved is not kept:
                saved.source_restarted()
            continue
        if data.draw(st.booleans()):
            saved = SegmentTracker(**json.loads(json.dumps(kept.to_state(), allow_nan=False)))
        row = eval_row(step) if kind == "eval" else loss_row(step, has_step=kind == "loss")
        expected = kept.update(row)
        if saved is not kept:
            assert expected == saved.update(row)
            assert kept == saved
