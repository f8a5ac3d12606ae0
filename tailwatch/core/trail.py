"""Where we are among the saves of one run: what was read of each, and what comes next."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

ENDS_MAX = 256


class SaveEnd(NamedTuple):
    """How many bytes of lines a save had, and their checksum."""

    length: int
    checksum: int

    @classmethod
    def of(cls, lines: bytes) -> SaveEnd:
        """The end of a save with these lines."""
        return cls(len(lines), zlib.crc32(lines))


class Trail(NamedTuple):
    r"""
    The saves of a run as one stream that only grows.

    Each save repeats the rows of the one it follows. Only what it adds is
    appended to the stream, in the order in which the saves were written. A save
    that follows an older one (the trainer resumed from there) adds what comes
    after the rows of that one; a save that follows none adds all it has.

    Attributes:
        until_ns: Saves that are not newer (Unix nanoseconds) were there when the run
            was first seen; 0 once all of them have been read.
        written_ns: When the save that is being read, or was last, was written.
        name: The directory of that save, relative to the run's.
        position: Where in the stream its own rows begin.
        within: Where in its lines they begin.
        ends: All saves that were read, the current one last.

    >>> first, second = b"1\n2\n3\n", b"1\n2\n3\n4\n"
    >>> trail = Trail().onto("checkpoint-3", 1, SaveEnd.of(first), 0, 0)
    >>> trail.known(second, 6), trail.known(b"1\n5\n", 6)
    ((6, True), (0, False))
    >>> trail.onto("checkpoint-4", 2, SaveEnd.of(second), 6, 6).at(7)
    7
    """

    until_ns: int = 0
    written_ns: int = 0
    name: str = ""
    position: int = 0
    within: int = 0
    ends: tuple[SaveEnd, ...] = ()

    def at(self, position: int) -> int:
        """Where in the lines of the current save *position* of the stream is."""
        return self.within + position - self.position

    def done(self, end: SaveEnd, offset: int) -> bool:
        """Whether a save that ends so has nothing more, the stream being read up to *offset*."""
        if not self.ends or end not in self.ends:
            return False
        return end != self.ends[-1] or self.at(offset) >= end.length

    def known(self, lines: bytes, offset: int) -> tuple[int, bool]:
        """
        How much of a save's *lines* is in the stream, which was read up to *offset*.

        Also whether they go on from the current save, and not from an older one or none.
        """
        known, goes_on, checksum, at = 0, False, 0, 0
        for end in sorted(set(self.ends)):
            if end.length > len(lines):
                break
            checksum = zlib.crc32(lines[at : end.length], checksum)
            at = end.length
            if checksum == end.checksum:
                known, goes_on = at, end == self.ends[-1]
        # The current save may have been read only in part.
        return (self.at(offset), True) if goes_on else (known, False)

    def onto(self, name: str, written_ns: int, end: SaveEnd, known: int, offset: int) -> Trail:
        """Go over to a save, of which *known* bytes are in the stream up to *offset*."""
        return self.with_end(end)._replace(
            name=name, written_ns=written_ns, position=offset, within=known
        )

    def with_end(self, end: SaveEnd) -> Trail:
        """Remember how a save ends; of very many old ones, every second is forgotten."""
        ends = (*(each for each in self.ends if each != end), end)
        if len(ends) > ENDS_MAX:
            half = ENDS_MAX // 2
            ends = ends[:half:2] + ends[half:]
        return self._replace(ends=ends)

    @classmethod
    def from_state(cls, state: Sequence[Any]) -> Trail:
        """The trail whose fields were kept as plain values."""
        trail = cls(*state)
        return trail._replace(ends=tuple(SaveEnd(*end) for end in trail.ends))
