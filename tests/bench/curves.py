"""What a row costs a running daemon, against all that grows: it should be the same always."""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tailwatch.board import Board
from tailwatch.checks import CHECKS
from tailwatch.config_file import FileSettings
from tailwatch.core.globs import PathFilter
from tailwatch.dispatch import Dispatch
from tailwatch.engine import Engine, Options
from tailwatch.ports import World
from tailwatch.shell.follower import LocalFollower
from tailwatch.shell.inbox import ThreadInbox
from tailwatch.shell.saves import SavesFollower, SavesScanner
from tailwatch.shell.scanner import DirectoryScanner
from tailwatch.shell.store import SqliteStore
from tests.bench.measure_daemon import Say, cpu_s, followed, healthy, rows_read, wait_for_count
from tests.e2e.daemon import Daemon, row, wait_for, write
from tests.model.harness import ManualClock, NoWatcher, Silent

ROWS, ROWS_PER_S = 1000, 250
GOOD_ROWS = 75
"""Between two NaNs, so that each is a finding of its own."""
TURN_S = 10.0
TURNS_MEASURED = 500


def curves(say: Say) -> None:
    """µs of CPU a row at 1x, 10x and 100x."""
    never = ("--sweep-interval", "1h")  # What a look at all files costs is measured elsewhere.
    for rows in (1_000, 10_000, 100_000):
        with followed(1, *never, rows=rows) as tw:
            say(f"a row, of a run of {rows:,} rows", "flat", _cost_us(tw), "µs")
    for runs in (10, 100, 1000):
        with followed(runs, *never, TAILWATCH_MAX_EXPORTED_RUNS="1000") as tw:
            say(f"a row, {runs:,} active runs", "flat", _cost_us(tw), "µs")
    for findings in (10, 100, 1000):
        with followed(1, *never) as tw:
            _fail_again_and_again(tw, findings)
            say(f"a row, after {findings:,} findings of its run", "flat", _cost_us(tw), "µs")
    days(say)


def _cost_us(tw: Daemon) -> float:
    """Of one row, when they come one by one, to a file each."""
    paths = sorted(tw.runs.rglob("*.jsonl"))
    before = rows_read(tw)
    began_s, began_cpu_s = time.monotonic(), cpu_s(tw)
    for number in range(ROWS):
        time.sleep(max(0.0, began_s + number / ROWS_PER_S - time.monotonic()))
        write(paths[number % len(paths)], healthy(1_000_000 + number, 1))
    time.sleep(0.5)
    cost_us = 1e6 * (cpu_s(tw) - began_cpu_s) / ROWS
    wait_for_count(tw, before + ROWS)
    return cost_us


def _fail_again_and_again(tw: Daemon, times: int) -> None:
    (path,) = tw.runs.rglob("*.jsonl")
    once = row(100, float("nan")) + healthy(100, GOOD_ROWS)
    write(path, once * times)
    counted = lambda: tw.metric("anomaly_findings_total", category="nan_loss") == times  # noqa: E731
    wait_for(counted, 120, f"{times} findings")


def days(say: Say) -> None:
    """
    What stands in for days up: turns of an engine on real files and a real database, with a row
    each, the clock moved on by 10 s, and a look at all files. No thread, no socket and no event
    is in it; a day is 8,640 such turns.
    """
    with tempfile.TemporaryDirectory() as directory:
        paths = [Path(directory) / "runs" / f"run{n}" / "metrics.jsonl" for n in range(10)]
        for path in paths:
            write(path, healthy(0, 30))
        turn = _Turns(directory)
        numbers = itertools.count(30)
        for turns in (500, 5_000, 50_000):
            while (number := next(numbers)) < turns:
                turn(number, paths)
            began_s = time.process_time()
            for number in itertools.islice(numbers, TURNS_MEASURED):
                turn(number, paths)
            cost_us = 1e6 * (time.process_time() - began_s) / TURNS_MEASURED
            day = turns * TURN_S / 86400
            say(
                f"a turn with a row and a sweep, after {day:.1f} days of them",
                "flat",
                cost_us,
                "µs",
            )


class _Turns:
    """An engine whose time is moved on by hand."""

    def __init__(self, directory: str) -> None:
        root = f"{directory}/runs"
        self._clock, self._inbox = ManualClock(), ThreadInbox()
        scanner = DirectoryScanner([root], PathFilter(FileSettings().include))
        world = World(
            inbox=self._inbox,
            scanner=SavesScanner(scanner),
            follower=SavesFollower(LocalFollower(), scanner),
            watcher=NoWatcher(),
            store=SqliteStore(f"{directory}/state", Silent()),
            publisher=Board(),
            clock=self._clock,
            log=Silent(),
        )
        self._engine = Engine(CHECKS, Options(), world, Dispatch([], {}))
        self._engine.restore()

    def __call__(self, number: int, paths: Sequence[Path]) -> None:
        """A row in one of *paths*, and a turn."""
        path = paths[number % len(paths)]
        write(path, healthy(number, 1))
        self._clock.monotonic_s += TURN_S
        self._clock.wall_s += TURN_S
        self._inbox.hint(str(path))
        self._engine.turn(0.0)
