"""Alerts for Alertmanager: what it groups by, when they begin, and until when they live."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tailwatch.core.notices import utc
from tailwatch.receivers.alertmanager import ALERT_LIFE_S, render
from tests.receivers.notices import DATA, notice

NOW_S = 1767225661.9


def alerts(*notices: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(render("tw_0", notices, NOW_S, None).body)
    return found


def test_golden_body() -> None:
    """One finding is this alert, without the host among its labels."""
    assert alerts(notice(url="https://tw.example/r/1")) == [
        {
            "labels": {
                "alertname": "TrainingAnomaly",
                "run": "exp1/metrics",
                "category": "nan_loss",
                "severity": "critical",
            },
            "annotations": {
                "summary": "CRITICAL: nan_loss in exp1/metrics",
                "description": "loss is NaN at step 120; the last finite loss was 2.5",
                "suggestion": "Stop the run.",
                "step": "120",
                "host": "node7",
                "file": "/runs/exp1/metrics.jsonl",
                "finding_id": "tw_0",
            },
            "startsAt": "2026-01-01T00:00:00Z",
            "endsAt": utc(NOW_S + ALERT_LIFE_S),
            "generatorURL": "https://tw.example/r/1",
        }
    ]


def test_the_labels_are_the_same_everywhere_and_at_every_finding() -> None:
    """Another host, step, message or time is no other alert."""
    other = notice(7, host="node8", step=500, row=501, message="loss is NaN at step 500")
    assert alerts(notice())[0]["labels"] == alerts(other)[0]["labels"]


def test_the_end() -> None:
    """An end is the same labels with the time at which it ended."""
    (end,) = alerts(notice(100, "finding.resolved", duration_s=100))
    assert end["labels"] == alerts(notice())[0]["labels"]
    assert (end["startsAt"], end["endsAt"]) == ("2026-01-01T00:00:00Z", "2026-01-01T00:01:40Z")


@pytest.mark.parametrize("kind", ["finding.firing", "finding.resolved"])
def test_a_start_after_the_end_is_never_sent(kind: str) -> None:
    """Alertmanager would refuse it: clocks that were set back do not lose the alert."""
    (alert,) = alerts(notice(0, kind, first_seen="2031-01-01T00:00:00Z"))
    assert alert["startsAt"] <= alert["endsAt"]


def test_of_one_run_and_category_the_newest_counts() -> None:
    """A finding and its end in one message are told as what they are now."""
    first, other = notice(0), notice(1, run="exp2")
    ended, again = notice(2, "finding.resolved"), notice(3)
    found = alerts(first, other, ended, again)
    assert [(a["labels"]["run"], a["annotations"]["finding_id"]) for a in found] == [
        ("exp1/metrics", "tw_3"),
        ("exp2", "tw_1"),
    ]


def test_a_token_is_a_header() -> None:
    """It is in no body."""
    request = render("tw_0", [notice()], NOW_S, "t0ken")
    assert request.headers["Authorization"] == "Bearer t0ken"
    assert b"t0ken" not in request.body
    assert "Authorization" not in render("tw_0", [notice()], NOW_S, None).headers


def test_a_test_is_another_alert() -> None:
    """It silences and resolves nothing; what is empty is left out."""
    (alert,) = alerts(notice(kind="test", severity="info", file="", recent=[]))
    assert alert["labels"]["alertname"] == "TailwatchTest"
    assert "file" not in alert["annotations"]
    assert "generatorURL" not in alert
    assert "url" not in DATA
