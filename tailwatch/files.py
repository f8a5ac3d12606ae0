"""The files that the engine follows: finding them, reading them, seeing them end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from .core.check import Check
from .core.fields import FieldMap
from .core.findings import Transition
from .core.names import distinct_name, escape, run_name
from .core.reader import RunReader
from .ports import Follower, FoundFile, Log, RunRecord, Scanner, Unreadable
from .tracked import Pumped, Tracked

CHUNK_BYTES = 256 * 1024
"""One read of one file: what a run with a backlog can delay another by."""
TURN_BYTES = 4 * 1024 * 1024
CONFIG_LOOK_S = 30.0

Take = Callable[[Tracked, list[Transition], float], None]


@dataclass(slots=True)
class Files:
    """
    Every followed file, by path.

    Args:
        checks: The checks of each run.
        scanner, follower, log: The world.
        take: Called with what a read gave: the file, its transitions, Unix seconds.
        restarted: Called with the reason when a file is read again from byte 0.
        old_s: A file that appears with an older last change (seconds) is history.
        run_pattern: See `core.names.run_name`.
    """

    checks: Sequence[type[Check]]
    scanner: Scanner
    follower: Follower
    log: Log
    take: Take
    restarted: Callable[[str], None]
    old_s: float
    run_pattern: re.Pattern[str] | None
    known_roots: set[str] = field(default_factory=set)
    fields: FieldMap = field(default_factory=FieldMap)
    _files: dict[str, Tracked] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)
    _hinted: dict[str, None] = field(default_factory=dict)
    _behind: dict[str, None] = field(default_factory=dict)
    _config_looks: dict[str, float] = field(default_factory=dict)
    swept: bool = False

    def restore(self, records: Iterable[RunRecord], now_s: float, monotonic_s: float) -> None:
        """Take up the files of an earlier process."""
        for record in records:
            tracked = Tracked.from_record(record, self.checks, self.fields)
            tracked.read_at_s = monotonic_s - max(0.0, now_s - tracked.last_seen_s)
            self._files[tracked.path] = tracked
            self._names.add(record.name)

    def all(self) -> Iterable[Tracked]:
        """Every followed file."""
        return self._files.values()

    def hint(self, paths: Iterable[str]) -> None:
        """These files, or files below these directories, may have changed."""
        self._hinted.update(dict.fromkeys(paths))

    def waiting(self) -> bool:
        """Whether there is something to read at once."""
        return bool(self._hinted or self._behind)

    def sweep(self, now_s: float, monotonic_s: float) -> None:
        """Look at every file there is: what no event told of is found here."""
        initial, seen = not self.swept, set()
        for found in self.scanner.sweep():
            seen.add(found.path)
            tracked = self._files.get(found.path)
            if tracked is None:
                tracked = self._discover(found, now_s, monotonic_s)
            if initial:
                tracked.backlog_end = found.size
            if tracked.changed != found.changed or tracked.gone:
                tracked.changed = found.changed
                self._hinted[found.path] = None
        missing = self.scanner.missing()
        for path, tracked in self._files.items():
            if path not in seen and not tracked.gone and tracked.root not in missing:
                self._hinted[path] = None
        self.known_roots |= set(self.scanner.roots()) - missing
        self.swept = True

    def _discover(self, found: FoundFile, now_s: float, monotonic_s: float) -> Tracked:
        reader = RunReader(self.checks, fields=self.fields)
        tracked = Tracked(found.path, found.root, reader, mtime_s=found.mtime_s)
        tracked.last_seen_s, tracked.read_at_s = now_s, monotonic_s
        root = found.path if found.root is None else found.root
        # What was there before we first looked, or comes with an old date, is history.
        first_sight = not self.swept and root not in self.known_roots
        if first_sight or (self.swept and now_s - found.mtime_s > self.old_s):
            tracked.history_end = tracked.backlog_end = found.size
        self._files[found.path] = tracked
        return tracked

    def read(self, now_s: float, monotonic_s: float) -> None:
        """
        Read what was hinted at, then what is behind, up to the bytes of a turn.

        A fresh row goes before a backlog, and no file has more than one chunk.
        """
        budget = TURN_BYTES
        for path in [*self._hinted, *(p for p in self._behind if p not in self._hinted)]:
            if budget <= 0:
                break
            self._hinted.pop(path, None)
            self._behind.pop(path, None)
            tracked = self._files.get(path)
            if tracked is not None:
                budget -= self._pump(tracked, now_s, monotonic_s)
                continue
            for found in self.scanner.find(path):
                if found.path not in self._files:
                    tracked = self._discover(found, now_s, monotonic_s)
                    budget -= self._pump(tracked, now_s, monotonic_s)
                else:  # A directory was named: its known files have hints of their own.
                    self._hinted[found.path] = None

    def _pump(self, tracked: Tracked, now_s: float, monotonic_s: float) -> int:
        self._configure(tracked, monotonic_s)
        try:
            opened = self.follower.open(tracked.path, tracked.cursor)
            if isinstance(opened, Unreadable):
                self._unreadable(tracked, opened, now_s)
                return 0
            try:
                pumped = tracked.pump(opened, self.checks, CHUNK_BYTES)
            finally:
                opened.close()
        except OSError as error:
            self._unreadable(tracked, Unreadable(error.strerror or "cannot be read"), now_s)
            return 0
        tracked.gone, tracked.complaint = False, ""
        self._pumped(tracked, pumped, now_s, monotonic_s)
        return pumped.bytes_read

    def _pumped(self, tracked: Tracked, pumped: Pumped, now_s: float, monotonic_s: float) -> None:
        if pumped.more:
            self._behind[tracked.path] = None
        if pumped.restarted:
            self.restarted(pumped.restarted)
            self.log.info("file_restarted", file=escape(tracked.path), reason=pumped.restarted)
        if pumped.bytes_read:
            tracked.arrived(now_s, monotonic_s)
        if tracked.name is None and tracked.reader.is_metric:
            self._name(tracked)
        if pumped.bytes_read or pumped.restarted:
            self.take(tracked, pumped.transitions, now_s)

    def _name(self, tracked: Tracked) -> None:
        name = run_name(tracked.path, tracked.root, self.run_pattern)
        tracked.name = distinct_name(name, tracked.path, tracked.root, self._names)
        self._names.add(tracked.name)
        self.log.info("run_found", run=tracked.name, file=escape(tracked.path))

    def _configure(self, tracked: Tracked, monotonic_s: float) -> None:
        looked_s = self._config_looks.get(tracked.path)
        if looked_s is None or monotonic_s - looked_s >= CONFIG_LOOK_S:
            self._config_looks[tracked.path] = monotonic_s
            tracked.configure(self.follower.run_config(tracked.path))

    def _unreadable(self, tracked: Tracked, why: Unreadable, now_s: float) -> None:
        tracked.changed = (0, 0, 0)  # Look again at the next sweep, whatever it says.
        if why.gone and not tracked.gone:
            tracked.gone = True
            self.log.info("file_gone", file=escape(tracked.path))
            if not tracked.at_rest:
                self.take(tracked, tracked.rest(), now_s)
        elif not why.gone and tracked.complaint != why.reason:
            tracked.complaint = why.reason
            self.log.warning("file_unreadable", file=escape(tracked.path), reason=why.reason)

    def rest(self, now_s: float, monotonic_s: float) -> None:
        """See which runs have gone quiet."""
        for tracked in self._files.values():
            due_s = tracked.rest_due_s()
            if due_s is not None and monotonic_s >= due_s and tracked.path not in self._behind:
                self._config_looks.pop(tracked.path, None)
                self._configure(tracked, monotonic_s)
                self.take(tracked, tracked.rest(), now_s)
