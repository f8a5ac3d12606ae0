"""Trainers by the hundred in one process: rows, torn writes, NaNs and rotations, cheaply."""

from __future__ import annotations

import gzip
import math
import os
import shutil
import time
from collections import deque
from collections.abc import Sequence
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from random import Random

ROWS_A_WRITE = 4
NAN_ROWS = 3
NAN_EVERY_S = 12.0
"""Of all the runs of a process one goes NaN so often, and recovers."""
ROTATE_EVERY_S = 3.0
GZIP_AFTER_S = 1.0
TORN = 0.05
"""So many writes end within a row, whose rest comes with the next one."""


class Run:
    """One metric file and its trainer."""

    def __init__(self, path: Path, rng: Random) -> None:
        self.path, self._rng = path, rng
        self.rows = self.nan_rows = 0
        self.went_nan = False
        self._torn = b""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = self._opened()

    def _opened(self) -> int:
        return os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def write(self, rows: int) -> None:
        """Append so many rows at once."""
        data = self._torn + b"".join(self._row() for _ in range(rows))
        cut = len(data)
        if self._rng.random() < TORN:
            cut -= self._rng.randrange(1, 60)
        os.write(self._descriptor, data[:cut])
        self._torn = data[cut:]

    def _row(self) -> bytes:
        n, self.rows = self.rows, self.rows + 1
        loss = (1.5 + 2 / (1 + n / 50)) * self._rng.uniform(0.97, 1.03)
        if self.nan_rows:
            self.nan_rows -= 1
            loss = math.nan
            self.went_nan = True
        shown = b"NaN" if math.isnan(loss) else b"%.4f" % loss
        norm, rate = self._rng.uniform(0.9, 1.1), 2e-4 * min(1.0, (n + 1) / 100)
        text = b'{"step": %d, "loss": %s, "grad_norm": %.4f, "lr": %.3e, "epoch": %.3f}\n'
        return text % (n, shown, norm, rate, n / 1000)

    def flush(self) -> None:
        """Write what is left of a torn row."""
        os.write(self._descriptor, self._torn)
        self._torn = b""

    def go_nan(self) -> None:
        """The next rows are NaN."""
        self.nan_rows = NAN_ROWS

    def rotate(self) -> Path:
        """Rename the file and go on in a new one; return where the old one is."""
        self.flush()
        old = Path(f"{self.path}.1")
        Path(f"{old}.gz").unlink(missing_ok=True)
        self.path.rename(old)
        os.close(self._descriptor)
        self._descriptor = self._opened()
        return old


def compress(path: Path) -> None:
    """As logrotate does: a gzipped copy with another name, then the file is deleted."""
    with path.open("rb") as plain, gzip.open(f"{path}.part", "wb", 6) as packed:
        shutil.copyfileobj(plain, packed)
    os.rename(f"{path}.part", f"{path}.gz")
    path.unlink()


def train(
    paths: Sequence[str],
    rate: float,
    seed: int,
    end: Synchronized[int],
    total: Synchronized[int],
    report: Connection,
) -> None:
    """
    Write *rate* rows a second into *paths* until *end* is not 0.

    *total* is kept at the rows so far; *report* gets the rows of each path, the paths that
    went NaN, and how often a file was rotated.
    """
    rng = Random(seed)
    runs = [Run(Path(path), rng) for path in paths]
    to_compress: deque[tuple[float, Path]] = deque()
    began_s = time.monotonic()
    next_nan_s, next_rotation_s = began_s + NAN_EVERY_S, began_s + ROTATE_EVERY_S
    turns = rotations = 0
    while not end.value:
        now_s = time.monotonic()
        due = math.floor((now_s - began_s) * rate / ROWS_A_WRITE)
        for turn in range(turns, due):
            runs[turn % len(runs)].write(ROWS_A_WRITE)
        if due > turns:
            total.value += (due - turns) * ROWS_A_WRITE
            turns = due
        if now_s >= next_nan_s:
            next_nan_s += NAN_EVERY_S
            rng.choice(runs).go_nan()
        if now_s >= next_rotation_s:
            next_rotation_s += ROTATE_EVERY_S
            old = runs[rotations % len(runs)].rotate()
            if rotations % 2:
                to_compress.append((now_s + GZIP_AFTER_S, old))
            rotations += 1
        while to_compress and to_compress[0][0] <= now_s:
            compress(to_compress.popleft()[1])
        time.sleep(0.01)
    for run in runs:
        run.flush()
    went_nan = [str(run.path) for run in runs if run.went_nan]
    report.send(({str(run.path): run.rows for run in runs}, went_nan, rotations))
