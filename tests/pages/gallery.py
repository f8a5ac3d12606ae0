"""Runs of all kinds, made up: what the pages are looked at with."""

from __future__ import annotations

import json
import math
from typing import Any

from tailwatch.core.check import RunConfig
from tailwatch.core.findings import Severity
from tailwatch.messages import Skipped
from tests.pages.kept import NOW_S, World, log, rows
from tests.shell.helpers import run_view, standing

HOSTILE = [
    "<script>alert(1)</script>",
    "\"quoted\" & 'quoted'",
    "عربي/שלום",
    "a/../b",
    "100%25?x=1#y",
    "{{ 7*7 }}",
    "\\u202eexe.jsonl",
    "e" * 128,
]
SAYING = "<img src=x onerror=\"document.title='owned'\"> loss of 'NaN' & \"more\""
CONFIG = RunConfig(2e-4, "/runs/llama-7b/config.yaml", planned_steps=20_000, save_steps=500)


def healthy(world: World) -> None:
    world.run("llama-7b/healthy", log(rows(400, every=10)), config=CONFIG)


def long(world: World) -> None:
    world.run("llama-7b/long", log(rows(3000, every=2)), config=CONFIG, age_s=40.0)


def nan(world: World) -> None:
    lines = [*rows(180, every=10), *rows(25, 181, loss=math.nan, every=10)]
    more = [*rows(60, 206, every=10), *rows(90, 266, loss=math.nan, every=10)]
    world.run("llama-7b/nan", log([*lines, *more]), config=CONFIG)


def diverged(world: World) -> None:
    lines = rows(150)
    for n in range(60):
        lines.append(
            {"step": 151 + n, "loss": 0.8 * 1.08**n, "grad_norm": 1.5 * 1.1**n, "lr": 9e-3}
        )
    world.run("mistral/diverged", log(lines), state="quiet", age_s=5000.0)


def resumed(world: World) -> None:
    first = rows(200)
    for n in (30, 31, 32, 33, 34, 35):
        first[n]["loss"] = 12.0
    lines = [*first, *rows(100, 150), *rows(150), {"step": 151}, {"step": 152}]
    world.run("mistral/resumed", log(lines), age_s=1.0)


def rewarded(world: World) -> None:
    lines: list[dict[str, Any]] = [
        {"step": n, "loss": 0.01 * math.sin(n), "reward": 1 - math.exp(-n / 50), "kl": 0.01}
        for n in range(1, 120)
    ]
    world.run("grpo/rewards", log(lines), age_s=300.0)


def hostile(world: World) -> None:
    for n, name in enumerate(HOSTILE):
        world.run(name, log(rows(5 + n)))
        found = standing()._replace(message=SAYING, suggestion=SAYING)
        world.views[name] = world.views[name]._replace(
            standing=[found], file=f"/runs/{name}\udcff", trouble=SAYING, run_config=SAYING
        )


def everything() -> World:
    """All of them, with what is skipped and how tailwatch is."""
    world = World()
    for add in (healthy, long, nan, diverged, resumed, rewarded):
        add(world)
    world.views["old/ended"] = run_view(
        "old/ended", state="ended", last_row_s=NOW_S - 90_000, recent=[3.0, 2.0, 1.9, 1.5]
    )
    world.skipped = [
        Skipped("/runs/llama-7b/data.jsonl", "no training fields"),
        Skipped("/runs/secret/metrics.jsonl", "Permission denied"),
    ]
    world.gauges = {
        ("watch_mode", "/runs", "events"): 1,
        ("watch_mode", "/runs", "sweep"): 0,
        ("watch_mode", "/mnt/nfs/runs", "sweep"): 1,
        ("outbox_pending",): 0,
    }
    return world


def thousand() -> World:
    """1,000 runs, of which each tenth has a finding; and their curves."""
    world = World()
    world.run("made", log(rows(300)))
    kept, view = world.kept.pop("made"), world.views.pop("made")
    for n in range(1000):
        name = f"sweep/lr-{n % 7}/seed-{n:04}"
        severity = [Severity.WARNING, Severity.CRITICAL, Severity.INFO][n % 3]
        world.kept[name] = kept
        world.views[name] = view._replace(
            name=name,
            state=("active", "quiet", "ended")[n % 17 // 8],
            last_step=n * 7 % 1000,
            last_row_s=NOW_S - n,
            standing=[standing("loss_spike", severity)] if n % 10 == 0 else [],
        )
    return world


def as_text(document: Any) -> str:
    """For messages of failed tests."""
    return json.dumps(document, indent=1, ensure_ascii=False)
