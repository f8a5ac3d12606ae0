"""An engine in this process, on real files and a real database; only its watcher hears nothing."""

from __future__ import annotations

import contextlib
import json
import os
import random
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from tailwatch.board import Board
from tailwatch.checks import CHECKS
from tailwatch.config import load_settings
from tailwatch.dispatch import Dispatch
from tailwatch.engine import Engine, Options
from tailwatch.ports import World
from tailwatch.shell.clock import SystemClock
from tailwatch.shell.follower import LocalFollower
from tailwatch.shell.inbox import ThreadInbox
from tailwatch.shell.saves import SavesFollower, SavesScanner
from tailwatch.shell.scanner import CALM_SWEEPS, DirectoryScanner
from tailwatch.shell.store import SqliteStore
from tests.bench.throughput import small
from tests.e2e.daemon import write
from tests.model.harness import NoWatcher
from tests.shell.helpers import MemoryLog


class Following:
    """
    The engine, and the runs it follows.

    Attributes:
        board: Where it shows them.
        connection: Its connection to the database.
    """

    def __init__(self, directory: Path, store: SqliteStore, follower: LocalFollower) -> None:
        self.runs, self._inbox, self.board = directory / "runs", ThreadInbox(), Board()
        self.connection: sqlite3.Connection = store._connection
        scanner = DirectoryScanner([str(self.runs)], load_settings({}, {}, os.devnull).wanted)
        world = World(
            inbox=self._inbox,
            scanner=SavesScanner(scanner),
            follower=SavesFollower(follower, scanner),
            watcher=NoWatcher(),
            store=store,
            publisher=self.board,
            clock=SystemClock(),
            log=MemoryLog(),
        )
        # No sweep but those that are asked for.
        self._engine = Engine(CHECKS, Options(sweep_interval_s=1e9), world, Dispatch([], {}))
        self._engine.restore()

    def file(self, number: int) -> Path:
        return self.runs / f"run{number}" / "metrics.jsonl"

    def train(self, runs: range, rows: range = range(30)) -> None:
        """These runs write these rows, of which no check finds anything."""
        for number in runs:
            noise = random.Random(str(rows))
            lines = (json.dumps(small(n, noise)) + "\n" for n in rows)
            write(self.file(number), "".join(lines))

    def turn(self, changed: range = range(0)) -> None:
        """A turn in which the watcher named the files of these runs."""
        for number in changed:
            self._inbox.hint(str(self.file(number)))
        self._engine.turn(0.0)

    def sweep(self) -> None:
        """A turn with a sweep that looks at everything."""
        self._inbox.sweep()
        self._engine.turn(0.0)

    def calm(self) -> None:
        """Nothing was written for ten minutes, and events come."""
        before_s = time.time() - 600.0
        for path, _, files in os.walk(self.runs, topdown=False):
            for name in (*files, "."):
                os.utime(os.path.join(path, name), (before_s, before_s))
        self.read_all()
        watcher = self._engine._world.watcher
        watcher.tend = lambda missing, directories: {str(self.runs): "events"}  # type: ignore[method-assign]
        self.sweep()

    def sweeps_with_events(self) -> None:
        """So many sweeps that every directory had its turn."""
        for _ in range(CALM_SWEEPS):
            self._engine._sweep_due_s = 0.0
            self._engine.turn(0.0)

    def read_all(self) -> None:
        """Sweep, and turn until everything is read."""
        self.sweep()
        while self._engine._files.waiting():
            self.turn()
        self.sweep()  # The first one after a file was read notes more than the others.

    def followed(self) -> list[str]:
        """The paths of all runs in memory."""
        return [tracked.path for tracked in self._engine._files.all()]

    def rows(self) -> int:
        """What is shown to have been read of all runs."""
        assert self.board.snapshot is not None
        return sum(run.rows for run in self.board.snapshot.runs.values())


@contextlib.contextmanager
def following(directory: Path, runs: int) -> Iterator[Following]:
    """An engine that has read so many runs of 30 rows."""
    (directory / "runs").mkdir(parents=True)
    store = SqliteStore(str(directory / "state"), MemoryLog())
    follower = LocalFollower()
    try:
        made = Following(directory, store, follower)
        made.train(range(runs))
        made.read_all()
        assert made.rows() == 30 * runs
        yield made
    finally:
        follower.close()
        store.close()
