"""What the benchmarks share: daemons with many runs, and what a process uses, by /proc."""

from __future__ import annotations

import contextlib
import math
import os
import random
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.e2e.daemon import Daemon, daemon, row, wait_for, write

AT_REST_S = 0.05
"""CPU within a second, of a daemon that has nothing to do."""


class Figure(NamedTuple):
    """
    One figure that was measured.

    Attributes:
        what: What it is of; several figures of one thing are its repeats.
        aim: What is wanted, in words; empty where it is only to be known.
        value: As it was measured.
        unit: Of the value.
    """

    what: str
    aim: str
    value: float
    unit: str


Say = Callable[[str, str, float, str], None]
"""Takes in the fields of a `Figure`."""


def cpu_s(tw: Daemon) -> float:
    """CPU seconds of the daemon so far, by a clock that counts nanoseconds and not ticks."""
    assert tw.process is not None
    return time.clock_gettime((~tw.process.pid << 3) | 2)  # CPUCLOCK_SCHED of another process.


def wakeups(tw: Daemon) -> int:
    """How often any of its threads gave up the processor to wait."""
    assert tw.process is not None
    found = 0
    for task in Path(f"/proc/{tw.process.pid}/task").iterdir():
        text = (task / "status").read_text()
        found += int(text.split("voluntary_ctxt_switches:")[1].split()[0])
    return found


def command_cpu_s(command: Sequence[str], **kwargs: object) -> float:
    """CPU seconds that a command takes from its start to its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=True, **kwargs)  # type: ignore[call-overload]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least *share* of all do not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def run_name(tw: Daemon, path: Path) -> str:
    """The name of the run in a file below the daemon's root."""
    return str(path.relative_to(tw.runs).with_suffix(""))


def healthy(first: int, rows: int, run: int = 0) -> str:
    """Rows of a run that trains well, from a step on; no two runs have the same numbers."""
    noise = random.Random(f"{run} {first}")
    return "".join(
        row(
            n,
            round(2.0 - n % 1000 / 1000 + noise.gauss(0, 0.02), 4),
            grad_norm=round(noise.uniform(0.5, 3.0), 4),
            lr=1e-4,
        )
        for n in range(first, first + rows)
    )


def make_runs(directory: Path, runs: int, rows: int = 30) -> list[Path]:
    """So many runs that are being written; their files."""
    paths = [
        directory / f"group{number % 100}" / f"run{number}" / "metrics.jsonl"
        for number in range(runs)
    ]
    for number, path in enumerate(paths):
        write(path, healthy(0, rows, number))
    return paths


@contextlib.contextmanager
def followed(
    runs: int, *args: str, rows: int = 30, url: str | None = None, **env: str
) -> Iterator[Daemon]:
    """A daemon that has read so many runs."""
    with tempfile.TemporaryDirectory() as directory:
        make_runs(Path(directory) / "runs", runs, rows)
        with daemon(Path(directory), "--sweep-interval", "10s", *args, url=url, **env) as tw:
            settle(tw, runs)
            yield tw


def settle(tw: Daemon, runs: int) -> None:
    """Wait until so many runs are known and read, and nothing is left to do."""
    wait_for(lambda: tw.metric("tailwatch_runs", state="active") == runs, 300, f"{runs} runs")

    def at_rest() -> bool:
        before = cpu_s(tw)
        time.sleep(1)
        return cpu_s(tw) - before < AT_REST_S

    wait_for(at_rest, 120, "it comes to rest")


def wait_for_count(tw: Daemon, rows: int, limit_s: float = 300.0) -> None:
    """Wait until the exported runs have so many rows together."""

    def read() -> bool:
        time.sleep(0.1)  # A scrape costs, too.
        return rows_read(tw) >= rows

    wait_for(read, limit_s, f"{rows} rows are read")


def rows_read(tw: Daemon) -> int:
    """The rows of all exported runs, as /metrics shows them."""
    metrics = tw.metrics().items()
    return int(sum(v for k, v in metrics if k.startswith("tailwatch_run_rows_total{")))


def state_bytes(tw: Daemon) -> int:
    """The size of the database, without its log."""
    return os.stat(tw.directory / "state" / "tailwatch.db").st_size
