"""What a daemon asks of the kernel: for a row, in bulk, and when nothing happens."""

from __future__ import annotations

import itertools
import os
import time
from pathlib import Path

from tailwatch.shell.scanner import STEADY_S
from tests.bench.scale import wakeups
from tests.e2e.daemon import Daemon, daemon, row, wait_for, write

from .counting import most
from .limits import held
from .tracing import Trace, traced

FILES = 300
SWEEPS = 2
IDLE_S = 3.0
ROWS = 20
PAUSE_S = 0.1
"""Between rows, so that each has a turn of its own."""
LIMIT_S = 60.0


def at_rest(directory: Path) -> None:
    """Runs, each in a directory of its own as trainers write them, to which nothing is added."""
    for number in range(FILES):
        path = directory / "runs" / f"run{number}" / "metrics.jsonl"
        write(path, row(1, 2.0) + row(2, 1.9))
    # Long enough ago that their times tell of every change: else they are listed anew.
    for each in [directory / "runs", *(directory / "runs").iterdir()]:
        os.utime(each, (time.time() - STEADY_S - 1,) * 2)


def is_read(tw: Daemon) -> bool:
    return tw.metric("tailwatch_runs", state="active") == FILES


def sweeps(trace: Trace, root: Path) -> list[float]:
    """When the sweeps began: by opening the directory that is watched."""
    times = trace.times("openat", f'"{root}"')
    return [
        at_s for before, at_s in zip([0.0, *times], times, strict=False) if at_s - before > 0.5
    ]


def test_an_idle_sweep(tmp_path: Path) -> None:
    """With nothing written, a sweep makes so many system calls for each file; threads few."""
    at_rest(tmp_path)
    with traced(tmp_path, "--sweep-interval", "1s") as tw:
        wait_for(lambda: is_read(tw.daemon), message="all are read")
        first = len(sweeps(tw.so_far(), tw.daemon.runs)) + 1  # Not one in which some are new.
        until_s = time.monotonic() + LIMIT_S
        while len(sweeps(tw.so_far(), tw.daemon.runs)) <= first + SWEEPS:
            assert time.monotonic() < until_s, "no sweeps are to be seen"
            time.sleep(0.5)
        trace = tw.end()
    begin_s, *_, end_s = sweeps(trace, tw.daemon.runs)[first : first + SWEEPS + 1]
    engine, others = trace.between(begin_s, end_s)

    held(
        "system calls of an idle sweep for each file",
        engine.total() / SWEEPS / FILES,
        most(engine, SWEEPS * FILES),
    )
    held(
        "system calls of idle threads a second",
        others.total() / (end_s - begin_s),
        most(others, end_s - begin_s),
    )


def test_idle_wakeups(tmp_path: Path) -> None:
    """With nothing written, the threads of a daemon seldom wake up."""
    at_rest(tmp_path)
    with daemon(tmp_path, "--sweep-interval", "1s") as tw:
        wait_for(lambda: is_read(tw), message="all are read")
        time.sleep(1)
        before, began_s = wakeups(tw), time.monotonic()
        time.sleep(IDLE_S)
        woken, seconds = wakeups(tw) - before, time.monotonic() - began_s

    held("idle wake-ups a second", woken / seconds)


def test_a_row_and_many(tmp_path: Path) -> None:
    """A row makes so many system calls; of 10,000 that come at once each makes next to none."""
    path = tmp_path / "runs" / "run" / "metrics.jsonl"
    write(path, row(1, 2.0))
    text = "".join(row(n, 2.0 + n % 7 / 100, grad_norm=1.5, lr=1e-4) for n in range(10_000))
    write(tmp_path / "new" / "metrics.jsonl", text)
    with traced(tmp_path, "--sweep-interval", "60s") as tw:
        wait_for(lambda: rows(tw.daemon, "run") == 1)
        one_by_one(path, range(2, 7))
        time.sleep(1)
        times_s = [time.time()]
        one_by_one(path, range(7, 7 + ROWS))
        times_s.append(time.time())
        time.sleep(ROWS * PAUSE_S)
        times_s.append(time.time())
        wait_for(lambda: rows(tw.daemon, "run") == 6 + ROWS)
        times_s.append(time.time())
        (tmp_path / "new").rename(tw.daemon.runs / "new")
        wait_for(lambda: rows(tw.daemon, "new") == 10_000)
        times_s.append(time.time())
        trace = tw.end()
    busy, idle, _, many = (trace.between(*span) for span in itertools.pairwise(times_s))

    for who, with_rows, without in zip(("engine", "other threads"), busy, idle, strict=True):
        with_rows.subtract(without)
        held(
            f"system calls of the {who} for a row", with_rows.total() / ROWS, most(with_rows, ROWS)
        )
    held(
        "system calls of the engine for 1,000 rows at once",
        many[0].total() / 10,
        most(many[0], 10),
    )


def one_by_one(path: Path, steps: range) -> None:
    """As a trainer that holds its file open and flushes each row."""
    with path.open("a", buffering=1) as file:
        for step in steps:
            file.write(row(step, 2.0 + step % 7 / 100, grad_norm=1.5, lr=1e-4))
            time.sleep(PAUSE_S)


def rows(tw: Daemon, run: str) -> float | None:
    return tw.metric("tailwatch_run_rows_total", run=f"{run}/metrics")
