"""One receiver of every hostile kind at once: the good one beside them does not notice."""

from __future__ import annotations

import re
from pathlib import Path

from .daemon import Daemon, daemon, receiver, wait_for
from .hostile import KINDS, hostile_receivers
from .load import Storm, receivers_file, told, told_all
from .trouble import status

RUNS, SPREAD_S = 20, 4.0
GROWTH_KIB = 40_000
TOLD_S = 20.0
"""Far more than the second that a message may wait for, and than a scrape takes; a busy machine."""

GOOD = {"good": {"delivered"}}


def outcomes(tw: Daemon) -> dict[str, set[str]]:
    """Receiver -> the outcomes that attempts at it have had."""
    found: dict[str, set[str]] = {}
    for series, value in tw.metrics().items():
        if value and series.startswith("tailwatch_deliveries_total"):
            labels = dict(re.findall(r'(\w+)="([^"]*)"', series))
            found.setdefault(labels["receiver"], set()).add(labels["outcome"])
    return found


def test_hostile_receivers_harm_nobody_else(tmp_path: Path) -> None:
    """Each finding reaches the good receiver once, rows are read, and memory stays bounded."""
    with receiver() as good, hostile_receivers(tmp_path) as hostile:
        urls = {"good": good.url} | {kind: each.url for kind, each in hostile.items()}
        settings = receivers_file(tmp_path / "tailwatch.toml", urls)
        with daemon(tmp_path, "--config", str(settings)) as tw:
            storm = Storm(tw, RUNS)
            storm.wait_until_followed()
            before_kib = status(tw, "VmRSS")
            with storm.watched():
                storm.break_out(SPREAD_S)
            wait_for(told_all(good, storm.paths), TOLD_S)

            wait_for(lambda: set(KINDS) <= set(outcomes(tw)), message="an outcome of each kind")

            assert dict.fromkeys(storm.paths, 1) == told(good)
            assert storm.worst_delay_s() < TOLD_S
            assert status(tw, "VmHWM") - before_kib < GROWTH_KIB
            assert {k: {outcome} for k, (_, outcome) in KINDS.items()} | GOOD == outcomes(tw)
            assert hostile["wrong-certificate"].requests == []
