"""Reading a followed file: what an open file gives, and what becomes of one that changed."""

from __future__ import annotations

from typing import NamedTuple

from .core.cursor import Cursor, Restart, Resume, Wait, decide
from .core.findings import Transition
from .core.lines import LineBuffer
from .core.trail import Trail
from .ports import OpenFile
from .tracked import Previous, Tracked

LINGER_S = 60.0
"""How long a file that was rotated away is still looked at: its writer may not know yet."""
LAG_S = 90.0
"""How long a network file system's word is doubted: sizes and data may come late."""
HOLE_READS_MAX = 256
HOLE_BYTES_MIN = 64 * 1024
HOLE_BYTES_MAX = 1 << 30
NULS = bytes(1 << 20)


class Pumped(NamedTuple):
    """
    What one read gave.

    Attributes:
        transitions: In order.
        bytes_read: How much of the file was read.
        more: Whether there is more to read now.
        restarted: The reason, if the file is being read again from byte 0.
    """

    transitions: list[Transition]
    bytes_read: int
    more: bool
    restarted: str | None


def pump(tracked: Tracked, opened: OpenFile, size: int, monotonic_s: float) -> Pumped:
    """Read at most *size* bytes of *opened* and evaluate them."""
    stat = opened.seen.stat
    step = decide(tracked.cursor, opened.seen)
    if isinstance(step, Wait):
        if not _doubts(tracked, monotonic_s):
            step = Restart("truncated")
        else:
            return Pumped([], 0, False, None)
    transitions: list[Transition] = []
    if isinstance(step, Restart):
        transitions += restart(tracked, monotonic_s, linger=False)
    elif step.rewind:
        if tracked.cursor.received and stat.identity != tracked.cursor.identity:
            # A copy: the file that it was made of may be there under another name.
            tracked.done_with(tracked.cursor.taken_over(tracked.cursor.identity))
        tracked.reader.rewind()
        tracked.cursor.rewind()
    tracked.cursor.identity, tracked.mtime_s = stat.identity, stat.mtime_s
    if opened.seen.trail is not None:
        _follow(tracked, opened.seen.trail)
    read = 0 if tracked.skipped else _read(tracked, opened, size, monotonic_s, transitions)
    if tracked.name is None and not tracked.skipped and tracked.reader.skippable:
        tracked.skipped = True
        tracked.kept.reader = None  # There may be thousands of data sets.
    tracked.lag_bytes = 0 if tracked.skipped else max(0, stat.size - tracked.cursor.received)
    restarted = step.reason if isinstance(step, Restart) else None
    return Pumped(transitions, max(0, read), read != 0 and tracked.lag_bytes > 0, restarted)


def _follow(tracked: Tracked, trail: Trail) -> None:
    """Go on among saves; after the last one that was there at first sight, all is news."""
    old, offset = tracked.cursor.trail, tracked.cursor.offset
    if old is not None and old.until_ns > trail.until_ns:
        tracked.history_end = min(offset, tracked.history_end)
        tracked.backlog_end = min(offset, tracked.backlog_end)
        tracked.rebuild_end = min(offset, tracked.rebuild_end)
    tracked.cursor.trail = trail


def _read(
    tracked: Tracked,
    opened: OpenFile,
    size: int,
    monotonic_s: float,
    transitions: list[Transition],
) -> int:
    """Bytes read; -1 if the file changed under us and is to be looked at again."""
    read = _pass_hole(tracked, opened)
    for _ in range(HOLE_READS_MAX):
        chunk = opened.read(tracked.cursor.received, size)
        if opened.seen.stat.remote:
            chunk = _without_late_data(tracked, chunk, monotonic_s)
        if not chunk:
            break
        # It may have been truncated and filled again since it was compared.
        if not opened.holds(tracked.cursor.received_marker, tracked.cursor.received):
            return -1
        tracked.at_rest = False
        transitions += tracked.reader.feed(chunk)
        tracked.cursor.advance(chunk)
        read += len(chunk)
        if chunk != NULS[: len(chunk)]:
            break  # Only a hole is passed in one go.
    return read


def _pass_hole(tracked: Tracked, opened: OpenFile) -> int:
    """Pass what was never written; on a network file system it may only be late."""
    if opened.seen.stat.remote:
        return 0
    hole = min(opened.hole(tracked.cursor.received), HOLE_BYTES_MAX)
    if hole < HOLE_BYTES_MIN or not tracked.reader.skip(hole):
        return 0
    tracked.cursor.skip(hole)
    return hole


def _without_late_data(tracked: Tracked, chunk: bytes, monotonic_s: float) -> bytes:
    """Network file systems show NULs where the data has not come yet: wait for it."""
    hole = chunk.find(b"\0")
    if hole < 0:
        tracked.doubt_s = None
        return chunk
    if not _doubts(tracked, monotonic_s):
        return chunk
    return chunk[: chunk.rfind(b"\n", 0, hole) + 1]


def _doubts(tracked: Tracked, monotonic_s: float) -> bool:
    if tracked.doubt_s is None:
        tracked.doubt_s = monotonic_s
    if monotonic_s - tracked.doubt_s < LAG_S:
        return True
    tracked.doubt_s = None
    return False


def restart(tracked: Tracked, monotonic_s: float, *, linger: bool) -> list[Transition]:
    """Begin at byte 0 of another file; *linger*: something may still come of the old one."""
    transitions: list[Transition] = []
    old = tracked.cursor
    if not linger:
        transitions += tracked.reader.end_tail()
    if tracked.reader.is_metric:
        lines = tracked.reader.source_restarted()
        if linger:
            tracked.previous.append(Previous(old, lines, monotonic_s))
        else:
            tracked.done_with(old)
    else:
        tracked.kept.reader = tracked.reader.anew()
    tracked.cursor, tracked.skipped, tracked.doubt_s = Cursor(), False, None
    tracked.history_end = tracked.backlog_end = tracked.rebuild_end = 0
    return transitions


def leave(tracked: Tracked, cursor: Cursor, monotonic_s: float) -> None:
    """Another run goes on in the file of *cursor*, behind its last whole line."""
    tracked.forget(cursor)
    if cursor is tracked.cursor:
        tracked.reader.rewind()
        restart(tracked, monotonic_s, linger=False)
        tracked.forget(cursor)


def pump_previous(
    tracked: Tracked, previous: Previous, opened: OpenFile | None, size: int, monotonic_s: float
) -> Pumped:
    """Read what still came of an older file; let go of it once it has been quiet."""
    transitions: list[Transition] = []
    chunk = b""
    if opened is not None:
        step = decide(previous.cursor, opened.seen)
        if isinstance(step, Resume):
            if step.rewind:
                previous.lines = LineBuffer(offset=step.offset)
                previous.cursor.rewind()
            previous.cursor.identity = opened.seen.stat.identity
            chunk = opened.read(previous.cursor.received, size)
    if chunk:
        transitions += tracked.reader.feed(chunk, previous.lines)
        previous.cursor.advance(chunk)
        previous.quiet_s = monotonic_s
    elif opened is None or _done_with(previous, opened, monotonic_s):
        transitions += tracked.reader.end_tail(previous.lines)
        if previous.lines.resume_offset == previous.cursor.received:
            previous.cursor.settle_tail()
        tracked.previous.remove(previous)
        tracked.done_with(previous.cursor)
    return Pumped(transitions, len(chunk), bool(chunk), None)


def _done_with(previous: Previous, opened: OpenFile, monotonic_s: float) -> bool:
    # A file that was deleted is on disk only as long as we hold it.
    return not opened.seen.stat.links or monotonic_s - previous.quiet_s >= LINGER_S
