"""The files that the engine follows: finding them, and seeing them move, rest and end."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from .core.check import Check
from .core.cursor import Cursor
from .core.field_rules import FieldRules
from .core.fields import FieldMap
from .core.lines import LineBuffer
from .core.names import escape
from .core.reader import RunReader
from .core.trainer_state import beside, is_state
from .messages import FoundFile, RunRecord
from .ports import Follower, Log, Scanner
from .quiet import Quiet, Writers
from .reading import Reading, Take
from .tracked import Previous, Tracked

TURN_BYTES = 4 * 1024 * 1024
MOVED_S = 30.0
"""A run whose path has been empty for this long, and its file elsewhere, has moved."""
ENDS_S = 60.0
"""A run whose file has been gone for this long has ended: it is kept on disk alone."""
ENDED_INODES_MAX = 1000


@dataclass(slots=True)
class Files:
    """
    Every followed file, by path.

    Args:
        checks: The checks of each run.
        scanner, follower, log: The world.
        take: Called with what a read gave: the file, its transitions, Unix seconds.
        restarted: Called with the reason when a file is read again from byte 0.
        moved: Called with a run whose file has moved, and its old path.
        ended: Called with a run whose file has been gone for longer than `ENDS_S`.
        recall: Gives the record of a run that ended in a path.
        named: Whether an ended run has this name.
        old_s: A file that appears with an older last change (seconds) is history.
        keep_s: Runs that ended are taken up after a restart if their last row is not older.
        run_pattern: See `core.names.run_name`.
        fields: What the keys of each file mean.
        writers: See `quiet.Quiet`.
    """

    checks: Sequence[type[Check]]
    scanner: Scanner
    follower: Follower
    log: Log
    take: Take
    restarted: Callable[[str], None]
    moved: Callable[[Tracked, str], None]
    ended: Callable[[Tracked], None]
    recall: Callable[[str], RunRecord | None]
    named: Callable[[str], bool]
    old_s: float
    keep_s: float
    run_pattern: re.Pattern[str] | None
    fields: FieldRules
    writers: Writers
    known_roots: set[str] = field(default_factory=set)
    swept: bool = False
    _reading: Reading = field(init=False)
    _quiet: Quiet = field(init=False)
    _ended: dict[tuple[int, int], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._reading = Reading(
            self.follower, self.log, self.take, self.restarted, self.run_pattern, self.named
        )
        self._quiet = Quiet(self.checks, self._reading, self.follower, self.take, self.writers)

    def restore(
        self,
        records: Iterable[RunRecord],
        now_s: float,
        monotonic_s: float,
        ended: Iterable[RunRecord] = (),
    ) -> None:
        """Take up the files of an earlier process; *ended*: whose file was gone by then."""
        # What ended lately is still shown: it ends once more, since its file is still gone.
        lately = (r for r in ended if now_s - r.state["last_seen_s"] <= self.keep_s)
        for record in (*records, *lately):
            tracked = Tracked.from_record(record, self.checks, self._fields(record))
            tracked.read_at_s = monotonic_s - max(0.0, now_s - tracked.last_seen_s)
            for each in tracked.previous:
                each.quiet_s = monotonic_s
            self._reading.files[tracked.path] = tracked
            self._reading.names.add(record.name)
            self._reading.owners.note_all(tracked)

    def all(self) -> Iterable[Tracked]:
        """Every followed file."""
        return self._reading.files.values()

    def hint(self, paths: Iterable[str]) -> None:
        """These files, or files below these directories, may have changed."""
        self._reading.hinted.update(dict.fromkeys(paths))

    def waiting(self) -> bool:
        """Whether there is something to read at once."""
        return bool(self._reading.hinted or self._reading.behind)

    def sweep(self, now_s: float, monotonic_s: float) -> None:
        """Look at every file there is: what no event told of is found here."""
        initial, seen = not self.swept, set()
        inodes: set[tuple[int, int]] = set()
        # Known paths first: a file that is new under one name may be old under another.
        for found in sorted(self.scanner.sweep(), key=lambda f: f.path not in self._reading.files):
            seen.add(found.path)
            tracked = self._reading.files.get(found.path) or self._discover(
                found, now_s, monotonic_s
            )
            self._reading.owners.note(found.inode, tracked)
            inodes.add(found.inode)
            if initial and tracked.path == found.path:
                tracked.was_there(found)
            follows_on = tracked.gone or tracked.left or tracked.previous
            if tracked.changed != found.changed or follows_on:
                tracked.changed = found.changed
                self._reading.hinted[tracked.path] = None
        missing = self.scanner.missing()
        for path, tracked in self._reading.files.items():
            if path not in seen and tracked.root not in missing and not tracked.given_up:
                self._reading.hinted[path] = None
            if tracked.aliases and not missing:
                tracked.aliases = {k: v for k, v in tracked.aliases.items() if k in seen}
        self._end(monotonic_s)
        self._reading.tidy(inodes)
        self.known_roots |= set(self.scanner.roots()) - missing
        self.swept = True

    def _end(self, monotonic_s: float) -> None:
        """Hold no run whose file is gone; one that has others which are there has a hint."""
        reading, over = self._reading, []
        for path, tracked in reading.files.items():
            gone_s = tracked.gone_s if tracked.given_up else None
            if gone_s is None or monotonic_s - gone_s <= ENDS_S:
                continue
            if path not in reading.hinted:
                over.append(path)
        ended = [reading.files.pop(path) for path in over]
        if ended:
            reading.owners.forget(ended)
        for path, tracked in zip(over, ended, strict=True):
            self.follower.release(path)
            self.ended(tracked)
            if tracked.name is not None:
                reading.names.discard(tracked.name)
                self._ended.update((c.identity[:2], path) for c in tracked.cursors())
        while len(self._ended) > ENDED_INODES_MAX:
            del self._ended[next(iter(self._ended))]

    def _discover(self, found: FoundFile, now_s: float, monotonic_s: float) -> Tracked:
        if owner := self._owner(found, monotonic_s):
            return owner
        if record := self.recall(found.path):
            return self._return(record, found, now_s, monotonic_s)
        if owner := self._ended_elsewhere(found, monotonic_s):
            return owner
        reader = RunReader(self.checks, fields=self.fields.of(found.path, found.root))
        tracked = Tracked(found.path, found.root, reader, mtime_s=found.mtime_s)
        tracked.last_seen_s, tracked.read_at_s = now_s, monotonic_s
        root = found.path if found.root is None else found.root
        # What was there before we first looked, or comes with an old date, is history.
        first_sight = not self.swept and root not in self.known_roots
        if first_sight or (self.swept and now_s - found.mtime_s > self.old_s):
            tracked.history_end = found.size
            tracked.was_there(found)
        self._reading.files[found.path] = tracked
        self._reading.owners.note(found.inode, tracked)
        return tracked

    def _return(
        self, record: RunRecord, found: FoundFile, now_s: float, monotonic_s: float
    ) -> Tracked:
        """A run that ended is there again: its counts go on."""
        tracked = Tracked.from_record(record, self.checks, self._fields(record))
        tracked.last_seen_s, tracked.read_at_s = now_s, monotonic_s
        tracked.given_up, tracked.gone_s = False, None
        self._take_up(tracked, found.path, record.name)
        return tracked

    def _ended_elsewhere(self, found: FoundFile, monotonic_s: float) -> Tracked | None:
        """The run that ended when this file was moved away, now that it is back elsewhere."""
        path = self._ended.get(found.inode)
        record = self.recall(path) if path and path not in self._reading.files else None
        if not path or not record:
            return None
        tracked = Tracked.from_record(record, self.checks, self._fields(record))
        if not self._reading.owners.was_in(tracked, found):
            return None
        tracked.gone_s = tracked.read_at_s = monotonic_s - MOVED_S
        self._take_up(tracked, path, record.name)
        return self._owner(found, monotonic_s)

    def _take_up(self, tracked: Tracked, path: str, name: str) -> None:
        self._reading.files[path] = tracked
        self._reading.owners.note_all(tracked)
        self._reading.names.add(name)

    def _fields(self, record: RunRecord) -> FieldMap:
        return self.fields.of(record.path, record.root)

    def _owner(self, found: FoundFile, monotonic_s: float) -> Tracked | None:
        """The run that this file is of already, under another name: a link, or moved."""
        owned = self._reading.owners.owner(found)
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
        del self._reading.files[old]
        owner.path, owner.root = found.path, found.root
        owner.aliases.pop(found.path, None)
        owner.gone_s = None
        self._reading.files[found.path] = owner
        self.moved(owner, old)
        self.log.info("file_moved", old=escape(old), new=escape(found.path))
        return owner

    def read(self, now_s: float, monotonic_s: float) -> None:
        """
        Read what was hinted at, then what is behind, up to the bytes of a turn.

        A fresh row goes before a backlog, and no file has more than one chunk.
        """
        budget = TURN_BYTES
        # States last: a metric file may tell of the same training.
        hinted = dict.fromkeys(sorted(self._reading.hinted, key=is_state))
        for path in [*hinted, *(p for p in self._reading.behind if p not in hinted)]:
            if budget <= 0:
                break
            self._reading.hinted.pop(path, None)
            self._reading.behind.pop(path, None)
            tracked = self._reading.files.get(path)
            if tracked is not None:
                budget -= self._pump(tracked, now_s, monotonic_s)
                continue
            for found in self.scanner.find(path):
                known = self._reading.files.get(found.path)
                if known is None:
                    known = self._discover(found, now_s, monotonic_s)
                    budget -= self._pump(known, now_s, monotonic_s)
                else:  # A directory was named: its known files have hints of their own.
                    self._reading.hinted[known.path] = None

    def _pump(self, tracked: Tracked, now_s: float, monotonic_s: float) -> int:
        read = 0
        if tracked.name is None and is_state(tracked.path):
            # A metric file beside it may tell of the same training: look at that first.
            for found in self.scanner.find(posixpath.dirname(tracked.path)):
                if is_state(found.path) or not beside(found.path, tracked.path):
                    continue
                known = self._reading.files.get(found.path)
                if known is None:
                    known = self._discover(found, now_s, monotonic_s)
                if known.name is None:
                    read += self._reading.pump(known, now_s, monotonic_s)
        return read + self._reading.pump(tracked, now_s, monotonic_s)

    def rest(self, now_s: float, monotonic_s: float) -> None:
        """See which runs have gone quiet."""
        self._quiet.look(now_s, monotonic_s)
