"""Events for PagerDuty: one incident for a run and category, closed by its end."""

from __future__ import annotations

import json
from typing import Any

from tailwatch.receivers.pagerduty import render
from tests.receivers.notices import DATA, notice

KEY = "0123456789abcdef0123456789abcdef"


def event(*notices: Any, key: str = "tw_0") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(render(key, notices, 0.0, KEY).body)
    return found


def test_golden_body() -> None:
    """One finding is this event."""
    details = ("run", "category", "message", "suggestion", "step", "row", "file", "host")
    assert event(notice(url="https://tw.example/r/1")) == {
        "routing_key": KEY,
        "event_action": "trigger",
        "dedup_key": "tailwatch/exp1/metrics/nan_loss",
        "payload": {
            "summary": "CRITICAL: nan_loss in exp1/metrics: loss is NaN at step 120; "
            "the last finite loss was 2.5",
            "source": "node7",
            "severity": "critical",
            "timestamp": "2026-01-01T00:00:00Z",
            "group": "training",
            "component": "exp1/metrics",
            "class": "nan_loss",
            "custom_details": {name: DATA[name] for name in details} | {"loss": "█▄▁ (3 to 2.5)"},
        },
        "links": [{"href": "https://tw.example/r/1", "text": "The run's page"}],
    }


def test_the_end_closes_it() -> None:
    """It has the key of the incident and nothing else."""
    assert event(notice(kind="finding.resolved")) == {
        "routing_key": KEY,
        "event_action": "resolve",
        "dedup_key": "tailwatch/exp1/metrics/nan_loss",
    }


def test_a_digest_is_one_incident() -> None:
    """Of the worst severity among them, and with a key of its own, the same at every attempt."""
    notices = [notice(n, run=f"r{n}", severity="warning" if n else "info") for n in range(200)]
    found = event(*notices, key="twd_1")
    assert (found["event_action"], found["dedup_key"]) == ("trigger", "tailwatch/twd_1")
    assert found["payload"]["summary"] == "200 findings in 200 runs"
    assert found["payload"]["severity"] == "warning"
    assert found["payload"]["custom_details"]["findings"][-1] == "and 180 more"


def test_limits() -> None:
    """Long names and messages stay inside of what is documented."""
    found = event(notice(run="r" * 300, message="m" * 10_240, url="https://x/"))
    assert len(found["dedup_key"]) <= 255
    assert len(found["payload"]["summary"]) <= 1024
    assert len(json.dumps(found).encode()) < 512_000
