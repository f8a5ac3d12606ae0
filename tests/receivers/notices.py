"""Notices for the tests of receivers."""

from __future__ import annotations

from typing import Any

from tailwatch.core.notices import Notice

DATA: dict[str, Any] = {
    "run": "exp1/metrics",
    "segment": 1,
    "category": "nan_loss",
    "severity": "critical",
    "message": "loss is NaN at step 120; the last finite loss was 2.5",
    "suggestion": "Stop the run.",
    "step": 120,
    "row": 121,
    "file": "/runs/exp1/metrics.jsonl",
    "host": "node7",
    "first_seen": "2026-01-01T00:00:00Z",
    "evidence": {"loss": "NaN"},
    "recent": [3.0, 2.75, 2.5],
}


def notice(n: int = 0, kind: str = "finding.firing", **changes: Any) -> Notice:
    return Notice(f"tw_{n}", kind, 1767225600.0 + n, DATA | changes)
