"""What the tests of the shell share: waiting, views, notices, and a log that remembers."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tailwatch.board import Board
from tailwatch.core.findings import Evidence, Mark, Severity, Transition, TransitionKind
from tailwatch.core.notices import Notice
from tailwatch.messages import RunView, Snapshot, Standing, Tally
from tailwatch.shell.exposition import Exposed, SnapshotCollector
from tailwatch.shell.metrics_page import MetricsPage

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 20.0


def wait_until(
    condition: Callable[[], Any], what: str = "condition", limit_s: float = PATIENCE_S
) -> Any:
    """Poll until *condition* holds, and return what it gave."""
    end_s = time.monotonic() + limit_s
    while True:
        if value := condition():
            return value
        assert time.monotonic() < end_s, f"waited {limit_s} s in vain for: {what}"
        time.sleep(0.01)


def metrics_of(board: Board, now_s: float = 2000.0, **exposed: Any) -> MetricsPage:
    """What `/metrics` shows of a board, without the metrics of this process."""
    shown = Exposed(**{"categories": [], "receivers": []} | exposed)
    return MetricsPage(
        SnapshotCollector(board, shown, lambda: now_s, lambda: now_s), process=False
    )


class MemoryLog:
    """A log that remembers its lines."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, dict[str, Any]]] = []

    def _note(self, level: str, event: str, facts: dict[str, Any]) -> None:
        self.lines.append((level, event, facts))

    def debug(self, event: str, **facts: Any) -> None:
        self._note("debug", event, facts)

    def info(self, event: str, **facts: Any) -> None:
        self._note("info", event, facts)

    def warning(self, event: str, **facts: Any) -> None:
        self._note("warning", event, facts)

    def error(self, event: str, **facts: Any) -> None:
        self._note("error", event, facts)

    def events(self) -> list[str]:
        return [event for _, event, _ in self.lines]


def notice(key: str = "tw_1", time_s: float = 1000.0, **data: Any) -> Notice:
    """A notice with the facts that every receiver's body wants."""
    facts: dict[str, Any] = {
        "run": "exp/metrics",
        "segment": 1,
        "category": "nan_loss",
        "severity": "critical",
        "message": "loss is NaN",
        "suggestion": "Look.",
        "step": 7,
        "row": 7,
        "file": "/runs/exp/metrics.jsonl",
        "host": "here",
        "first_seen": "2026-01-01T00:00:00Z",
        "evidence": {"loss": "NaN"},
        "recent": [1.0, 2.0],
    }
    return Notice(key, "finding.firing", time_s, facts | data)


def transition(
    category: str = "nan_loss",
    severity: Severity = Severity.CRITICAL,
    kind: TransitionKind = TransitionKind.FIRING,
    *,
    row: int = 7,
    era: int = 0,
    offset: int = 100,
    **more: Any,
) -> Transition:
    """A transition at a row of a first segment."""
    mark = Mark(row, row, offset)
    evidence = Evidence("loss is NaN", {"loss": float("nan")}, mark)
    return Transition(category, severity, kind, 1, mark, evidence, "Look.", era=era, **more)


def standing(category: str = "nan_loss", severity: Severity = Severity.CRITICAL) -> Standing:
    return Standing(category, severity, "loss is NaN", "Look.", 7, 7, 1000.0)


def run_view(name: str = "exp/metrics", **more: Any) -> RunView:
    """A living run with three rows."""
    values: dict[str, Any] = {
        "name": name,
        "file": f"/runs/{name}.jsonl",
        "state": "active",
        "segment": 1,
        "rows": 3,
        "last_step": 3,
        "loss": 1.5,
        "last_row_s": 1000.0,
        "read_at_s": 1000.0,
        "lag_bytes": 0,
        "tallies": {},
        "standing": (),
        "recent": (),
    }
    return RunView(**(values | more))


def snapshot(*runs: RunView, ready: bool = True, **more: Any) -> Snapshot:
    values: dict[str, Any] = {
        "ready": ready,
        "runs": {run.name: run for run in runs},
        "totals": {},
        "gauges": {},
        "outbox_oldest_s": None,
    }
    return Snapshot(**(values | more))


def tally(total: int, last_s: float | None = 1000.0) -> Tally:
    return Tally(total, last_s)


def child_environment(**more: str) -> dict[str, str]:
    """The environment of a child that imports the package from this checkout."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **more}


def run_python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run *code* in a Python of its own."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd="/",
        env=child_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def as_nobody(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """
    Run *code* as a user for whom file permissions count: root becomes nobody, others are one.

    The modules are imported before that: interpreter and checkout may be root's alone.
    """
    if os.geteuid() == 0:
        drop = "import os; os.setgroups([]); os.setgid(65534); os.setuid(65534)"
        code = f"{_IMPORTS}\n{drop}\n{code}"
    return run_python(code, *arguments)


_IMPORTS = (
    "import json, sqlite3, sys, structlog; import tailwatch.shell.store, tailwatch.config,"
    " tailwatch.shell.follower, tailwatch.shell.scanner"
)
