"""Chunks of bytes become the same whole lines, wherever the chunks were cut."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core.lines import LINE_BYTES_MAX, Line, LineBuffer

LIMIT = 6
# Mostly newlines and short runs, so that lines fall on both sides of the limit.
files = st.lists(st.sampled_from([b"\n", b"a", b"\r", b"bcd", b"xxxxxx", b"\0"]), max_size=40).map(
    b"".join
)
cuts = st.lists(st.integers(0, 120), max_size=12)


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    edges = [0, *sorted(p % (len(data) + 1) for p in places), len(data)]
    return [data[a:b] for a, b in pairwise(edges)]


def oracle(data: bytes, start: int, limit: int) -> list[Line]:
    """The whole file at once, by `bytes.split`."""
    lines, offset = [], start
    for piece in data.split(b"\n")[:-1]:
        end = offset + len(piece) + 1
        piece = piece.lstrip(b"\0")  # A hole before a line is no part of it.
        too_long = len(piece) > limit
        lines.append(Line(b"" if too_long else piece, offset, end, too_long))
        offset = end
    return lines


@settings(deadline=None, max_examples=200)
@given(files, cuts, st.integers(0, 1000))
def test_chunking_does_not_matter(data: bytes, places: list[int], start: int) -> None:
    """Any cutting of the bytes gives the lines that splitting all of them at once gives."""
    buffer = LineBuffer(offset=start, line_bytes_max=LIMIT)
    lines = [line for chunk in cut(data, places) for line in buffer.feed(chunk)]
    assert oracle(data, start, LIMIT) == lines
    assert start + len(data) == buffer.received


@settings(deadline=None, max_examples=100)
@given(files, cuts)
def test_lines_tile_the_file(data: bytes, places: list[int]) -> None:
    """Each line begins where the one before ended, and the resume offset is the last end."""
    buffer = LineBuffer(offset=0, line_bytes_max=LIMIT)
    position = 0
    for chunk in cut(data, places):
        for line in buffer.feed(chunk):
            assert position == line.offset
            position = line.end_offset
            assert data[position - 1 : position] == b"\n"
        assert position == buffer.resume_offset


@settings(deadline=None, max_examples=100)
@given(files, cuts, cuts)
def test_resuming_at_the_offset_loses_and_repeats_nothing(
    data: bytes, before: list[int], after: list[int]
) -> None:
    """A new buffer fed from the resume offset of an old one gives the lines that are missing."""
    half = data[: len(data) // 2]
    old = LineBuffer(offset=0, line_bytes_max=LIMIT)
    lines = [line for chunk in cut(half, before) for line in old.feed(chunk)]
    new = LineBuffer(offset=old.resume_offset, line_bytes_max=LIMIT)
    for chunk in cut(data[old.resume_offset :], after):
        lines += new.feed(chunk)
    assert oracle(data, 0, LIMIT) == lines


def test_torn_tail_is_held_back() -> None:
    """Bytes without a newline are no line until the newline comes, and then all of it."""
    buffer = LineBuffer(offset=10)
    assert buffer.feed(b'{"st') == []
    assert buffer.feed(b'ep"') == []
    assert (buffer.tail, buffer.resume_offset, buffer.received) == (b'{"step"', 10, 17)
    assert [Line(b'{"step": 1}', 10, 22)] == buffer.feed(b": 1}\n")
    assert buffer.tail == b""


def test_limit_is_inclusive() -> None:
    """A line of exactly the limit passes, one byte more is dropped, in one chunk or byte by byte."""
    data = b"x" * LIMIT + b"\n" + b"x" * (LIMIT + 1) + b"\n"
    whole = LineBuffer(offset=0, line_bytes_max=LIMIT).feed(data)
    bytewise = LineBuffer(offset=0, line_bytes_max=LIMIT)
    pieces = [line for byte in data for line in bytewise.feed(bytes([byte]))]
    assert [Line(b"x" * LIMIT, 0, 7), Line(b"", 7, 15, too_long=True)] == whole == pieces


def test_a_long_line_does_not_spoil_the_next() -> None:
    """After a line that was dropped in pieces, the next one in pieces is whole."""
    buffer = LineBuffer(offset=0, line_bytes_max=LIMIT)
    lines = [line for chunk in (b"x" * 7, b"\n", b"a", b"\n") for line in buffer.feed(chunk)]
    assert lines == [Line(b"", 0, 8, too_long=True), Line(b"a", 8, 10)]


def test_endless_line_does_not_grow_memory() -> None:
    """Of a line beyond the limit nothing is kept, while its end is still looked for."""
    buffer = LineBuffer(offset=0)
    for _ in range(40):
        buffer.feed(b"x" * (LINE_BYTES_MAX // 8))
        assert len(buffer.tail) <= LINE_BYTES_MAX
    assert buffer.tail == b""
    end = 5 * LINE_BYTES_MAX + 1
    assert [Line(b"", 0, end, too_long=True), Line(b"1", end, end + 2)] == buffer.feed(b"\n1\n")


def test_take_tail_ends_the_line_without_its_newline() -> None:
    """The tail that was taken is not given again, and the next line begins after it."""
    buffer = LineBuffer(offset=0)
    buffer.feed(b"one\ntwo")
    assert Line(b"two", 4, 7) == buffer.take_tail()
    assert (buffer.resume_offset, buffer.tail) == (7, b"")
    assert buffer.take_tail() is None
    assert [Line(b"", 7, 8), Line(b"three", 8, 14)] == buffer.feed(b"\nthree\n")


def test_take_tail_refuses_what_is_no_line() -> None:
    """There is no tail to take when nothing is torn, nor of a line that was too long."""
    buffer = LineBuffer(offset=0, line_bytes_max=3)
    assert buffer.take_tail() is None
    buffer.feed(b"toolong")
    assert buffer.take_tail() is None
    assert [Line(b"", 0, 8, too_long=True)] == buffer.feed(b"\n")
