"""
What `check` does, against only reading, splitting and decoding the same file, and mtail.

mtail (Debian's) extracts four fields, where it is there, and is measured as a process with its
start; the others are functions in this process, without one.
"""

from __future__ import annotations

import json
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tailwatch.checks import CHECKS
from tailwatch.core.check import Check
from tailwatch.core.decoding import decode, objects
from tailwatch.core.fields import FieldMap, Sources
from tailwatch.core.reader import RunReader
from tailwatch.core.rows import make_row
from tailwatch.core.steps import StepAxis
from tests.bench.measure_daemon import Say, command_cpu_s

CHUNK_BYTES = 256 * 1024
REPEATS = 2


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
    return command_cpu_s(command, cwd=path.parent)


NUMBER = r"(?P<v>-?[0-9.]+(e-?[0-9]+)?)"
MTAIL = {
    "step": ('"step": (?P<v>[0-9]+)', "$v"),
    "loss": (f'"loss": {NUMBER}', "float($v)"),
    "grad_norm": (f'"grad_norm": {NUMBER}', "float($v)"),
    "lr": (f'"lr": {NUMBER}', "float($v)"),
}
SEED = [check for check in CHECKS if check.check_set == "seed"]


def speed(say: Say) -> None:
    """Rows a CPU second, and their ratios within one repeat."""
    for make, rows in ((small, 100_000), (wide, 20_000), (nested, 10_000)):
        with tempfile.TemporaryDirectory() as directory:
            path, noise = Path(directory) / "m.jsonl", random.Random(1)
            path.write_text("".join(json.dumps(make(n, noise)) + "\n" for n in range(rows)))
            for _ in range(REPEATS):
                _compare(path, f"{make.__name__} rows", rows, say)


def _compare(path: Path, kind: str, rows: int, say: Say) -> None:
    found = {}
    for way, run in WAYS.items():
        began = time.process_time()
        assert rows == run(path)
        found[way] = rows / (time.process_time() - began)
    is_small = kind == "small rows"
    if is_small and (taken := mtail_s(path)) is not None:
        found["mtail"] = rows / taken
    for way, each in found.items():
        say(f"{kind}: {way}", "", each, "rows/s")
    for way, of_mtail in (("seed", "at least 5"), ("all", "at least 2.5")):
        if "mtail" in found:
            say(f"{kind}: {way}, of mtail", of_mtail, found[way] / found["mtail"], "x")
        of_decoding = "at least 0.7" if not is_small else "at least 0.35" if way == "seed" else ""
        say(f"{kind}: {way}, of only decoding", of_decoding, found[way] / found["decode"], "x")
