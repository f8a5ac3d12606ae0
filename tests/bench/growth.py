"""How a daemon grows under load, and what became of each row: for the benchmarks that last."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from tailwatch.packing import unpack
from tests.bench.measure_daemon import cpu_s
from tests.e2e.daemon import Daemon
from tests.e2e.trouble import status

SERIES = (
    "RSS, MiB",
    "descriptors",
    "threads",
    "database, MiB",
    "with its log, MiB",
    "runs on disk",
    "CPU, s",
)


def sample(tw: Daemon) -> tuple[float, ...]:
    """The figures of `SERIES`, now."""
    assert tw.process is not None
    state = tw.directory / "state"
    files = sum(entry.stat().st_size for entry in os.scandir(state))
    database = state / "tailwatch.db"
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        runs = connection.execute("SELECT count(*) FROM runs").fetchone()[0]
    return (
        status(tw, "VmRSS") / 1024,
        len(os.listdir(f"/proc/{tw.process.pid}/fd")),
        status(tw, "Threads"),
        database.stat().st_size / 2**20,
        files / 2**20,
        runs,
        cpu_s(tw),
    )


class Evaluated:
    """The rows of each file, as the daemon keeps them in its state."""

    def __init__(self, state: Path) -> None:
        self._database = state / "tailwatch.db"
        self.rows: dict[str, int] = {}

    def count(self, paths: Iterable[str]) -> None:
        """Look up the rows of *paths*; a run that was let go has the rows it had before."""
        database = f"file:{self._database}?mode=ro"
        with contextlib.closing(sqlite3.connect(database, uri=True)) as connection:
            for path in paths:
                found = connection.execute(
                    "SELECT state FROM runs WHERE path = ?", (os.fsencode(path),)
                ).fetchone()
                # Of what ended long ago no rows are kept; they were counted by then.
                packed = found and unpack(found[0])["reader"]
                if packed:
                    self.rows[path] = unpack(packed)["rows"]

    def report(self, written: dict[str, int]) -> bool:
        """Print whether just the rows that were written were evaluated; return it."""
        wrong = sorted(path for path in written if self.rows.get(path) != written[path])
        print(
            f"{sum(written.values())} rows written, {sum(self.rows.values())} evaluated;", end=" "
        )
        print(f"{len(wrong)} files with a difference")
        for path in wrong[:5]:
            print(f"  {path}: {written[path]} written, {self.rows.get(path)} evaluated")
        return not wrong


def report(samples: Sequence[tuple[float, ...]]) -> None:
    """Print how each series went; each sample begins with its time, seconds."""
    times = [each[0] for each in samples]
    tenth, half = max(1, len(samples) // 10), len(samples) // 2
    print(f"{'':22} {'first':>9} {'middle':>9} {'last':>9} {'slope/min':>9}")
    for number, name in enumerate(SERIES, 1):
        values = [each[number] for each in samples]
        parts = (
            values[:tenth],
            values[half - tenth // 2 : half + tenth // 2 + 1],
            values[-tenth:],
        )
        first, middle, last = (statistics.median(part) for part in parts)
        slope = statistics.linear_regression(times[half:], values[half:]).slope * 60
        print(f"{name:22} {first:9.2f} {middle:9.2f} {last:9.2f} {slope:+9.3f}")
