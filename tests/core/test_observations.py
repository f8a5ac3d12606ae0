"""What is seen of a file: kinds, steps, gaps and bad lines."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.checks import CHECKS
from tailwatch.core.fields import FieldMap
from tailwatch.core.lines import LINE_BYTES_MAX
from tailwatch.core.observations import TEXT_CHARS_MAX, BadLine, Observations, excerpt, shortened
from tailwatch.core.reader import RunReader
from tailwatch.core.rows import RowKind


def see(data: bytes | list[dict[str, Any]], chunk: int = 1 << 20) -> Observations:
    """What is seen of a file that comes in chunks."""
    if isinstance(data, list):
        data = b"".join(json.dumps(record).encode() + b"\n" for record in data)
    fields = FieldMap()
    seen = Observations(fields)
    reader = RunReader(CHECKS, fields=fields, observer=seen)
    for at in range(0, len(data), chunk):
        reader.feed(data[at : at + chunk])
    reader.rest()
    return seen


def test_bad_lines_are_placed() -> None:
    """The first of each reason has its line, byte and beginning; blank lines count as lines."""
    data = (
        b'{"loss": 1}\n\nTrace\x1b[2Jback\n[1]\nmore\n'
        + b"x" * (LINE_BYTES_MAX + 1)
        + b'\n{"loss":\n'
    )
    seen = see(data, chunk=1000)

    assert {
        "not_json": BadLine(3, 13, "Trace\\x1b[2Jback"),
        "not_object": BadLine(4, 27, "[1]"),
        "too_long": BadLine(6, 36, ""),
    } == seen.bad
    assert seen.lines == 7


def test_a_bad_header_is_placed_where_it_ends() -> None:
    """Lines that began like a header and are none have their place too."""
    seen = see(b'{\n  "a": 1,\nTrace\n{"loss": 1}\n')

    assert seen.bad["not_json"].line == 3
    assert seen.kinds[RowKind.TRAIN] == 1


@settings(deadline=None)
@given(st.binary(max_size=400))
def test_nothing_of_a_bad_line_is_unprintable(data: bytes) -> None:
    """Whatever the bytes are, the excerpt can be shown, and is short."""
    text = excerpt(data)

    assert text.isprintable()
    assert len(text) <= TEXT_CHARS_MAX
    text.encode()


def test_a_long_text_ends_in_dots() -> None:
    """What is cut says so, and what fits does not."""
    assert shortened("x" * 81, 80) == "x" * 77 + "..."
    assert shortened("x" * 80, 80) == "x" * 80


def test_kinds_and_data_keys() -> None:
    """Rows are counted by kind, and what tells a data set by key."""
    seen = see([{"step": 1, "loss": 1}, {"eval_loss": 1}, {"prompt": "a", "text": 3}, {"x": 1}])

    assert dict(seen.kinds) == {RowKind.TRAIN: 1, RowKind.EVAL: 1, RowKind.OTHER: 2}
    assert {key: n for key, n in seen.data_keys.items() if n} == {"prompt": 1}


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([{"step": 1, "loss": 1}], "step"),
        ([{"epoch": 1, "iter": 50, "loss": 1, "mode": "train"}], "epoch and iter"),
        ([{"epoch": 1, "train_loss": 1}], "epoch"),
        ([{"loss": 1}], "row"),
    ],
)
def test_what_the_steps_are(rows: list[dict[str, Any]], what: str) -> None:
    """A key of the step, a count within the epoch, the epoch, or nothing."""
    assert what == see(rows).steps_are


def test_the_interval_is_that_of_training_rows() -> None:
    """Falls, repeats and evaluations between are left out of it."""
    rows = [{"step": n, "loss": 1} for n in (10, 20, 20, 30, 10, 20, 30)]
    rows.insert(2, {"step": 2, "eval_loss": 1})
    seen = see(rows)

    assert (seen.intervals.median, seen.intervals.count) == (10, 4)
    assert seen.last_step == 30


def test_rows_without_a_step_of_their_own() -> None:
    """Training and evaluation rows without a step are counted; others are not."""
    seen = see([{"step": 5, "loss": 1}, {"eval_loss": 2}, {"loss": 3}, {"note": 1}])

    assert (seen.with_step, seen.without_step) == (1, 2)


def test_gaps_by_the_clock_of_the_rows() -> None:
    """The longest gap and where it ended; the time between two starts is none."""
    times = [(1, 0), (2, 10), (3, 20), (4, 140), (5, 150), (1, 99_000), (2, 99_012)]
    seen = see([{"step": n, "loss": 1, "timestamp": 1.7e9 + t} for n, t in times])

    assert seen.longest is not None
    assert (seen.longest.seconds, seen.longest.row, seen.longest.step) == (120, 4, 4)
    assert (seen.gaps.median, seen.gaps.count, seen.clock) == (10, 5, "timestamp_s")


def test_gaps_by_the_time_since_the_start() -> None:
    """Without a clock the elapsed time is one; with one it is not looked at."""
    seen = see([{"step": n, "loss": 1, "elapsed_time": f"0:{n:02}:00"} for n in (1, 2, 4)])
    assert (seen.longest and seen.longest.seconds, seen.clock) == (120, "elapsed_s")

    both = [
        {"step": n, "loss": 1, "elapsed_time": 7 * n}
        | ({"timestamp": 1.7e9 + n} if n != 2 else {})
        for n in (1, 2, 3)
    ]
    assert see(both).gaps.median == 2


def test_plans_and_progress() -> None:
    """What the rows say of the end is kept, the newest."""
    seen = see([{"current_steps": n, "total_steps": 50, "percentage": 2 * n} for n in (1, 9)])

    assert (seen.planned, seen.percent) == (50, 18)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.sampled_from([b'{"step": 1, "loss": 2}', b"bad", b"", b"[]", b'{"a"']), max_size=20
    ),
    st.integers(1, 40),
)
def test_chunks_do_not_matter(lines: list[bytes], chunk: int) -> None:
    """Line numbers, bytes and counts are the same however the bytes come."""
    data = b"".join(line + b"\n" for line in lines)
    whole, parts = see(data), see(data, chunk)

    assert (whole.bad, whole.lines, whole.kinds) == (parts.bad, parts.lines, parts.kinds)
    for bad in whole.bad.values():
        assert data[bad.offset :].startswith(lines[bad.line - 1])
        assert data[: bad.offset].count(b"\n") == bad.line - 1
