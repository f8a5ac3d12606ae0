"""
Files that come and go, for minutes, under a real daemon: what leaks, and what is lost.

About 1,000 metric files a minute are made, written to, renamed away, made again, copied and
truncated, and deleted with their directory. Prints the rows written and evaluated, which must
be equal, and how memory, descriptors, threads and the state on disk grew: the medians of the
first tenth of the time, of its middle and of its last tenth, and the slope over the last half.
"""

from __future__ import annotations

import argparse
import contextlib
import heapq
import os
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tailwatch.packing import unpack
from tests.e2e.daemon import Daemon, daemon, row, write

FILES_A_MINUTE = 1000
FILES_A_DIRECTORY = 20
SAMPLE_S = 2.0
PACE_S = 2.0
"""Between what happens to one file: what nobody ever saw could not be found again."""
COUNTED_AFTER_S = 6.0
"""When a file has been gone for so long its rows are counted: its run may be let go later."""

SERIES = (
    "RSS, MiB",
    "descriptors",
    "threads",
    "database, MiB",
    "with its log, MiB",
    "runs on disk",
)


class Trainers:
    """Writes the files; counts the rows of each."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.written: Counter[str] = Counter()
        self.gone: deque[tuple[float, str]] = deque()
        self._directories: Counter[Path] = Counter()

    def life(self, number: int) -> Iterator[None]:
        """One file from its first row to its end; a step every `PACE_S`."""
        directory = self.root / f"group{number // FILES_A_DIRECTORY}"
        path = directory / f"run{number}.jsonl"
        self._directories[directory] += 1
        self._append(path, 10)
        yield
        self._append(path, 5)
        path.rename(f"{path}.1")
        self._append(path, 5)
        yield
        self._append(path, 5)
        yield
        self._append(path, 5)
        shutil.copyfile(path, f"{path}.2")
        os.truncate(path, 0)
        self._append(path, 5)
        yield
        self._append(path, 5)
        yield
        yield
        for each in (path, Path(f"{path}.1"), Path(f"{path}.2")):
            each.unlink()
        self.gone.append((time.monotonic(), str(path)))
        self._directories[directory] -= 1
        if not self._directories[directory]:
            # Another file of the group may still be to come.
            with contextlib.suppress(OSError):
                directory.rmdir()

    def _append(self, path: Path, rows: int) -> None:
        first = self.written[str(path)]
        write(path, "".join(row(n, 2.0 - n / 1000) for n in range(first, first + rows)))
        self.written[str(path)] += rows


def sample(tw: Daemon) -> tuple[float, ...]:
    """The figures of `SERIES`, now."""
    assert tw.process is not None
    process = Path(f"/proc/{tw.process.pid}")
    status = dict(
        line.split(":", 1) for line in (process / "status").read_text().splitlines() if line
    )
    state = tw.directory / "state"
    files = sum(entry.stat().st_size for entry in os.scandir(state))
    database = state / "tailwatch.db"
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        runs = connection.execute("SELECT count(*) FROM runs").fetchone()[0]
    return (
        int(status["VmRSS"].split()[0]) / 1024,
        len(os.listdir(process / "fd")),
        int(status["Threads"]),
        database.stat().st_size / 2**20,
        files / 2**20,
        runs,
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
                reader = found and unpack(found[0])["reader"]
                if reader:
                    self.rows[path] = reader["rows"]


def churn(
    tw: Daemon, minutes: float, trainers: Trainers, evaluated: Evaluated
) -> list[tuple[float, ...]]:
    """Let files come and go; return samples, each of which begins with its time."""
    samples: list[tuple[float, ...]] = []
    began_s = time.monotonic()
    end_s = began_s + 60 * minutes
    due: list[tuple[float, int, Iterator[None]]] = []
    next_file_s, next_sample_s, number = began_s, began_s, 0
    while (now_s := time.monotonic()) < end_s or due:
        # The last files are let go in peace: no sample is of a churn that has ended.
        if next_sample_s <= now_s < end_s:
            next_sample_s += SAMPLE_S
            samples.append((now_s - began_s, *sample(tw)))
            gone = []
            while trainers.gone and trainers.gone[0][0] < now_s - COUNTED_AFTER_S:
                gone.append(trainers.gone.popleft()[1])
            evaluated.count(gone)
        if next_file_s <= now_s < end_s:
            next_file_s += 60 / FILES_A_MINUTE
            heapq.heappush(due, (now_s, number, trainers.life(number)))
            number += 1
        while due and due[0][0] <= now_s:
            _, which, life = heapq.heappop(due)
            with contextlib.suppress(StopIteration):
                next(life)
                heapq.heappush(due, (now_s + PACE_S, which, life))
        time.sleep(0.005)
    return samples


def report(samples: list[tuple[float, ...]]) -> None:
    """Print how each series went."""
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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--retention", default="24h", help="run_retention of the daemon; >= 30s")
    chosen = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as directory,
        daemon(Path(directory), TAILWATCH_RUN_RETENTION=chosen.retention) as tw,
    ):
        trainers, evaluated = Trainers(tw.runs), Evaluated(tw.directory / "state")
        samples = churn(tw, chosen.minutes, trainers, evaluated)
        time.sleep(3)  # Three sweeps.
        assert tw.stop() == 0, tw.all_output()[-2000:]
        evaluated.count(trainers.written)
    written, rows = trainers.written, evaluated.rows
    wrong = sorted(path for path in written if rows.get(path) != written[path])
    print(f"{len(written)} files in {chosen.minutes:g} minutes, retention {chosen.retention}")
    print(f"{written.total()} rows written, {sum(rows.values())} evaluated", end="; ")
    print(f"{len(wrong)} files with a difference")
    for path in wrong[:5]:
        print(f"  {Path(path).name}: {written[path]} written, {rows.get(path)} evaluated")
    report(samples)


if __name__ == "__main__":
    main()
