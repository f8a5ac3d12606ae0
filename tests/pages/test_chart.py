"""What is drawn of a curve: everything within the drawing, in its order, gaps as gaps."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core.curve import Curve, Mark
from tailwatch.core.rows import Row
from tailwatch.pages.chart import SIDE, Chart, chart, flags, place, spark, spark_of

NUMBERS = st.floats() | st.sampled_from([0.0, -1.0, 1e-300, 1e300, math.nan, math.inf, 5.0])


def curve_of(values: list[float | None], field: str = "loss", begin: int = 0) -> Curve:
    curve = Curve(begin)
    for n, value in enumerate(values, begin + 1):
        row = Row(n, n * 10, {} if value is None else {field: value}, 0)
        curve.update(row, curve.drawn(row))
    return curve


def drawn(values: list[float | None], **more: Any) -> Chart:
    curve = curve_of(values)
    return chart(curve, curve.series["loss"], **more)


def points(path: str) -> list[list[tuple[float, float]]]:
    """The points of each part of a path."""
    parts = [part for part in re.split("[Mz]", path) if part]
    return [[tuple(map(float, p.split(","))) for p in part.split()] for part in parts]  # type: ignore[misc]


@given(
    st.lists(st.none() | NUMBERS, min_size=1, max_size=400), st.sampled_from([None, True, False])
)
@settings(deadline=None)
def test_all_that_is_drawn_is_within_the_drawing(
    values: list[float | None], logarithmic: bool | None
) -> None:
    """Whatever the values, from left to right, and no number in the markup that is none."""
    if all(value is None for value in values):
        values.append(1.0)
    made = drawn(values, logarithmic=logarithmic)
    for part in points(made.line) + points(made.band):
        assert all(0 <= x <= SIDE and 0 <= y <= SIDE for x, y in part)
    for part in points(made.line):
        assert part == sorted(part)
    spots = [*made.dots, *[(bad.at, bad.width) for bad in made.bad]]
    assert all(0 <= x <= 100 and 0 <= y <= 100 for x, y in spots)
    assert all(0 <= tick.at <= 100 for tick in [*made.ticks, *made.steps])
    assert len(made.ticks) <= 6
    assert "nan" not in f"{made.line}{made.band}{made.dots}"
    assert "inf" not in f"{made.line}{made.band}{made.dots}"
    finite = any(v is not None and math.isfinite(v) for v in values)
    assert made.empty is not finite


def test_a_tick_that_was_rounded_out_of_the_drawing_is_none() -> None:
    """Around a single value on a logarithmic axis one digit is too coarse."""
    assert all(0 <= tick.at <= 100 for tick in drawn([1.5], logarithmic=True).ticks)


def test_higher_is_higher() -> None:
    """The greatest value is at the top and the least at the bottom; rows go to the right."""
    (line,) = points(drawn([1.0, 5.0, 3.0]).line)
    assert [x for x, _ in line] == [166.7, 500.0, 833.3]
    low, high, middle = (y for _, y in line)
    assert high < middle < low
    assert middle == (low + high) / 2


@pytest.mark.parametrize(
    ("values", "expected"),
    [([0.001, 5.0], True), ([1.0, 5.0], False), ([0.0, 5.0], False), ([-1.0, 500.0], False)],
)
def test_log_scale_where_it_helps(values: list[float | None], expected: bool) -> None:
    """Over a wide range, and never where there is no logarithm; who asks for linear has it."""
    assert drawn(values).logarithmic is expected
    assert not drawn(values, logarithmic=False).logarithmic
    assert drawn(values, logarithmic=True).logarithmic is (min(v or 0 for v in values) > 0)


def test_what_is_not_finite_breaks_the_line_and_is_said() -> None:
    """Rows of NaN are a place of their own, with how many and from where."""
    made = drawn([1.0, 1.1, math.nan, math.inf, 1.2, 1.3])
    assert [len(part) for part in points(made.line)] == [2, 2]
    (bad,) = made.bad
    assert (bad.at, bad.width) == (33.33, 33.34)
    assert bad.label == "2 rows not finite, from step 30"
    assert made.last == "1.3"


def test_a_value_between_two_breaks_is_a_dot() -> None:
    """A line of one point could not be seen."""
    made = drawn([1.0, math.nan, 2.0, math.nan, 1.0, 1.0])
    assert [x for x, _ in made.dots] == [8.33, 41.67]
    assert [len(part) for part in points(made.line)] == [2]


def test_a_rare_field_is_connected_and_a_gap_is_not() -> None:
    """Every tenth row is how an evaluation comes; a third of the run without any is a gap."""
    rare = [1.0 if n % 10 == 0 else None for n in range(100)]
    assert len(points(drawn([1.0, *rare]).line)) == 1
    gap = [1.0 if n < 30 or n > 60 else None for n in range(90)]
    assert [len(part) for part in points(drawn(gap).line)] == [30, 29]


def test_a_new_segment_begins_a_new_line() -> None:
    """The loss of a new start is not connected with that of the one before; a resume's is."""
    curve = Curve()
    for n in range(1, 31):
        row = Row(n, n, {"loss": 1.0}, 0)
        if n in (11, 21):
            curve.mark(row, "resume" if n == 11 else "segment")
        curve.update(row, curve.drawn(row))
    assert [len(p) for p in points(chart(curve, curve.series["loss"]).line)] == [20, 10]
    assert [tuple(flag) for flag in flags(curve, curve.marks)] == [
        (33.33, "resume", "resumed at step 11"),
        (66.67, "segment", "new segment at step 21"),
    ]


def test_wide_buckets_are_a_band_and_single_rows_are_not() -> None:
    """The band shows what is between the least and the greatest of the rows of a point."""
    assert drawn([1.0, 2.0]).band == ""
    made = drawn([1.0, 2.0] * 500)
    (band,) = points(made.band)
    assert {y for _, y in band} == {100.0, 960.0}


def test_places_are_counted_from_the_first_row_shown() -> None:
    """A curve that began late has its first row at the left, and marks before it nowhere."""
    curve = curve_of([1.0] * 10, begin=1000)
    assert place(curve, 0) == 5.0
    assert place(curve, 9) == 95.0
    assert flags(curve, [Mark(500, 500, "resume")]) == []


def test_the_axis_ends_with_the_last_step() -> None:
    """The first row's step at the left, the last row's at the right, though buckets are wide."""
    steps = drawn([1.0] * 999).steps
    assert (steps[0].label, steps[-1].label, len(steps)) == ("10", "9990", 5)


def test_ticks_are_round() -> None:
    """Values that a person would choose."""
    assert [tick.label for tick in drawn([0.13, 3.9]).ticks] == ["1", "2", "3"]
    assert [tick.label for tick in drawn([1e-5, 0.9]).ticks][-1] == "0.1"
    assert [tick.label for tick in drawn([2e-4, 2e-4]).ticks]


def test_sparks() -> None:
    """The loss in the small, of a curve or of a few values; none of a run without a loss."""
    assert spark(curve_of([1.0], "grad_norm")) == ("", "", False)
    _, line, broken = spark(curve_of([1.0, 2.0, math.nan]))
    assert (len(points(line)[0]), broken) == (2, True)
    assert len(points(spark_of([1.0, 1e300, -1e300]))[0]) == 3
    assert spark_of([1.0]) == ""
