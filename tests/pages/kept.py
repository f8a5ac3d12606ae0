"""Runs as the daemon keeps and shows them, without a daemon: what the tests of the pages share."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from tailwatch.board import Board
from tailwatch.checks import CHECKS
from tailwatch.core.check import Check, RunConfig
from tailwatch.core.findings import Edge, Transition
from tailwatch.core.reader import RunReader
from tailwatch.messages import RunView, Skipped, Snapshot
from tailwatch.packing import pack, unpack
from tailwatch.pages.site import Site
from tailwatch.readers import KeptReader
from tailwatch.records import record_of
from tailwatch.shell.guard import Guard
from tailwatch.shell.web import WebServer
from tailwatch.shown import view_of
from tailwatch.tracked import Tracked
from tests.shell.helpers import MemoryLog, metrics_of

NOW_S = 1_767_312_000.0
"""2026-01-02T00:00:00Z: when the rows were written, and the pages are looked at."""


def log(rows: Iterable[dict[str, Any]]) -> bytes:
    """The rows as a trainer writes them, NaN included."""
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


class World:
    """Followed runs: what is published of them, and what is kept, as the engine does both."""

    def __init__(self, checks: Sequence[type[Check]] = CHECKS) -> None:
        self.checks = checks
        self.views: dict[str, RunView] = {}
        self.kept: dict[str, bytes] = {}
        self.told: dict[str, list[Edge]] = {}
        self.skipped: list[Skipped] = []
        self.gauges: dict[tuple[str, ...], float] = {}

    def run(
        self,
        name: str,
        data: bytes,
        *,
        state: str = "active",
        config: RunConfig | None = None,
        age_s: float = 5.0,
    ) -> Tracked:
        """Follow a log to its end."""
        tracked = Tracked(
            f"/runs/{name}.jsonl",
            "/runs",
            KeptReader(self.checks, reader=RunReader(self.checks, config)),
            name,
        )
        transitions = tracked.reader.feed(data)
        tracked.last_row_s = tracked.active_s = NOW_S - age_s
        if state != "active":
            transitions += tracked.rest()
        for transition in transitions:
            tracked.count(transition, NOW_S - age_s)
        self.told[name] = [edge(each, NOW_S - age_s) for each in transitions]
        self.kept[name] = pack(record_of(tracked).state)
        self.views[name] = view_of(tracked, state)
        return tracked

    def snapshot(self) -> Snapshot:
        skipped = (self.skipped, len(self.skipped))
        return Snapshot(True, self.views, {}, self.gauges, None, *skipped)

    def board(self) -> Board:
        board = Board()
        board.publish(self.snapshot())
        board.beat(NOW_S)
        return board

    def site(self) -> Site:
        board = self.board()
        metrics = metrics_of(board, NOW_S).render
        return Site(board, metrics, lambda: NOW_S, self, self.checks, lambda: NOW_S)

    def serve(self) -> WebServer:
        """The site on a free port of loopback, for everybody."""
        return WebServer("127.0.0.1:0", self.site(), Guard(None, MemoryLog()))

    # The archive.

    def states(self, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        states = {name: unpack(self.kept[name]) for name in names if name in self.kept}
        return {name: s | {"reader": unpack(s["reader"])} for name, s in states.items()}

    def edges(self, name: str) -> list[Edge]:
        return self.told.get(name, [])


def edge(transition: Transition, time_s: float) -> Edge:
    """A transition as the store keeps it."""
    t = transition
    what = (t.segment, t.category, t.severity.value, t.kind.value, t.continues, time_s)
    return Edge(*what, t.mark.row, t.mark.step, t.evidence.message, t.suggestion)


def rows(
    count: int, first: int = 1, *, loss: float | None = None, every: int = 1
) -> list[dict[str, Any]]:
    """Rows of a healthy run, or of one whose loss is *loss*."""
    return [
        {
            "step": n * every,
            "loss": 0.5 + 3 * math.exp(-n / 60) + 0.05 * math.sin(n * 1.7)
            if loss is None
            else loss,
            "grad_norm": 1 + 0.3 * math.sin(n * 0.9),
            "learning_rate": 2e-4 * min(1.0, n / 20) * (1 - n / (count + first + 200)),
            **({"eval_loss": 0.6 + 3 * math.exp(-n / 60)} if n % 25 == 0 and loss is None else {}),
        }
        for n in range(first, first + count)
    ]
