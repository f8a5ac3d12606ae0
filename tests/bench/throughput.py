"""
Rows per CPU second of the whole core, against only reading, splitting and decoding the same
file, and against mtail (Debian's), where it is, extracting four fields of it.
"""

from __future__ import annotations

import json
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tailwatch.checks import CHECKS
from tailwatch.core.check import Check
from tailwatch.core.decoding import decode, objects
from tailwatch.core.fields import FieldMap, Sources
from tailwatch.core.reader import RunReader
from tailwatch.core.rows import make_row
from tailwatch.core.steps import StepAxis

CHUNK_BYTES = 256 * 1024
REPEATS = 7


def small(number: int, noise: random.Random) -> dict[str, Any]:
    """Five keys."""
    loss = 2 + noise.gauss(0, 0.02)
    return {"step": number, "loss": loss, "grad_norm": 1.5, "lr": 2e-4, "epoch": number / 1000}


def wide(number: int, noise: random.Random) -> dict[str, Any]:
    """60 keys."""
    return small(number, noise) | {f"rewards/part_{k}/mean": noise.random() for k in range(55)}


def nested(number: int, noise: random.Random) -> dict[str, Any]:
    """4 KB, four levels deep, with its configuration in each row: as RLlib writes."""
    learner = {f"part_{k}_loss": noise.random() for k in range(20)}
    stats = {"total_loss": 2 + noise.gauss(0, 0.02), "cur_lr": 5e-5, "kl": 0.01, **learner}
    return {
        "episode_reward_mean": noise.gauss(20, 5),
        "config": {f"setting_{k}": [k, {"a": str(k) * 20}] for k in range(45)},
        "info": {
            "learner": {"default_policy": {"learner_stats": stats}},
            "num_steps_trained": number * 4000,
        },
        "sampler_perf": {f"mean_{k}_ms": noise.random() for k in range(10)},
        "time_this_iter_s": 10.5,
        "training_iteration": number,
    }


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


def rows_only(path: Path) -> int:
    """The same, and make a row of each object."""
    rows, tail = 0, b""
    fields, sources, axis = FieldMap(), Sources(), StepAxis()
    with path.open("rb", buffering=0) as file:
        while chunk := file.read(CHUNK_BYTES):
            *lines, tail = (tail + chunk).split(b"\n")
            for line in lines:
                for record in objects(line)[0]:
                    rows += 1
                    axis.place(make_row(record, fields, sources, rows, 0))
    return rows


def seed_checks(path: Path) -> int:
    """What `check --checks seed` does with a file."""
    return _core(path, SEED)


def all_checks(path: Path) -> int:
    """What `check` does with a file."""
    return _core(path, CHECKS)


def _core(path: Path, checks: Sequence[type[Check]]) -> int:
    reader = RunReader(checks)
    with path.open("rb", buffering=0) as file:
        while chunk := file.read(CHUNK_BYTES):
            reader.feed(chunk)
    reader.rest()
    return reader.rows


WAYS: dict[str, Callable[[Path], int]] = {
    "decode": only_decode,
    "rows": rows_only,
    "seed": seed_checks,
    "all": all_checks,
}


def mtail_s(path: Path) -> float | None:
    """CPU seconds that mtail takes for the file; None without it."""
    program = shutil.which("mtail")
    if program is None:
        return None
    programs = path.parent / "programs"
    programs.mkdir(exist_ok=True)
    (programs / "fields.mtail").write_text(
        "".join(f"gauge {name}\n" for name in MTAIL)
        + "".join(
            f"/{pattern}/ {{\n  {name} = {value}\n}}\n" for name, (pattern, value) in MTAIL.items()
        )
    )
    command = [program, "--one_shot", "--progs", str(programs), "--logs", str(path)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=True, cwd=path.parent)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


NUMBER = r"(?P<v>-?[0-9.]+(e-?[0-9]+)?)"
MTAIL = {
    "step": ('"step": (?P<v>[0-9]+)', "$v"),
    "loss": (f'"loss": {NUMBER}', "float($v)"),
    "grad_norm": (f'"grad_norm": {NUMBER}', "float($v)"),
    "lr": (f'"lr": {NUMBER}', "float($v)"),
}
SEED = [check for check in CHECKS if check.check_set == "seed"]


def main() -> None:
    """Measure and print."""
    print(
        "| rows | bytes | decode/s | rows/s | seed/s | all/s | mtail/s | seed:decode | all:decode |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for make, rows in ((small, 100_000), (wide, 20_000), (nested, 10_000)):
        with tempfile.TemporaryDirectory() as directory:
            path, noise = Path(directory) / "m.jsonl", random.Random(1)
            path.write_text("".join(json.dumps(make(n, noise)) + "\n" for n in range(rows)))
            speeds: dict[str, list[float]] = {way: [] for way in (*WAYS, "mtail")}
            for _ in range(REPEATS):
                for way, run in WAYS.items():
                    began = time.process_time()
                    assert rows == run(path)
                    speeds[way].append(rows / (time.process_time() - began))
                if (taken := mtail_s(path)) is not None:
                    speeds["mtail"].append(rows / taken)
            speed = {way: statistics.median(s) for way, s in speeds.items() if s}
            figures = " | ".join(f"{s:,.0f}" for s in speed.values())
            ratios = " | ".join(f"{speed[way] / speed['decode']:.3f}" for way in ("seed", "all"))
            print(f"| {make.__name__} | {path.stat().st_size // rows} | {figures} | {ratios} |")


if __name__ == "__main__":
    main()
