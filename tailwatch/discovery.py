"""Files that were not known: of which run they are, or that they are new ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from .core.cursor import Cursor
from .core.lines import LineBuffer
from .core.names import escape
from .messages import FoundFile, RunRecord
from .ports import Follower, Log
from .readers import Readers
from .reading import Reading
from .records import tracked_of
from .tracked import Previous, Tracked

MOVED_S = 30.0
"""A run whose path has been empty for this long, and its file elsewhere, has moved."""
ENDED_INODES_MAX = 1000


@dataclass(slots=True)
class Discovery:
    """
    Finds the run of a file at a path that no run has.

    Args:
        reading: The followed files.
        readers: Makes the reader of a new run.
        follower, log: The world.
        moved: Called with a run whose file has moved, and its old path.
        recall: Gives the record of a run that ended in a path.

    Attributes:
        ended: Device and inode of files of runs that ended -> the runs' paths.
    """

    reading: Reading
    readers: Readers
    follower: Follower
    log: Log
    moved: Callable[[Tracked, str], None]
    recall: Callable[[str], RunRecord | None]
    ended: dict[tuple[int, int], str] = field(default_factory=dict)

    def run_of(
        self, found: FoundFile, now_s: float, monotonic_s: float, *, history: bool
    ) -> Tracked:
        """
        The run of a file at a path that no run has: it is followed from now on.

        Args:
            history: Whether a new run's rows up to here happened long ago.
        """
        if owner := self._owner(found, monotonic_s):
            return owner
        if record := self.recall(found.path):
            return self._return(record, found, now_s, monotonic_s)
        if owner := self._ended_elsewhere(found, monotonic_s):
            return owner
        kept = self.readers.new(found.path, found.root)
        tracked = Tracked(found.path, found.root, kept, mtime_s=found.mtime_s)
        tracked.last_seen_s, tracked.read_at_s = now_s, monotonic_s
        if history:
            tracked.history_end = found.size
            tracked.was_there(found)
        self.reading.files[found.path] = tracked
        self.reading.owners.note(found.inode, tracked)
        return tracked

    def note_ended(self, run: Tracked) -> None:
        """The run has ended: its files may come back elsewhere."""
        self.ended.update((cursor.identity[:2], run.path) for cursor in run.cursors())
        while len(self.ended) > ENDED_INODES_MAX:
            del self.ended[next(iter(self.ended))]

    def _return(
        self, record: RunRecord, found: FoundFile, now_s: float, monotonic_s: float
    ) -> Tracked:
        """A run that ended is there again: its counts go on."""
        tracked = self.restored(record)
        tracked.last_seen_s, tracked.read_at_s = now_s, monotonic_s
        tracked.given_up, tracked.gone_s = False, None
        self.take_up(tracked, found.path, record.name)
        return tracked

    def _ended_elsewhere(self, found: FoundFile, monotonic_s: float) -> Tracked | None:
        """The run that ended when this file was moved away, now that it is back elsewhere."""
        path = self.ended.get(found.inode)
        record = self.recall(path) if path and path not in self.reading.files else None
        if not path or not record:
            return None
        tracked = self.restored(record)
        if not self.reading.owners.was_in(tracked, found):
            return None
        tracked.gone_s = tracked.read_at_s = monotonic_s - MOVED_S
        self.take_up(tracked, path, record.name)
        return self._owner(found, monotonic_s)

    def take_up(self, tracked: Tracked, path: str, name: str) -> None:
        """Follow a run that was kept."""
        self.reading.files[path] = tracked
        self.reading.owners.note_all(tracked)
        self.reading.names.add(name)

    def restored(self, record: RunRecord) -> Tracked:
        """The run that was kept as *record*."""
        return tracked_of(record, self.readers.new(record.path, record.root))

    def _owner(self, found: FoundFile, monotonic_s: float) -> Tracked | None:
        """The run that this file is of already, under another name: a link, or moved."""
        owned = self.reading.owners.owner(found)
        if owned is None:
            return None
        owner, cursor = owned
        empty_s = None if owner.gone_s is None else monotonic_s - owner.gone_s
        if cursor is owner.cursor and empty_s is not None and empty_s >= MOVED_S:
            if self.follower.inode(owner.path) is None:
                return self._adopt(owner, found)
        elif cursor is not None and found.size > cursor.received:
            self._recall(owner, cursor, found, monotonic_s)
        owner.also_at(found.inode, found.path)
        return owner

    def _recall(
        self, owner: Tracked, cursor: Cursor, found: FoundFile, monotonic_s: float
    ) -> None:
        """A file that was done with holds more: read what did not come from a copy of it."""
        if all(each is not cursor for each in owner.past):
            return
        owner.forget(cursor)
        others = owner.others(cursor)
        cursor = self.follower.pass_known(found.path, cursor, others, owner.path)
        if found.size > cursor.offset:
            lines = LineBuffer(offset=cursor.offset)
            cursor.rewind()
            owner.previous.append(Previous(cursor, lines, monotonic_s))
        else:
            owner.done_with(cursor)

    def _adopt(self, owner: Tracked, found: FoundFile) -> Tracked:
        """The run's file has moved for good: follow it under its new path."""
        old = owner.path
        self.follower.release(old)
        del self.reading.files[old]
        owner.path, owner.root = found.path, found.root
        owner.aliases.pop(found.path, None)
        owner.gone_s = None
        self.reading.files[found.path] = owner
        self.moved(owner, old)
        self.log.info("file_moved", old=escape(old), new=escape(found.path))
        return owner
