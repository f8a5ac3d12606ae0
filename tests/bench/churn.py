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
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.bench.growth import Evaluated, report, sample
from tests.e2e.daemon import Daemon, daemon, row, write

FILES_A_MINUTE = 1000
FILES_A_DIRECTORY = 20
SAMPLE_S = 2.0
PACE_S = 2.0
"""Between what happens to one file: what nobody ever saw could not be found again."""
COUNTED_AFTER_S = 6.0
"""When a file has been gone for so long its rows are counted: its run may be let go later."""


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
    files = len(trainers.written)
    print(f"{files} files in {chosen.minutes:g} minutes, retention {chosen.retention}")
    evaluated.report(trainers.written)
    report(samples)


if __name__ == "__main__":
    main()
