"""
What the pages cost: processor time of the server for each, and what a curve adds to the state.

The status page of 1,000 runs, whose state is on disk, and the page of a run of 1,000,000 rows.
Prints milliseconds of processor time, the median and the worst of many requests after the first,
and bytes.
"""

from __future__ import annotations

import json
import math
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tailwatch.checks import CHECKS
from tailwatch.messages import Commit, RunRecord
from tailwatch.packing import pack, unpack
from tailwatch.pages.site import Site
from tailwatch.records import record_of
from tailwatch.shell.archive import StoreArchive
from tailwatch.shell.store import SqliteStore
from tests.pages import gallery
from tests.pages.kept import NOW_S, World
from tests.shell.helpers import MemoryLog, metrics_of

ROWS = 1_000_000
REPEATS = 50


def long_log() -> bytes:
    """A run of a million rows with an evaluation now and then."""
    noise, lines = random.Random(1), []
    for n in range(ROWS):
        loss = 2 + 8 * math.exp(-n / 1e5) + noise.gauss(0, 0.1)
        row = {"step": n, "loss": loss, "grad_norm": noise.random(), "lr": 1e-4 * (1 - n / ROWS)}
        if n % 1000 == 0:
            row["eval_loss"] = loss
        lines.append(json.dumps(row))
    return "\n".join([*lines, ""]).encode()


def kept(world: World, directory: str) -> tuple[SqliteStore, StoreArchive]:
    """The runs of a world in a database on disk."""
    store = SqliteStore(directory, MemoryLog())
    records = {}
    for name, state in world.kept.items():
        path = f"/runs/{name}.jsonl"
        records[path] = RunRecord(path, name, "/runs", unpack(state))
    store.commit(Commit(runs=records))
    return store, StoreArchive(directory)


def cost(what: str, ask: Callable[[], int]) -> None:
    """Print what one request costs."""
    size, times = ask(), []
    for _ in range(REPEATS):
        began = time.process_time()
        ask()
        times.append(1000 * (time.process_time() - began))
    print(
        f"| {what} | {statistics.median(times):.1f} | {max(times):.1f} | {size / 1024:.0f} KiB |"
    )


def main() -> None:
    """Measure and print."""
    world = gallery.thousand()
    data = long_log()
    tracked = world.run("long", data)
    board = world.board()
    metrics = metrics_of(board, NOW_S).render
    with tempfile.TemporaryDirectory() as directory:
        store, archive = kept(world, directory)
        site = Site(board, metrics, lambda: NOW_S, archive, CHECKS)
        print("| answer | CPU ms, median | worst | size |\n|---|---|---|---|")
        for what, path in (
            ("/ with 1,001 runs", "/"),
            ("/ filtered to 1", "/?name=long"),
            (f"page of a run of {ROWS:,} rows", "/run/long"),
            ("/api/v1/runs", "/api/v1/runs"),
            ("/api/v1/runs/long", "/api/v1/runs/long"),
        ):
            cost(what, lambda path=path: len(site.answer(path, "").body))  # type: ignore[misc]
        store.close()
    state = record_of(tracked).state
    curve = len(pack(unpack(state["reader"])["monitor"]["curve"]))
    print(f"\nstate of the run: {len(pack(state)):,} bytes, {curve:,} of them its curve")


if __name__ == "__main__":
    main()
