"""What stands in files, compared: see also tests/shell/test_follower.py."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.content import begins_with, opened, pass_common, unzipped
from tailwatch.core.cursor import Cursor


def cursor_after(data: bytes) -> Cursor:
    cursor = Cursor()
    cursor.advance(data)
    return cursor


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"one\ntwo\n", True),
        (b"one\ntwo\nthree", True),
        (b"one\n", False),
        (b"one\ntwo", False),
        (b"One\ntwo\nthree", False),
    ],
)
def test_begins_with_all_that_was_evaluated(
    tmp_path: Path, content: bytes, expected: bool
) -> None:
    """The torn line is no part of it; each byte before it is."""
    path = tmp_path / "m"
    path.write_bytes(content)
    with opened(str(path)) as descriptor:
        assert expected is begins_with(descriptor, len(content), cursor_after(b"one\ntwo\nto"))


pieces = st.lists(st.sampled_from([b"\n", b"a", b"b", b"row\n", b"x" * 70]), max_size=9).map(
    b"".join
)


@settings(deadline=None, max_examples=100)
@given(pieces, pieces, pieces)
def test_what_two_files_have_in_common_is_passed(head: bytes, one: bytes, other: bytes) -> None:
    """The cursor stands behind the last newline up to which both are the same, and knows why."""
    fds = [os.memfd_create(name) for name in ("one", "other")]
    try:
        for fd, rest in zip(fds, (one, other), strict=True):
            os.write(fd, head + rest)
        cursor = Cursor()
        pass_common(*fds, cursor)
    finally:
        for fd in fds:
            os.close(fd)
    one, other = head + one, head + other
    ends = [end for end, byte in enumerate(one, 1) if byte == 10 and one[:end] == other[:end]]
    passed = cursor_after(one[: max(ends, default=0)])

    assert (passed.offset, passed.offset_crc, passed.received) == (
        cursor.offset,
        cursor.offset_crc,
        cursor.received,
    )


def test_a_packed_file_is_unpacked_if_it_is_whole_and_the_same(tmp_path: Path) -> None:
    """One that is still being written, or of another content, is none."""
    path, content = tmp_path / "m.gz", b"one\ntwo\nthree\n" * 100
    packed = gzip.compress(content)
    cursor = cursor_after(content[:8])
    for data, known, good in (
        (packed, cursor, True),
        (packed[:-9], cursor, False),
        (packed, cursor_after(b"One\n"), False),
        (packed, cursor_after(content + b"more\n"), False),
        (packed, Cursor(), False),
        (b"no gzip", cursor, False),
    ):
        path.write_bytes(data)
        descriptor = unzipped(str(path), known)
        assert good is (descriptor is not None)
        if descriptor is not None:
            assert content == os.pread(descriptor, len(content) + 1, 0)
            os.close(descriptor)


def test_a_zip_bomb_is_unpacked_to_its_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small file beside a run that would unpack to very much takes no more than its bound."""
    bound, chunk = 4 << 20, 1 << 20
    monkeypatch.setattr("tailwatch.content.UNZIPPED_BYTES_MAX", bound)
    path = tmp_path / "m.gz"
    path.write_bytes(gzip.compress(b"one\n" + b"\0" * (64 << 20)))
    descriptor = unzipped(str(path), cursor_after(b"one\n"))
    assert descriptor is not None
    size = os.fstat(descriptor).st_size
    os.close(descriptor)

    assert bound < size <= bound + chunk
