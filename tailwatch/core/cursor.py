"""Is this still the file we knew? Identity, and what to do when it changed."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from .plain import fields_of
from .trail import Trail

MARKER_BYTES = 64
Identity = tuple[int, int, int]
"""Device, inode and generation of a file."""
_NULS = bytes(1 << 20)
RESTART_REASONS = ("truncated", "replaced")
"""Why a file was read again from byte 0: the label set of `tailwatch_restarts_total`."""


class FileStat(NamedTuple):
    """
    What the file system says of an open file.

    Attributes:
        device: Device number.
        inode: Inode number; used again at once after a delete.
        generation: The file system's count of uses of this inode; 0 where it has none.
        size: Bytes now.
        mtime_s: Last change, Unix seconds.
        remote: On a network file system, whose sizes may lag behind.
        links: How many names it has; 0 once it is deleted.
    """

    device: int
    inode: int
    generation: int
    size: int
    mtime_s: float
    remote: bool = False
    links: int = 1

    @property
    def identity(self) -> Identity:
        """Which file this is, whatever its name."""
        return (self.device, self.inode, self.generation)


class FileSeen(NamedTuple):
    """
    A file as it is now, against what was read of it.

    Attributes:
        stat: Its size and identity.
        received_same: The bytes just before `Cursor.received` are the ones we read, and so
            are those with which the torn line begins.
        offset_same: So are those before `Cursor.offset`; all of them, if the identity changed.
        trail: Where that is among the saves of a run that is read from saves.
    """

    stat: FileStat
    received_same: bool
    offset_same: bool
    trail: Trail | None = None


class Resume(NamedTuple):
    """It is the file we knew: read on at *offset*. *rewind*: drop the torn line first."""

    offset: int
    rewind: bool = False


class Wait(NamedTuple):
    """It looks shorter than it was, where sizes may lag: believe it only if it lasts."""


class Restart(NamedTuple):
    """It is another file, or the same one written anew: read from byte 0."""

    reason: str


@dataclass(slots=True)
class Cursor:
    """
    Where we are in a file, and how to know it again.

    Two places are kept: *offset*, after the last whole line (what a restart
    resumes from), and *received*, after the last byte read. For each, the last
    bytes before it; for *offset* also a checksum of all bytes before it, which
    tells a copy with the same content from a new file with the same header.
    """

    identity: Identity = (0, 0, 0)
    offset: int = 0
    received: int = 0
    offset_crc: int = 0
    received_crc: int = 0
    offset_marker: bytes = b""
    received_marker: bytes = b""
    # How the torn line begins. Its end alone does not tell: a hole looks the same everywhere.
    received_head: bytes = b""
    # Only of a run that is read from the saves of a trainer's state.
    trail: Trail | None = None

    def advance(self, chunk: bytes) -> None:
        """Take in the bytes that were read at *received*."""
        end = chunk.rfind(b"\n") + 1
        if end:
            whole = chunk[:end]
            self.offset = self.received + end
            self.offset_crc = zlib.crc32(whole, self.received_crc)
            self.offset_marker = (self.received_marker + whole[-MARKER_BYTES:])[-MARKER_BYTES:]
            self.received_head = chunk[end : end + MARKER_BYTES]
        elif len(self.received_head) < MARKER_BYTES:
            self.received_head = (self.received_head + chunk[:MARKER_BYTES])[:MARKER_BYTES]
        self.received += len(chunk)
        self.received_crc = zlib.crc32(chunk, self.received_crc)
        self.received_marker = (self.received_marker + chunk[-MARKER_BYTES:])[-MARKER_BYTES:]

    def skip(self, hole_bytes: int) -> None:
        """Take in a hole: so many NULs, which were not read."""
        while hole_bytes:
            size = min(hole_bytes, len(_NULS))
            self.advance(_NULS[:size] if size < len(_NULS) else _NULS)
            hole_bytes -= size

    def settle_tail(self) -> None:
        """The line without newline was evaluated: all that was received is done."""
        self.offset, self.offset_crc = self.received, self.received_crc
        self.offset_marker, self.received_head = self.received_marker, b""

    def rewind(self) -> None:
        """The torn line will be read again."""
        self.received, self.received_crc = self.offset, self.offset_crc
        self.received_marker, self.received_head = self.offset_marker, b""

    def taken_over(self, identity: Identity) -> Cursor:
        """The same place, after the last whole line, in a file of the same content."""
        other = replace(self, identity=identity)
        other.rewind()
        return other

    def to_state(self) -> dict[str, Any]:
        """A small dict, for `from_state`. The torn line is not in it."""
        return {k: v for k, v in fields_of(self).items() if not k.startswith("received")}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Cursor:
        """The cursor at its last whole line."""
        cursor = cls(**(state | {"identity": tuple(state["identity"])}))
        if cursor.trail is not None:
            cursor.trail = Trail.from_state(cursor.trail)
        cursor.rewind()
        return cursor


def decide(cursor: Cursor, seen: FileSeen) -> Resume | Restart | Wait:
    """
    What to do with a file that may have changed since it was read.

    Size alone is no proof: a file that was truncated and refilled may be longer
    than before, and a replacement may begin with every byte we know.

    >>> cursor = Cursor(identity=(1, 2, 0))
    >>> cursor.advance(b"one\\ntw")
    >>> decide(cursor, FileSeen(FileStat(1, 2, 0, 9, 0.0), True, True))
    Resume(offset=6, rewind=False)
    >>> decide(cursor, FileSeen(FileStat(1, 2, 0, 3, 0.0), False, False))
    Restart(reason='truncated')
    >>> decide(cursor, FileSeen(FileStat(1, 9, 0, 9, 0.0), False, True))
    Resume(offset=4, rewind=True)
    """
    stat = seen.stat
    same_file = stat.identity == cursor.identity
    if not cursor.received:
        return Resume(0, rewind=not same_file)  # Nothing was read yet: begin, whatever it is.
    if same_file and stat.size >= cursor.received and seen.received_same and seen.offset_same:
        return Resume(cursor.received)
    if stat.size >= cursor.offset and seen.offset_same:
        return Resume(cursor.offset, rewind=True)
    if same_file and stat.remote and stat.size < cursor.received:
        return Wait()
    return Restart("truncated" if same_file else "replaced")
