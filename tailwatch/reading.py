"""Reading the followed files, whatever became of them since they were last read."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from .core.cursor import Cursor, Identity, Restart, decide
from .core.findings import Transition
from .core.names import distinct_name, escape, run_name
from .core.trail import Trail
from .core.trainer_state import beside, is_state, same_training
from .messages import Unreadable
from .owners import Owners
from .ports import Follower, Log, OpenFile
from .pump import Pumped, leave, pump, pump_previous, restart
from .tracked import Tracked

CHUNK_BYTES = 256 * 1024
"""One read of one file: what a run with a backlog can delay another by."""
CONFIG_LOOK_S = 30.0
RENAMED_S = 3600.0
"""How long a file that was renamed, with nothing in its place, is still looked at."""

Take = Callable[[Tracked, list[Transition], float], None]


@dataclass(slots=True)
class Reading:
    """
    The files by path, and what is to be read of them.

    Args:
        follower, log: The world.
        take: Called with what a read gave: the file, its transitions, Unix seconds.
        restarted: Called with the reason when a file is read again from byte 0.
        run_pattern: See `core.names.run_name`.
        named: Whether an ended run has this name.

    Attributes:
        files: By path.
        names: Of all runs in *files*.
        owners: Which run has which file: hard links and moves are not new runs.
        hinted: Paths that may have changed, in the order in which that was said.
        behind: Paths of which there is more to read.
    """

    follower: Follower
    log: Log
    take: Take
    restarted: Callable[[str], None]
    run_pattern: re.Pattern[str] | None
    named: Callable[[str], bool]
    files: dict[str, Tracked] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    hinted: dict[str, None] = field(default_factory=dict)
    behind: dict[str, None] = field(default_factory=dict)
    owners: Owners = field(init=False)
    _config_looks: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.owners = Owners(self.follower, self.files)

    def tidy(self, there: set[tuple[int, int]]) -> None:
        """Forget what is of no file that is followed, nor of an inode that is *there*."""
        for path in self._config_looks.keys() - self.files.keys():
            del self._config_looks[path]
        self.owners.tidy(there)

    def quiet_config(self, tracked: Tracked, monotonic_s: float) -> None:
        """Look for the configuration of a run that has gone quiet, whenever that was done."""
        self._config_looks.pop(tracked.path, None)
        self.configure(tracked, monotonic_s)

    def pump(self, tracked: Tracked, now_s: float, monotonic_s: float) -> int:
        """Read what is new in one file; return how many bytes that was."""
        if self._told_elsewhere(tracked):
            return 0
        self.configure(tracked, monotonic_s)
        try:
            return self._read_one(tracked, now_s, monotonic_s)
        except OSError as error:
            # A stale handle, a bad block: what is kept open may be what is broken.
            self.follower.release(tracked.path)
            self._unreadable(tracked, Unreadable(error.strerror or "cannot be read"), now_s, 0.0)
            return 0

    def _told_elsewhere(self, tracked: Tracked) -> bool:
        """Whether the rows of a trainer's state are in a metric file beside it, row by row."""
        if not is_state(tracked.path):
            return False
        for path, other in self.files.items():
            if other.name is None or other.kept.summary().loss is None or is_state(path):
                continue
            if beside(path, tracked.path):
                reason = same_training(other.name)
                if tracked.complaint != reason:
                    tracked.complaint, tracked.lag_bytes = reason, 0
                    self.log.info("file_skipped", file=escape(tracked.path), reason=reason)
                    self.follower.release(tracked.path)
                return True
        return False

    def _read_one(self, tracked: Tracked, now_s: float, monotonic_s: float) -> int:
        read = self._read_previous(tracked, now_s, monotonic_s)
        self._prove(tracked)
        opened = self.follower.open(tracked.path, tracked.cursor)
        if isinstance(opened, Unreadable):
            if opened.gone and (more := self._read_remainder(tracked, now_s, monotonic_s)):
                return read + more
            self._unreadable(tracked, opened, now_s, monotonic_s)
            return read
        try:
            step = decide(tracked.cursor, opened.seen)
            identity, holder = opened.seen.stat.identity, None
            if identity != tracked.cursor.identity:
                holder = self.owners.holder(tracked, identity)
            if (holder is not None or isinstance(step, Restart)) and tracked.cursor.received:
                more = self._read_remainder(tracked, now_s, monotonic_s)
                # As long as nothing is in the new file, its writer is still in the old one.
                if more or (tracked.left and opened.seen.stat.size == 0):
                    return read + more
            if holder is not None:
                return read + self._take_over(tracked, holder, identity, now_s, monotonic_s)
            if isinstance(step, Restart) and tracked.cursor.received:
                # What was left was perhaps read from a copy: the path tells what happened.
                same = opened.seen.stat.identity == tracked.at_path
                reason = "truncated" if same else "replaced"
                self._restart(tracked, reason, now_s, monotonic_s)
            pumped = pump(tracked, opened, CHUNK_BYTES, monotonic_s)
            tracked.at_path = identity
            self.owners.note(identity[:2], tracked)
        finally:
            opened.close()
        tracked.gone_s, tracked.complaint = None, ""
        tracked.given_up = tracked.left = False
        self._pumped(tracked, pumped, now_s, monotonic_s)
        return read + pumped.bytes_read

    def _take_over(
        self,
        tracked: Tracked,
        holder: Tracked,
        identity: Identity,
        now_s: float,
        monotonic_s: float,
    ) -> int:
        """The file at the path is one that a run was in, this one or another: go on there."""
        linked = holder is not tracked and self.follower.inode(holder.path) == identity[:2]
        if tracked.name is None or linked:
            holder.also_at(identity[:2], tracked.path)
            if tracked.name is None:
                self.follower.release(tracked.path)
                del self.files[tracked.path]
            return 0
        cursor = self.owners.place(holder, tracked.path, identity)
        assert cursor is not None
        if tracked.cursor.received:
            self._restart(tracked, "replaced", now_s, monotonic_s)
        leave(holder, cursor, monotonic_s)
        self.take(holder, [], now_s)
        tracked.cursor = cursor.taken_over(identity)
        tracked.reader.go_to(cursor.offset)
        return self._read_one(tracked, now_s, monotonic_s)

    def _prove(self, tracked: Tracked) -> None:
        """A file that is to be read again: is it the one of which things were counted?"""
        if tracked.proof is None:
            return
        if tracked.proof.trail is not None:
            # Of saves that are gone some rows are too: what was counted ends with the last save.
            tracked.cursor.trail = Trail(until_ns=tracked.proof.trail.written_ns)
            tracked.proof = None
            return
        opened = self.follower.open(tracked.path, tracked.proof)
        if isinstance(opened, Unreadable):
            return
        if isinstance(decide(tracked.proof, opened.seen), Restart):
            tracked.rebuild_end = 0
        tracked.proof = None
        opened.close()

    def _read_remainder(self, tracked: Tracked, now_s: float, monotonic_s: float) -> int:
        """Read what is left of the file that we were in; 0 if that is all of it."""
        left = self._remainder(tracked, tracked.cursor)
        tracked.left = left is not None
        if left is None:
            return 0
        try:
            pumped = pump(tracked, left, CHUNK_BYTES, monotonic_s)
        finally:
            left.close()
        self.owners.note(tracked.cursor.identity[:2], tracked)
        self._pumped(tracked, pumped, now_s, monotonic_s)
        if pumped.bytes_read:
            self.hinted[tracked.path] = None
        return pumped.bytes_read

    def _remainder(self, tracked: Tracked, cursor: Cursor) -> OpenFile | None:
        def foreign(identity: Identity) -> bool:
            return self.owners.is_of_another(tracked, identity)

        names, others = tracked.names_of(cursor), tracked.others(cursor)
        return self.follower.remainder(tracked.path, cursor, names, others, foreign)

    def _read_previous(self, tracked: Tracked, now_s: float, monotonic_s: float) -> int:
        read = 0
        for previous in list(tracked.previous):
            opened = self._remainder(tracked, previous.cursor)
            try:
                pumped = pump_previous(tracked, previous, opened, CHUNK_BYTES, monotonic_s)
            finally:
                if opened is not None:
                    opened.close()
            self.owners.note(previous.cursor.identity[:2], tracked)
            if previous not in tracked.previous:
                self.follower.leave(tracked.path)
            self._pumped(tracked, pumped, now_s, monotonic_s)
            read += pumped.bytes_read
        return read

    def _restart(self, tracked: Tracked, reason: str, now_s: float, monotonic_s: float) -> None:
        """The file at the path is another one, and the old one is read to its end."""
        transitions = restart(tracked, monotonic_s, linger=tracked.left)
        self.restarted(reason)
        self.log.info("file_restarted", file=escape(tracked.path), reason=reason)
        self.take(tracked, transitions, now_s)

    def _pumped(self, tracked: Tracked, pumped: Pumped, now_s: float, monotonic_s: float) -> None:
        saves = tracked.cursor.trail is not None
        # What was read to its end may be one save of several.
        if pumped.more or (pumped.bytes_read and saves):
            self.behind[tracked.path] = None
        if pumped.restarted:
            self.restarted(pumped.restarted)
            self.log.info("file_restarted", file=escape(tracked.path), reason=pumped.restarted)
        if pumped.bytes_read:
            tracked.arrived(now_s, monotonic_s)
        if tracked.name is None and not tracked.skipped and tracked.reader.is_metric:
            self._name(tracked)
        # Where the history in saves ends is known once nothing more comes of them.
        told = saves and tracked.history_due
        if pumped.bytes_read or pumped.transitions or pumped.restarted or told:
            self.take(tracked, pumped.transitions, now_s)

    def _name(self, tracked: Tracked) -> None:
        name = run_name(tracked.path, tracked.root, self.run_pattern)
        tracked.name = distinct_name(name, tracked.path, tracked.root, self._is_taken)
        self.names.add(tracked.name)
        self.log.info("run_found", run=tracked.name, file=escape(tracked.path))

    def _is_taken(self, name: str) -> bool:
        return name in self.names or self.named(name)

    def configure(self, tracked: Tracked, monotonic_s: float) -> None:
        """Look for the run's configuration, if that was not done just now."""
        looked_s = self._config_looks.get(tracked.path)
        if looked_s is None or monotonic_s - looked_s >= CONFIG_LOOK_S:
            self._config_looks[tracked.path] = monotonic_s
            tracked.configure(self.follower.run_config(tracked.path))

    def _unreadable(
        self, tracked: Tracked, why: Unreadable, now_s: float, monotonic_s: float
    ) -> None:
        tracked.changed = (0, 0, 0)  # Look again at the next sweep, whatever it says.
        if why.gone:
            if not tracked.gone:
                tracked.gone_s = monotonic_s
                self.log.info("file_gone", file=escape(tracked.path))
                if not tracked.at_rest:
                    self.take(tracked, tracked.rest(), now_s)
            # Its writer may not know that the file has another name now.
            renamed = tracked.left and monotonic_s - tracked.read_at_s < RENAMED_S
            tracked.given_up = not (tracked.names_of(tracked.cursor) or renamed)
            self.follower.release(tracked.path)
        elif tracked.complaint != why.reason and not why.unfinished:
            tracked.complaint = why.reason
            self.log.warning("file_unreadable", file=escape(tracked.path), reason=why.reason)
