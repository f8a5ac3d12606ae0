"""The saves of a run as one stream: each row that a save adds, once."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core.trail import ENDS_MAX, SaveEnd, Trail


def lines(*rows: object) -> bytes:
    return b"".join(f"{row}\n".encode() for row in rows)


class Stream:
    """Reads saves as the follower does, and keeps what it read."""

    def __init__(self) -> None:
        self.trail, self.data = Trail(), b""

    def see(self, save: bytes, part: int | None = None) -> bool:
        """Read what is new in a save, or at most so many bytes; whether there was anything."""
        end, offset = SaveEnd.of(save), len(self.data)
        if self.trail.done(end, offset):
            return False
        known, _ = self.trail.known(save, offset)
        if known == len(save):
            return False
        self.trail = self.trail.onto("checkpoint-1", 1, end, known, offset)
        start = self.trail.at(offset)
        self.data += save[start : None if part is None else start + part]
        return True


def test_resume_from_an_older_save() -> None:
    """Rows after the save that was resumed from are read of both attempts."""
    stream = Stream()
    for save in (lines(1, 2), lines(1, 2, 3, 4), lines(1, 2, "3b"), lines(1, 2, "3b", "4b")):
        assert stream.see(save)
    assert stream.data == lines(1, 2, 3, 4, "3b", "4b")
    assert not stream.see(lines(1, 2, 3, 4))


def test_save_that_follows_none() -> None:
    """Another training in the same directory is read from its first row."""
    stream = Stream()
    stream.see(lines(1, 2, 3))
    stream.see(lines("a", "b", "c", "d"))
    assert stream.data == lines(1, 2, 3, "a", "b", "c", "d")


def test_save_that_was_read_in_part() -> None:
    """A later save goes on in the middle of one that is gone; one that does not, does not."""
    stream = Stream()
    stream.see(lines(1, 2))
    stream.see(lines(1, 2, 3, 4), part=2)
    assert not stream.trail.done(SaveEnd.of(lines(1, 2, 3, 4)), len(stream.data))
    stream.see(lines(1, 2, 3, 4, 5))
    assert stream.data == lines(1, 2, 3, 4, 5)
    stream.see(lines(1, 2, 3, 4, 5, 6, 7), part=2)
    stream.see(lines(1, 2, "x"))
    assert stream.data == lines(1, 2, 3, 4, 5, 6, "x")


def test_the_same_length_is_not_the_same_save() -> None:
    """A save of the same length with another row is another one."""
    stream = Stream()
    stream.see(lines(1, 2))
    assert stream.see(lines(1, 3))
    assert stream.data == lines(1, 2, 1, 3)


def test_what_is_remembered_is_bounded() -> None:
    """Of very many saves the recent ones are known, and of the old ones some."""
    trail = Trail()
    for number in range(1000):
        trail = trail.with_end(SaveEnd(number, 0))
        assert len(trail.ends) <= ENDS_MAX
    for _ in range(1000):
        trail = trail.with_end(SaveEnd(999, 0))
    kept = [end.length for end in trail.ends]
    assert kept[-100:] == list(range(900, 1000))
    assert kept[0] == 0
    assert sorted(kept) == kept


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 3), st.integers(1, 9)), max_size=12))
def test_every_row_once(plan: list[tuple[int, int, int]]) -> None:
    """
    Resumes from any save, chunks of any size, state kept and restored between any two reads.

    The oracle knows the rows by numbers that are never used again.
    """
    stream, saves, number, written = Stream(), [[]], 0, []
    for resumed, rows, chunk in plan:
        history = list(saves[resumed % len(saves)])
        for _ in range(rows):
            number += 1
            history.append(number)
            written.append(number)
        saves.append(history)
        while stream.see(lines(*history), part=chunk):
            state = msgspec.msgpack.decode(msgspec.msgpack.encode(stream.trail))
            stream.trail = Trail.from_state(state)
    assert stream.data == lines(*written)
