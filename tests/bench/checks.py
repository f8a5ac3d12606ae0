"""What the checks cost: rows per CPU second with the seed set and with all, and a run's state."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tailwatch.checks import CHECKS
from tailwatch.core.check import Check
from tailwatch.core.reader import RunReader
from tailwatch.packing import pack
from tests.corpus import healthy, lines

ROWS = 10_000
REPEATS = 5
KINDS = ("plateau", "sft", "pretraining", "detection", "grpo")
SEED = tuple(check for check in CHECKS if check.check_set == "seed")


def read(data: bytes, checks: Sequence[type[Check]]) -> tuple[float, RunReader]:
    """Rows per CPU second, and the reader at the end."""
    reader = RunReader(checks)
    began = time.process_time()
    reader.feed(data)
    return reader.rows / (time.process_time() - began), reader


def main() -> None:
    """Measure and print."""
    print("| kind | no checks/s | seed/s | all/s | all:seed | state bytes, seed | all |")
    print("|---|---|---|---|---|---|---|")
    for kind in KINDS:
        data = lines(healthy(kind, 1, ROWS))
        speeds: list[list[float]] = [[], [], []]
        sizes = [0, 0, 0]
        for _ in range(REPEATS):
            for n, checks in enumerate(((), SEED, CHECKS)):
                speed, reader = read(data, checks)
                speeds[n].append(speed)
                sizes[n] = len(pack(reader.to_state()))
        none, seed, every = (statistics.median(some) for some in speeds)
        print(
            f"| {kind} | {none:,.0f} | {seed:,.0f} | {every:,.0f} | {every / seed:.2f} "
            f"| {sizes[1]} | {sizes[2]} |"
        )


if __name__ == "__main__":
    main()
