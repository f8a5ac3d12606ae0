"""Alertmanager: alerts of its API version 2, which it groups, silences and sends on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.notices import Notice, utc
from . import words
from .request import Request, json_request

PATH = "/api/v2/alerts"
ALERT_LIFE_S = 600.0
"""An alert that is not sent again for so long is taken as resolved: we are gone, or the run is."""


def render(key: str, notices: Sequence[Notice], now_s: float, secret: str | None) -> Request:
    """
    Alerts for notices, the newest of each run and category.

    Two hosts that see one run send the same labels, and Alertmanager takes them as one
    alert: so there is no host among them.

    Args:
        key: The `webhook-id`; for proxies and logs, Alertmanager does not read it.
        notices: At least one.
        now_s: Unix seconds of this attempt: alerts that fire live for a while from then.
        secret: A bearer token, where something before Alertmanager asks for one.

    Source: Alertmanager's OpenAPI specification, api/v2.
    """
    newest = {tuple(_labels(n).items()): n for n in notices}
    request = json_request([_alert(n, now_s) for n in newest.values()], {"webhook-id": key})
    if secret is not None:
        request.headers["Authorization"] = f"Bearer {secret}"
    return request


def _alert(notice: Notice, now_s: float) -> dict[str, Any]:
    data = notice.data
    annotations = {
        "summary": words.title(notice),
        "description": data["message"],
        "suggestion": data["suggestion"],
        "step": str(data["step"]),
        "host": data["host"],
        "file": data["file"],
        "finding_id": notice.key,
    }
    # A start in the future, or an end before it, is refused.
    ends_s = max(notice.time_s, 0.0) if words.is_resolved(notice) else now_s + ALERT_LIFE_S
    alert: dict[str, Any] = {
        "labels": _labels(notice),
        "annotations": {name: value for name, value in annotations.items() if value},
        "startsAt": min(data["first_seen"], utc(ends_s)),
        "endsAt": utc(ends_s),
    }
    if url := data.get("url"):
        alert["generatorURL"] = url
    return alert


def _labels(notice: Notice) -> dict[str, str]:
    data = notice.data
    name = "TailwatchTest" if notice.type == "test" else "TrainingAnomaly"
    return {
        "alertname": name,
        "run": data["run"],
        "category": data["category"],
        "severity": data["severity"],
    }
