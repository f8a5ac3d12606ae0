"""The engine on a real file system and a real database, with hints under our control."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from tailwatch.board import Board
from tailwatch.checks import CHECKS
from tailwatch.config_file import FileSettings
from tailwatch.core.check import Check
from tailwatch.core.findings import Evidence, Hold, Severity
from tailwatch.core.globs import PathFilter
from tailwatch.core.reader import RunReader
from tailwatch.core.rows import Row
from tailwatch.dispatch import Dispatch
from tailwatch.engine import Engine, Options
from tailwatch.messages import Incoming
from tailwatch.packing import unpack
from tailwatch.ports import World
from tailwatch.shell.follower import LocalFollower
from tailwatch.shell.inbox import ThreadInbox
from tailwatch.shell.saves import SavesFollower, SavesScanner
from tailwatch.shell.scanner import DirectoryScanner
from tailwatch.shell.store import SqliteStore
from tailwatch.shell.watcher import DirectoryWatcher


class Ledger(Check):
    """Remembers every row it was given: what was evaluated, and how often."""

    category: ClassVar[str] = "ledger"
    severity: ClassVar[Severity] = Severity.INFO
    suggestion: ClassVar[str] = ""
    check_set: ClassVar[str] = "user"
    reads: ClassVar[tuple[str, ...]] = ("loss",)
    hold: ClassVar[Hold] = Hold(1, 1)

    def __init__(self) -> None:
        self.ids: list[float] = []

    def update(self, row: Row) -> Evidence | None:
        self.ids.append(row.values["loss"])
        return None

    def diagnose(self) -> Evidence | None:
        return None

    def to_state(self) -> dict[str, Any]:
        return {"ids": list(self.ids)}


class Silent:
    def _say(self, event: str, **facts: Any) -> None:
        pass

    debug = info = warning = error = _say


class ManualClock:
    def __init__(self) -> None:
        self.wall_s, self.monotonic_s = 1_800_000_000.0, 5000.0

    def wall(self) -> float:
        return self.wall_s

    def monotonic(self) -> float:
        return self.monotonic_s


class NoWatcher:
    """No events at all."""

    def tend(self, missing: set[str], directories: Mapping[str, set[int]]) -> Mapping[str, str]:
        return {}

    def alive(self) -> bool:
        return True

    def overflows(self) -> int:
        return 0

    def restarts(self) -> int:
        return 0

    def close(self) -> None:
        pass


class LyingInbox(ThreadInbox):
    """Drops half of the hints, repeats some, keeps some for later, invents others."""

    def __init__(self, rng: random.Random, root: str) -> None:
        super().__init__()
        self._rng, self._root, self._late = rng, root, set[str]()

    def take(self, timeout_s: float) -> Incoming:
        paths, sweep, messages = super().take(timeout_s)
        told = {p for p in self._late if self._rng.random() < 0.5}
        self._late -= told
        for path in paths:
            draw = self._rng.random()
            if draw < 0.3:
                told.add(path)
            elif draw < 0.5:
                self._late.add(path)
        if self._rng.random() < 0.2:
            told.add(os.path.join(self._root, f"ghost{self._rng.random()}.jsonl"))
        return Incoming(told, sweep, messages)


class Machine:
    """
    A directory with trainers, and a daemon that can be stopped, killed and started.

    Args:
        mode: "events" for real inotify, "none" for no hint at all, "lying".
        dispatch: Makes the one who is told of findings; by default there is no receiver.
    """

    def __init__(
        self,
        mode: str,
        seed: int = 0,
        dispatch: Callable[[], Dispatch] = lambda: Dispatch([], {}),
    ) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="tailwatch-model-"))
        self.root = self.directory / "runs"
        self.root.mkdir()
        self.mode, self.rng, self.dispatch = mode, random.Random(seed), dispatch
        self.clock = ManualClock()
        self.ids = itertools.count(1)
        self.written: Counter[float] = Counter()
        self.engine: Engine | None = None
        self.start()

    # The daemon.

    def start(self) -> None:
        root = str(self.root)
        inbox = LyingInbox(self.rng, root) if self.mode == "lying" else ThreadInbox()
        self.watcher = NoWatcher() if self.mode == "none" else DirectoryWatcher([root], inbox)
        self.store = SqliteStore(str(self.directory / "state"), Silent())
        self.follower = LocalFollower()
        scanner = DirectoryScanner([root], PathFilter(FileSettings().include))
        world = World(
            inbox=inbox,
            scanner=SavesScanner(scanner),
            follower=SavesFollower(self.follower, scanner),
            watcher=self.watcher,
            store=self.store,
            publisher=Board(),
            clock=self.clock,
            log=Silent(),
        )
        self.engine = Engine((*CHECKS, Ledger), Options(), world, self.dispatch())
        self.engine.restore()
        self.turn()

    def kill(self) -> None:
        """The process is gone; what it had not committed is too."""
        self.watcher.close()
        self.follower.close()
        self.store.close()
        self.engine = None

    def turn(self, seconds: float = 0.2) -> None:
        assert self.engine is not None
        self.clock.monotonic_s += seconds
        self.clock.wall_s += seconds
        self.engine.turn(0.0)
        # Whatever has more work is unpacked again: nobody may hold on to a reader.
        readers = self.engine._files.readers
        for those in (readers.opened, readers.fresh):
            for kept in list(those):
                if kept.put_away():
                    del those[kept]

    def settle(self, sweeps: int = 3) -> None:
        """Enough sweeps that everything on disk must have been read."""
        assert self.engine is not None
        for _ in range(sweeps):
            self.turn(11.0)
            while self.engine._files.waiting():
                self.turn(0.01)

    # What was evaluated.

    def readers(self) -> list[RunReader]:
        """Of all runs: of those that are followed, and of those that have ended."""
        assert self.engine is not None
        followed = {tracked.path: tracked.reader for tracked in self.engine._files.all()}
        over = [
            RunReader.from_state((*CHECKS, Ledger), None, unpack(record.state["reader"]))
            for record in self.store.load().ended
            if record.path not in followed
        ]
        return [reader for reader in (*followed.values(), *over) if reader.is_metric]

    def evaluated(self) -> Counter[float]:
        found: Counter[float] = Counter()
        for reader in self.readers():
            for watched in reader.monitor.watched:
                if isinstance(watched.check, Ledger):
                    found.update(watched.check.ids)
        return found

    def reads(self, path: Path) -> bool:
        """Whether the run that has this path is in the file that is there now."""
        assert self.engine is not None
        file = path.stat()
        return any(
            (tracked.path, tracked.cursor.identity[:2]) == (str(path), (file.st_dev, file.st_ino))
            for tracked in self.engine._files.all()
        )

    def check(self) -> None:
        """Each row that was written was evaluated, once."""
        self.settle()
        readers = self.readers()
        rows = sum(reader.rows for reader in readers)
        assert rows == self.written.total()
        # Late rows of a rotated file can make the steps fall, and so begin a segment: the
        # checks then start afresh, this one too. The count above does not.
        if all(reader.monitor.segment == 1 for reader in readers):
            evaluated = self.evaluated()
            lost, double = self.written - evaluated, evaluated - self.written
            assert (Counter(), Counter()) == (lost, double), f"lost {lost}, double {double}"

    # Trainers.

    def row(self) -> bytes:
        """A row with an id of its own, and a step that never falls."""
        number = next(self.ids)
        self.written[float(number)] += 1
        return json.dumps({"step": number, "loss": float(number), "note": "x" * 20}).encode()

    def close(self) -> None:
        if self.engine is not None:
            self.kill()
        shutil.rmtree(self.directory)
