"""A file is known again, or known to be another, from a few bytes that were kept."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core.cursor import (
    MARKER_BYTES,
    RESTART_REASONS,
    Cursor,
    FileSeen,
    FileStat,
    Restart,
    Resume,
    decide,
)

SAME, OTHER = (1, 2, 0), (1, 3, 0)


@dataclass
class Oracle:
    """Keeps all the bytes, and the place up to which they were evaluated."""

    data: bytes = b""
    settled: int = 0

    def advance(self, chunk: bytes) -> None:
        self.data += chunk
        if b"\n" in chunk:
            self.settled = self.data.rfind(b"\n") + 1

    def agrees(self, cursor: Cursor) -> None:
        done = self.data[: self.settled]
        assert (len(done), len(self.data)) == (cursor.offset, cursor.received)
        assert (zlib.crc32(done), zlib.crc32(self.data)) == (
            cursor.offset_crc,
            cursor.received_crc,
        )
        assert (done[-MARKER_BYTES:], self.data[-MARKER_BYTES:]) == (
            cursor.offset_marker,
            cursor.received_marker,
        )


pieces = st.lists(
    st.sampled_from([b"\n", b"ab", b'{"step": 1}\n', b"x" * 70, b"y" * 63 + b"\n", b"\n\n", b""]),
    max_size=8,
).map(b"".join)
acts = st.tuples(st.sampled_from(["advance"] * 5 + ["settle", "rewind", "save"]), pieces)


@settings(deadline=None, max_examples=200)
@given(st.lists(acts, max_size=15))
def test_it_knows_what_all_the_bytes_tell(story: list[tuple[str, bytes]]) -> None:
    """Offsets, checksums and markers are those of all the bytes, at every point of any story."""
    cursor, oracle = Cursor(identity=SAME), Oracle()
    for act, chunk in story:
        if act == "advance":
            cursor.advance(chunk)
            oracle.advance(chunk)
        elif act == "settle":
            cursor.settle_tail()
            oracle.settled = len(oracle.data)
        else:
            oracle.data = oracle.data[: oracle.settled]
            if act == "rewind":
                cursor.rewind()
            else:
                state = msgspec.msgpack.decode(msgspec.msgpack.encode(cursor.to_state()))
                cursor = Cursor.from_state(state)
        oracle.agrees(cursor)
    assert cursor.identity == SAME


@settings(deadline=None, max_examples=200)
@given(pieces, st.lists(st.integers(0, 600), max_size=10))
def test_chunking_does_not_matter(data: bytes, places: list[int]) -> None:
    """However the bytes are cut, the cursor after them is the same."""
    whole, cut = Cursor(), Cursor()
    whole.advance(data)
    for a, b in pairwise([0, *sorted(p % (len(data) + 1) for p in places), len(data)]):
        cut.advance(data[a:b])
    assert whole == cut


def cursor_at(offset: int, received: int) -> Cursor:
    cursor = Cursor(identity=SAME)
    cursor.advance(b"x" * (offset - 1) + b"\n" + b"y" * (received - offset))
    return cursor


@pytest.mark.parametrize(
    ("identity", "size", "received_same", "offset_same", "expected"),
    [
        # The file we knew: it grew, stayed, or lost a part of its torn line only.
        (SAME, 30, True, True, Resume(20)),
        (SAME, 20, True, True, Resume(20)),
        (SAME, 20, False, True, Resume(10, rewind=True)),
        (SAME, 30, False, True, Resume(10, rewind=True)),
        (SAME, 15, False, True, Resume(10, rewind=True)),
        (SAME, 15, True, True, Resume(10, rewind=True)),
        (SAME, 10, False, True, Resume(10, rewind=True)),
        # Truncated: shorter, or longer again with other bytes.
        (SAME, 9, False, False, Restart("truncated")),
        (SAME, 9, True, True, Restart("truncated")),
        (SAME, 0, False, False, Restart("truncated")),
        (SAME, 30, False, False, Restart("truncated")),
        # Another file under the name: a copy goes on, anything else is read anew.
        (OTHER, 30, True, True, Resume(10, rewind=True)),
        (OTHER, 30, False, True, Resume(10, rewind=True)),
        (OTHER, 10, False, True, Resume(10, rewind=True)),
        (OTHER, 30, True, False, Restart("replaced")),
        (OTHER, 9, True, True, Restart("replaced")),
        (OTHER, 30, False, False, Restart("replaced")),
        ((1, 2, 1), 30, True, False, Restart("replaced")),
        ((9, 2, 0), 30, True, False, Restart("replaced")),
    ],
)
def test_decide(
    identity: tuple[int, int, int],
    size: int,
    received_same: bool,
    offset_same: bool,
    expected: Resume | Restart,
) -> None:
    """Identity, size and the bytes before the two places decide: read on, rewind, or start anew."""
    seen = FileSeen(FileStat(*identity, size, 0.0), received_same, offset_same)
    assert expected == decide(cursor_at(10, 20), seen)
    if isinstance(expected, Restart):
        assert expected.reason in RESTART_REASONS


@settings(deadline=None, max_examples=300)
@given(pieces, pieces, pieces, st.sampled_from([SAME, OTHER]), st.integers(0, 300))
def test_decide_never_skips_or_mixes_files(
    head: bytes, old: bytes, new: bytes, identity: tuple[int, int, int], keep: int
) -> None:
    """Reading on from where `decide` says gives, with what was evaluated, the file as it is now."""
    cursor, before = Cursor(identity=SAME), Oracle()
    for chunk in (head, old):
        cursor.advance(chunk)
        before.advance(chunk)
    now = (head + old)[:keep] + new
    seen = FileSeen(
        FileStat(*identity, len(now), 0.0),
        now[: cursor.received] == before.data,
        now[: cursor.offset] == before.data[: cursor.offset],
    )
    step = decide(cursor, seen)
    if isinstance(step, Resume):
        kept = before.data[: step.offset]
        assert now == kept + now[step.offset :]
        assert step.rewind == (step.offset < cursor.received or identity != SAME)
    else:
        assert now[: cursor.offset] != before.data[: cursor.offset]


def test_a_fresh_cursor_reads_from_the_first_byte() -> None:
    """A cursor that has read nothing is at home in any file, at byte 0."""
    fresh = Cursor()
    for identity in (SAME, (0, 0, 0)):
        step = decide(fresh, FileSeen(FileStat(*identity, 50, 0.0), True, True))
        assert isinstance(step, Resume)
        assert step.offset == 0


def test_the_name_is_no_part_of_the_identity() -> None:
    """Device, inode and generation are who a file is; size and time are not."""
    assert FileStat(1, 2, 3, 4, 5.0).identity == FileStat(1, 2, 3, 9, 9.0).identity == (1, 2, 3)
    assert FileStat(1, 2, 4, 4, 5.0).identity != (1, 2, 3)
