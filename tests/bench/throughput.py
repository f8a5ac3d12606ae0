"""Rows per CPU second of the whole core, against only reading, splitting and decoding."""

from __future__ import annotations

import json
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tailwatch.checks import CHECKS
from tailwatch.core.decoding import decode
from tailwatch.core.reader import RunReader

ROWS = 200_000
CHUNK_BYTES = 256 * 1024
REPEATS = 5


def small(number: int, noise: random.Random) -> dict[str, object]:
    """Five keys."""
    loss = 2 + noise.gauss(0, 0.02)
    return {"step": number, "loss": loss, "grad_norm": 1.5, "lr": 2e-4, "epoch": number / 1000}


def wide(number: int, noise: random.Random) -> dict[str, object]:
    """60 keys."""
    return small(number, noise) | {f"rewards/part_{k}/mean": noise.random() for k in range(55)}


def only_decode(path: Path) -> int:
    """Read, split, decode; nothing else."""
    rows, tail = 0, b""
    with path.open("rb", buffering=0) as file:
        while chunk := file.read(CHUNK_BYTES):
            *lines, tail = (tail + chunk).split(b"\n")
            for line in lines:
                decode(line)
                rows += 1
    return rows


def whole_core(path: Path) -> int:
    """What `check` does with a file."""
    reader = RunReader(CHECKS)
    with path.open("rb", buffering=0) as file:
        while chunk := file.read(CHUNK_BYTES):
            reader.feed(chunk)
    reader.rest()
    return reader.rows


def main() -> None:
    """Measure and print."""
    print(f"{'rows':8} {'decode/s':>12} {'check/s':>12} {'ratio':>7}")
    for name, make, rows in (("small", small, ROWS), ("wide", wide, ROWS // 10)):
        with tempfile.TemporaryDirectory() as directory:
            path, noise = Path(directory) / "m.jsonl", random.Random(1)
            path.write_text("".join(json.dumps(make(n, noise)) + "\n" for n in range(rows)))
            speeds: dict[str, list[float]] = {"decode": [], "check": []}
            for _ in range(REPEATS):
                for what, run in (("decode", only_decode), ("check", whole_core)):
                    began = time.process_time()
                    assert rows == run(path)
                    speeds[what].append(rows / (time.process_time() - began))
            decoded, checked = (statistics.median(speeds[k]) for k in ("decode", "check"))
            print(f"{name:8} {decoded:12,.0f} {checked:12,.0f} {checked / decoded:7.2f}")


if __name__ == "__main__":
    main()
