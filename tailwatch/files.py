"""The files that the engine follows: finding them, and seeing them move, rest and end."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Sequence, Set
from dataclasses import dataclass, field

from .core.check import Check
from .core.field_rules import FieldRules
from .core.trainer_state import beside, is_state
from .discovery import Discovery
from .messages import FoundFile, RunRecord
from .ports import Follower, Log, Scanner
from .quiet import Quiet, Writers
from .readers import Readers
from .reading import Reading, Take
from .tracked import Tracked

TURN_BYTES = 4 * 1024 * 1024
FILE_BYTES = 32 * 1024
"""Each file counts as so much at least: what a turn unpacks, it packs only at its end."""
ENDS_S = 60.0
"""A run whose file has been gone for this long has ended: it is kept on disk alone."""


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
    readers: Readers = field(init=False)
    _reading: Reading = field(init=False)
    _quiet: Quiet = field(init=False)
    _discovery: Discovery = field(init=False)

    def __post_init__(self) -> None:
        self._reading = Reading(
            self.follower, self.log, self.take, self.restarted, self.run_pattern, self.named
        )
        self.readers = Readers(self.checks, self.fields)
        self._discovery = Discovery(
            self._reading, self.readers, self.follower, self.log, self.moved, self.recall
        )
        self._quiet = Quiet(self.checks, self._reading, self.follower, self.take, self.writers)

    def restore(
        self,
        records: Iterable[RunRecord],
        now_s: float,
        monotonic_s: float,
        ended: Iterable[RunRecord] = (),
    ) -> int:
        """
        Take up the files of an earlier process, and return how many runs those were.

        *ended* are runs whose file was gone by then; they are not counted.
        """
        runs = 0
        for record in records:
            self._restore(record, now_s, monotonic_s)
            runs += 1
        for record in ended:
            # What ended lately is still shown: it ends once more, since its file is still gone.
            if now_s - record.state["last_seen_s"] <= self.keep_s:
                self._restore(record, now_s, monotonic_s)
        return runs

    def _restore(self, record: RunRecord, now_s: float, monotonic_s: float) -> None:
        tracked = self._discovery.restored(record)
        tracked.read_at_s = monotonic_s - max(0.0, now_s - tracked.last_seen_s)
        for each in tracked.previous:
            each.quiet_s = monotonic_s
        self._discovery.take_up(tracked, record.path, record.name)

    def all(self) -> Iterable[Tracked]:
        """Every followed file."""
        return self._reading.files.values()

    def hint(self, paths: Collection[str]) -> None:
        """These files, or files below these directories, may have changed."""
        for path in paths:
            self.scanner.stir(path)
        self._reading.hinted.update(dict.fromkeys(paths))

    def waiting(self) -> bool:
        """Whether there is something to read at once."""
        return bool(self._reading.hinted or self._reading.behind)

    def sweep(self, now_s: float, monotonic_s: float, trusted: Set[str] = frozenset()) -> None:
        """
        Look at every file there is: what no event told of is found here.

        Args:
            trusted: Roots of which all events of late were hinted at.
        """
        initial, files = not self.swept, self._reading.files
        there = self.scanner.sweep(trusted)
        # Nearly all files are as they were at the last sweep: none of those costs a call.
        other = [
            (found, tracked)
            for path, found in there.items()
            if (tracked := files.get(path)) is None
            or tracked.changed is not found.changed
            or tracked.gone_s is not None
            or tracked.left
            or tracked.previous
        ]
        # Known paths first: a file that is new under one name may be old under another.
        for found, tracked in other:
            if tracked is not None:
                self._see(found, tracked, initial)
        for found, tracked in other:
            if tracked is None:
                tracked = files.get(found.path) or self._discover(found, now_s, monotonic_s)
                self._see(found, tracked, initial)
        missing = self.scanner.missing()
        for path in [path for path in files if path not in there]:
            tracked = files[path]
            if tracked.root not in missing and not tracked.given_up:
                self._reading.hinted[path] = None
        if not missing:
            for tracked in [each for each in files.values() if each.aliases]:
                tracked.aliases = {k: v for k, v in tracked.aliases.items() if k in there}
        self._end(monotonic_s)
        self._reading.tidy({found.inode for found in there.values()})
        self.known_roots |= set(self.scanner.roots()) - missing
        self.swept = True

    def _see(self, found: FoundFile, tracked: Tracked, initial: bool) -> None:
        self._reading.owners.note(found.inode, tracked)
        if initial and tracked.path == found.path:
            if tracked.as_it_was(found):
                tracked.changed = found.changed
            tracked.was_there(found)
        if tracked.changed != found.changed or tracked.unsettled:
            self._reading.hinted[tracked.path] = None
        tracked.changed = found.changed

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
                self._discovery.note_ended(tracked)

    def _discover(self, found: FoundFile, now_s: float, monotonic_s: float) -> Tracked:
        root = found.path if found.root is None else found.root
        # What was there before we first looked, or comes with an old date, is history.
        first_sight = not self.swept and root not in self.known_roots
        old = first_sight or (self.swept and now_s - found.mtime_s > self.old_s)
        return self._discovery.run_of(found, now_s, monotonic_s, history=old)

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
                budget -= max(FILE_BYTES, self._pump(tracked, now_s, monotonic_s))
                continue
            for found in self.scanner.find(path):
                known = self._reading.files.get(found.path)
                if known is None:
                    known = self._discover(found, now_s, monotonic_s)
                    budget -= max(FILE_BYTES, self._pump(known, now_s, monotonic_s))
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
