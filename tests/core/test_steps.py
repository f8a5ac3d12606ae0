"""Every row of a run stands on one axis of steps."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core.fields import FieldMap, Sources
from tailwatch.core.rows import make_row
from tailwatch.core.segments import Course, SegmentTracker
from tailwatch.core.steps import StepAxis


def place(records: list[dict[str, Any]]) -> list[tuple[float, bool]]:
    axis, fields, own = StepAxis(), FieldMap(), Sources()
    rows = [axis.place(make_row(r, fields, own, n, 0)) for n, r in enumerate(records, 1)]
    return [(row.step, row.has_step) for row in rows]


def test_iterations_within_an_epoch_run_on() -> None:
    """mmcv counts from the beginning of each epoch: the axis goes on over epochs."""
    records = [
        {"mode": "train", "epoch": epoch, "iter": iteration, "loss": 1.0}
        for epoch in (1, 2, 3)
        for iteration in (50, 100, 150)
    ]
    steps = [step for step, _ in place(records)]
    assert steps == [50, 100, 150, 200, 250, 300, 350, 400, 450]


def test_a_validation_row_of_another_count_takes_no_part() -> None:
    """Of mmcv's validation the iterations, of mmengine's the step counts something else."""
    mmcv = [
        {"mode": "train", "epoch": 1, "iter": 700, "loss": 1.0},
        {"mode": "val", "epoch": 1, "iter": 5000, "bbox_mAP": 0.1},
        {"mode": "train", "epoch": 2, "iter": 50, "loss": 1.0},
    ]
    assert place(mmcv) == [(700, True), (700, False), (750, True)]
    mmengine = [
        {"loss": 1.0, "step": 700},
        {"val_loss": 1.0, "step": 1},
        {"loss": 1.0, "step": 750},
    ]
    assert place(mmengine) == [(700, True), (700, False), (750, True)]


def test_an_evaluation_that_comes_late_keeps_its_step() -> None:
    """A model that was saved a while ago is evaluated beside the training."""
    assert place([{"loss": 1, "step": 700}, {"eval_loss": 1, "step": 500}])[1] == (500, True)


@pytest.mark.parametrize(
    ("epochs", "expected"),
    [
        ([0, 1, 2], [(0, True), (1, True), (2, True)]),
        ([0.01, 0.02, 1.0], [(1, False), (2, False), (3, False)]),
        ([1.0, 1.5, 2.0], [(1, True), (2, False), (3, False)]),
        # The first rows of a long epoch are rounded to a whole number.
        ([0.0, 0.0, 0.01, 0.01, 0.02], [(0, True), (0, True), (3, False), (4, False), (5, False)]),
    ],
)
def test_epochs_are_steps_only_if_whole(
    epochs: list[float], expected: list[tuple[float, bool]]
) -> None:
    """A row an epoch is counted in epochs; a rounded part of an epoch is no step."""
    assert expected == place([{"epoch": epoch, "loss": 1.0} for epoch in epochs])


def test_a_step_within_the_epoch_is_told_at_the_first_new_one() -> None:
    """Falling as the epoch rises, it began anew; having gone on over one, it never does."""
    anew = [{"epoch": e, "step": s, "loss": 1.0} for e in (0, 1, 2) for s in (10, 20, 30)]
    assert [step for step, _ in place(anew)] == [10, 20, 30, 40, 50, 60, 70, 80, 90]
    on = [{"epoch": e, "step": 10 * e, "loss": 1.0} for e in (1, 2, 3)]
    resumed = place([*on, {"epoch": 4, "step": 10, "loss": 1.0}])
    assert resumed[-1] == (10, True)
    evaluated = place([*anew, {"epoch": 2, "step": 60, "eval_loss": 1.0}])
    assert evaluated[-1] == (90, False)


def test_iterations_that_go_on_over_epochs() -> None:
    """A runner that counts iterations has an epoch beside them, too."""
    rows = [
        {"epoch": e, "iter": i, "loss": 1.0} for e, i in ((1, 50), (1, 100), (2, 150), (3, 200))
    ]
    assert [step for step, _ in place(rows)] == [50, 100, 150, 200]


def test_a_better_count_takes_over() -> None:
    """A step wins over an iteration within the epoch, and that over the epoch."""
    rows = [
        {"epoch": 1, "loss": 1.0},
        {"epoch": 1, "iter": 50, "loss": 1.0},
        {"epoch": 2, "iter": 50, "loss": 1.0},
        {"epoch": 3, "loss": 1.0},
        {"epoch": 3, "step": 500, "loss": 1.0},
        {"epoch": 4, "step": 600, "loss": 1.0},
        {"epoch": 5, "iter": 50, "loss": 1.0},
    ]
    steps = [
        (1, True),
        (50, True),
        (100, True),
        (100, False),
        (500, True),
        (600, True),
        (600, False),
    ]
    assert place(rows) == steps


def test_after_a_restart_of_its_source_no_row_has_an_old_step() -> None:
    """The first row of a new file is not placed at the end of the old one."""
    axis, fields, own = StepAxis(), FieldMap(), Sources()
    axis.place(make_row({"loss": 1.0, "step": 500}, fields, own, 1, 0))
    axis.source_restarted()
    row = axis.place(make_row({"eval_accuracy": 0.5, "step": 0}, fields, own, 2, 0))
    assert (row.step, row.has_step) == (0, True)


def test_evaluations_alone_are_counted_in_epochs() -> None:
    """A log without training has its epochs as steps."""
    assert place([{"epoch": n, "val_loss": 1.0} for n in (3, 4)]) == [(3, True), (4, True)]


def test_rows_without_any_step() -> None:
    """A run without steps counts its rows; one with steps keeps the last for a row without."""
    assert place([{"loss": 1.0}, {"loss": 1.0}]) == [(1, False), (2, False)]
    assert place([{"loss": 1.0, "step": 500}, {"grad_norm": 1.0}]) == [(500, True), (500, False)]


def test_appended_rerun_of_an_epoch_counter_is_a_new_segment() -> None:
    """The first epoch again, after ten rows or more: the trainer began anew."""
    once = [{"epoch": e, "iter": i, "loss": 1.0} for e in (1, 2, 3) for i in (50, 100, 150, 200)]
    assert courses(once * 2).count(Course.NEW_SEGMENT) == 1


def test_a_resume_at_an_earlier_epoch_is_one() -> None:
    """Back by an epoch from the third: a resume, at about the step of that epoch."""
    records = [{"epoch": e, "iter": i, "loss": 1.0} for e in (1, 2, 3) for i in (50, 100, 150)]
    again = [{"epoch": 3, "iter": i, "loss": 1.0} for i in (50, 100, 150)]
    assert [step for step, _ in place(records + again)][-3:] == [350, 400, 450]
    back = [{"epoch": 2, "iter": 50, "loss": 1.0}]
    assert place(records + back)[-1] == (200, True)
    assert courses(records + back)[-1] is Course.RESUMED


def courses(records: list[dict[str, Any]]) -> list[Course]:
    axis, fields, own, tracker = StepAxis(), FieldMap(), Sources(), SegmentTracker()
    rows = [axis.place(make_row(r, fields, own, n, 0)) for n, r in enumerate(records, 1)]
    return [tracker.update(row) for row in rows]


numbers = st.none() | st.integers(-3, 300) | st.floats()
records = st.fixed_dictionaries(
    {"loss": st.just(1.0)}, optional={"epoch": numbers, "iter": numbers, "step": numbers}
)


@given(st.lists(records, max_size=20), st.integers(0, 20))
@settings(deadline=None)
def test_save_and_restore_between_any_two_rows(rows: list[dict[str, Any]], cut: int) -> None:
    """Whatever the rows hold, every step is a finite number, and a restart changes none."""
    fields, own, axis = FieldMap(), Sources(), StepAxis()
    steps = []
    for number, record in enumerate(rows, 1):
        if number == cut:
            axis = StepAxis(**axis.to_state())
        steps.append(axis.place(make_row(record, fields, own, number, 0)).step)
    assert [step for step, _ in place(rows)] == steps
    assert all(abs(step) < float("inf") for step in steps)
