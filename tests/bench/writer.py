"""
What a trainer loses to a daemon beside it.

A process multiplies small matrices and logs a row now and then; its speed is measured in short
windows in pairs, one with the daemon, one while the daemon is stopped (SIGSTOP), in changing
order, the moment after a change left out. The control is pairs of which both are without.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path

from tests.bench.measure_daemon import Say, settle
from tests.e2e.daemon import Daemon, daemon, row

PAIRS = 16
WINDOW_S = 0.4
SETTLE_S = 0.1
LOG_EVERY_S = 0.05
SIZE = 16


def train(path: str, done: Synchronized[int]) -> None:
    """Work without end, count it in *done*, and log."""
    left = [[float(i * j % 7) for j in range(SIZE)] for i in range(SIZE)]
    columns = list(zip(*left, strict=True))
    due_s, step = time.monotonic(), 0
    with open(path, "a", buffering=1) as log:
        while True:
            loss = sum(
                sum(x * y for x, y in zip(line, column, strict=True))
                for line in left
                for column in columns
            )
            done.value += 1
            if time.monotonic() >= due_s:
                log.write(row(step, 2.0 + loss * 1e-9, grad_norm=1.5, lr=1e-4))
                due_s, step = due_s + LOG_EVERY_S, step + 1


def writer(say: Say) -> None:
    """The loss of the trainer, on whatever core it is put and on the daemon's own."""
    with tempfile.TemporaryDirectory() as directory, daemon(Path(directory)) as tw:
        assert tw.process is not None
        path = tw.runs / "metrics.jsonl"
        path.touch()
        with trainer(path) as done:
            settle(tw, 1)
            _say_losses(say, "a trainer beside run", tw, done, "under 0.5 %")
            core = {min(os.sched_getaffinity(0))}
            for pid in (done.pid, *map(int, os.listdir(f"/proc/{tw.process.pid}/task"))):
                os.sched_setaffinity(pid, core)
            _say_losses(say, "a trainer on the very core of run", tw, done, "")


def _say_losses(say: Say, what: str, tw: Daemon, done: Done, aim: str) -> None:
    pairs, control = losses(tw, done, alone=False), losses(tw, done, alone=True)
    say(f"{what}: loss, median of {PAIRS} pairs", aim, statistics.median(pairs), "%")
    say(f"{what}: half of the pairs lie within", "", spread(pairs), "%")
    say(f"{what}: the same of the control", "", statistics.median(control), "%")
    say(f"{what}: half of the control lie within", "", spread(control), "%")


class Done:
    """How much a trainer has done, and its process."""

    def __init__(self, count: Synchronized[int], pid: int) -> None:
        self._count, self.pid = count, pid

    def speed(self) -> float:
        """Rounds a second, over a window."""
        began, before = time.monotonic(), self._count.value
        time.sleep(WINDOW_S)
        return (self._count.value - before) / (time.monotonic() - began)


@contextlib.contextmanager
def trainer(path: Path) -> Iterator[Done]:
    """A trainer that logs to *path*, as a process."""
    context = multiprocessing.get_context("spawn")
    count = context.Value("q", 0, lock=True)
    process = context.Process(target=train, args=(str(path), count), daemon=True)
    process.start()
    try:
        assert process.pid is not None
        yield Done(count, process.pid)
    finally:
        process.kill()
        process.join()


def losses(tw: Daemon, done: Done, *, alone: bool) -> list[float]:
    """Percent of its speed that a trainer lost, for each pair."""
    found = []
    for number in range(PAIRS):
        speeds = {}
        order = (False, True) if number % 2 else (True, False)
        for with_daemon in order:
            tw.signal(signal.SIGCONT if with_daemon and not alone else signal.SIGSTOP)
            time.sleep(SETTLE_S)
            speeds[with_daemon] = done.speed()
        found.append(100 * (1 - speeds[True] / speeds[False]))
    tw.signal(signal.SIGCONT)
    return found


def spread(values: list[float]) -> float:
    """From the first to the third quartile."""
    first, _, third = statistics.quantiles(values, n=4)
    return third - first
