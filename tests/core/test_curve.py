"""The curve: the same rows give the same curve, nothing extreme is lost, and it stays small."""

from __future__ import annotations

import json
import math
import random
import struct
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.checks import CHECKS
from tailwatch.core.curve import BAD_MAX, BUCKETS_MAX, FIELDS, FLOAT_MAX, MARKS_MAX, Curve, Point
from tailwatch.core.reader import RunReader
from tailwatch.core.rows import Row
from tailwatch.packing import pack, unpack

VALUES = st.floats() | st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 1e300, -1e300, 1e-300])
ROWS = st.lists(st.dictionaries(st.sampled_from([*FIELDS, "entropy"]), VALUES), max_size=60)


def fed(rows: Sequence[dict[str, float]], curve: Curve | None = None, done: int = 0) -> Curve:
    """A curve after *rows*, of which *done* came before."""
    curve = curve or Curve()
    for number, values in enumerate(rows, done + 1):
        row = Row(number, number * 10, values, 0)
        curve.update(row, curve.drawn(row))
    return curve


def single(value: float) -> float:
    """As a bucket keeps it: to 7 digits, and no larger than it can."""
    clamped = max(-FLOAT_MAX, min(FLOAT_MAX, value))
    return float(struct.unpack("f", struct.pack("f", clamped))[0])


def expected(values: Sequence[float | None], width: int) -> list[tuple[float, float, int]]:
    """The buckets of one field by their definition, from the list of its values."""
    buckets = []
    for first in range(0, len(values), width):
        there = [v for v in values[first : first + width] if v is not None]
        finite = [single(v) for v in there if math.isfinite(v)]
        bad = min(BAD_MAX, len(there) - len(finite))
        buckets.append((min(finite, default=math.inf), max(finite, default=-math.inf), bad))
    return buckets


def agrees(rows: Sequence[dict[str, float]]) -> bool:
    """Whether the curve is what its definition says."""
    curve = fed(rows)
    assert curve.rows == len(rows)
    assert len(curve.steps) <= BUCKETS_MAX
    assert list(curve.steps) == [10 * (n + 1) for n in range(0, len(rows), curve.width)]
    for name in FIELDS:
        values = [row.get(name) for row in rows]
        numbered = [(n, v) for n, v in enumerate(values, 1) if v is not None]
        if not numbered:
            assert name not in curve.series
            continue
        series = curve.series[name]
        assert series.buckets() == expected(values, curve.width)
        (first, value), (last, newest) = numbered[0], numbered[-1]
        assert str(series.first) == str(Point(first, first * 10, value))  # NaN is itself.
        assert str(series.newest()) == str(Point(last, last * 10, newest))
    return True


@given(ROWS)
@settings(deadline=None)
def test_each_bucket_is_that_of_its_rows(rows: list[dict[str, float]]) -> None:
    """Against the definition: least, greatest and what is not finite, first and last value."""
    assert agrees(rows)


@pytest.mark.parametrize("length", [0, 1, 159, 160, 161, 320, 321, 641, 5000])
def test_long_runs_have_wider_buckets(length: int) -> None:
    """The same definition holds at every width, for fields that begin late and are rare, too."""
    noise = random.Random(length)
    rows = []
    for n in range(length):
        row = {"loss": noise.gauss(2, 1), "learning_rate": 1e-4 * (1 - n / length)}
        if n > length // 3 and n % 7 == 0:
            row["eval_loss"] = noise.choice([noise.random(), math.nan, -math.inf])
        rows.append(row)
    assert agrees(rows)


@given(ROWS, ROWS, st.integers(0, 400))
@settings(deadline=None)
def test_a_restart_cannot_be_seen(
    before: list[dict[str, float]], after: list[dict[str, float]], more: int
) -> None:
    """Kept and taken up between any two rows, the curve is the same to the last bit."""
    rows = [*before, *[{"loss": 1.0, "grad_norm": float(n)} for n in range(more)]]
    through = fed([*rows, *after])
    kept = unpack(pack(fed(rows).to_state()))
    again = fed(after, Curve.from_state(kept, 0), len(rows))
    assert pack(again.to_state()) == pack(through.to_state())


STEPS = [*range(40), *range(30, 50), *range(30)]
LOG = "".join(
    json.dumps({"step": s, "loss": math.cos(s), "lr": 1 / (s + 1)}) + "\n" for s in STEPS
).encode()


@given(st.sets(st.integers(1, len(LOG) - 1), max_size=12), st.booleans())
@settings(deadline=None)
def test_chunks_cannot_be_seen(cuts: set[int], restart: bool) -> None:
    """However the bytes of a log come, and wherever the reader restarts, the curve is one."""
    whole, parts = RunReader(CHECKS), RunReader(CHECKS)
    whole.feed(LOG)
    for end in sorted(cuts | {len(LOG)}):
        parts.feed(LOG[parts.received : end])
        if restart and parts.is_metric:
            parts = RunReader.from_state(CHECKS, None, unpack(pack(parts.to_state())))
    assert pack(parts.monitor.curve.to_state()) == pack(whole.monitor.curve.to_state())
    assert [tuple(mark) for mark in whole.monitor.curve.marks] == [
        (41, 30, "resume"),
        (61, 0, "segment"),
    ]


def test_a_single_extreme_of_a_million_is_there() -> None:
    """One spike, one dip and one NaN among very many rows are still to be seen."""
    ordinary = {"loss": 1.0}
    special = {123_457: 99.0, 400_000: -5.0, 500_001: math.nan}
    rows = [{"loss": special[n]} if n in special else ordinary for n in range(1, 600_001)]
    curve = fed(rows)
    buckets = curve.series["loss"].buckets()
    assert max(high for _, high, _ in buckets) == 99.0
    assert min(low for low, _, _ in buckets) == -5.0
    where = [n for n, (_, _, bad) in enumerate(buckets) if bad]
    assert where == [500_000 // curve.width]


def test_it_stays_small() -> None:
    """Below 8 KB, with all fields and marks, at the longest state there is."""
    noise = random.Random(1)
    curve, largest = Curve(), 0
    for number in range(1, 2000):
        row = Row(number, 1e15 + number / 3, {name: noise.random() for name in FIELDS}, 0)
        curve.mark(row, "segment")
        curve.update(row, curve.drawn(row))
        largest = max(largest, len(pack(curve.to_state())))
    assert 4000 < largest < 8000
    assert len(curve.marks) == MARKS_MAX
    assert curve.marks[-1].row == 1999


@pytest.mark.parametrize("state", [None, [0, "of another version"]])
def test_a_curve_of_another_version_begins_anew(state: list[object] | None) -> None:
    """A run that was followed before there were curves has one from its next row on."""
    curve = Curve.from_state(state, 70)
    fed([{"loss": 1.0}], curve, 70)
    assert (curve.begin, curve.rows, curve.series["loss"].first.row) == (70, 1, 71)
