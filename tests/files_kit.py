"""The files of a real directory, followed without an engine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from tailwatch.checks import CHECKS
from tailwatch.core.check import Check, RunConfig
from tailwatch.core.cursor import Cursor
from tailwatch.core.field_rules import FieldRules
from tailwatch.core.findings import Transition
from tailwatch.core.globs import PathFilter
from tailwatch.files import ENDS_S, Files
from tailwatch.messages import RunRecord, Unreadable
from tailwatch.records import record_of
from tailwatch.shell.follower import LocalFile, LocalFollower
from tailwatch.shell.scanner import DirectoryScanner
from tailwatch.tracked import Tracked
from tests.shell.helpers import MemoryLog

ROW = b'{"step": 1, "loss": 1.0}\n'
WIDE = b'{"step": 1, "loss": 1.0, "note": "' + b"x" * 1000 + b'"}\n'


class FakeFollower(LocalFollower):
    """The real follower, but for files that it is told to fail on; remembers who was opened."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.refused: dict[str, Unreadable | OSError] = {}
        self.configs: dict[str, RunConfig] = {}

    def open(self, path: str, cursor: Cursor) -> LocalFile | Unreadable:
        self.opened.append(os.path.basename(path))
        refusal = self.refused.get(path)
        if isinstance(refusal, OSError):
            raise refusal
        return refusal or super().open(path, cursor)

    def run_config(self, path: str) -> RunConfig | None:
        return self.configs.get(path)


class Kit:
    """Files of a real directory, and what they told the engine."""

    def __init__(self, root: Path, *more: Path, checks: Sequence[type[Check]] = CHECKS) -> None:
        self.root = root
        self.follower = FakeFollower()
        self.log = MemoryLog()
        self.taken: list[tuple[str, list[str]]] = []
        self.restarts: list[str] = []
        self.ended: dict[str, RunRecord] = {}
        roots = [str(path) for path in (root, *more)]
        self.files = Files(
            checks,
            DirectoryScanner(roots, PathFilter(["**/*.jsonl"])),
            self.follower,
            self.log,
            take=self._take,
            restarted=self.restarts.append,
            moved=lambda tracked, old: None,
            ended=self._end,
            recall=self.ended.get,
            named=lambda name: False,
            keep_s=1e9,
            old_s=3600.0,
            run_pattern=None,
            fields=FieldRules(),
            writers=lambda _: {},
        )

    def _take(self, tracked: Tracked, transitions: list[Transition], now_s: float) -> None:
        self.taken.append((os.path.basename(tracked.path), [t.category for t in transitions]))

    def _end(self, tracked: Tracked) -> None:
        if tracked.name is not None:
            self.ended[tracked.path] = record_of(tracked)

    def sweep(self, now_s: float, monotonic_s: float = 0.0) -> None:
        self.files.sweep(now_s, monotonic_s)

    def read(self, now_s: float = 1000.0, monotonic_s: float = 0.0) -> list[str]:
        """One turn of reading; returns whose files were opened, in order."""
        self.follower.opened.clear()
        self.files.read(now_s, monotonic_s)
        return list(self.follower.opened)

    def drain(self, now_s: float = 1000.0, monotonic_s: float = 0.0) -> None:
        turns = 0
        while self.files.waiting():
            self.read(now_s, monotonic_s)
            turns += 1
            assert turns < 1000

    def put(self, name: str, content: bytes, mtime_s: float = 1000.0) -> str:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(content)
        os.utime(path, (mtime_s, mtime_s))
        return str(path)

    def tracked(self, name: str) -> Tracked:
        return next(t for t in self.files.all() if t.path == str(self.root / name))


def after_its_end(kit: Kit, began_s: float = 0.0) -> None:
    """Sweeps for longer than a run is held whose file is gone."""
    for monotonic_s in range(0, 3 * int(ENDS_S), 10):
        kit.sweep(1000.0, began_s + monotonic_s)
        kit.drain(1000.0, began_s + monotonic_s)
