"""PagerDuty: events of its Events API version 2; an incident opens and closes by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.notices import Notice, utc
from . import words
from .request import Request, json_request

URL = "https://events.pagerduty.com/v2/enqueue"
SUMMARY_CHARS_MAX = 1024
DEDUP_KEY_CHARS_MAX = 255
_SEVERITIES = ("critical", "warning", "info")


def render(key: str, notices: Sequence[Notice], now_s: float, secret: str | None) -> Request:
    """
    One event: of one finding, or of several that fire as one incident.

    Args:
        key: The `webhook-id`, and what makes a digest one incident at every attempt.
        notices: At least one; those of a digest all fire.
        now_s: Means nothing here.
        secret: The integration key of the service.

    Source: PagerDuty's documentation of the Events API v2.
    """
    del now_s
    event = _single(notices[0]) if len(notices) == 1 else _digest(key, notices)
    return json_request({"routing_key": secret or "", **event}, {"webhook-id": key})


def _single(notice: Notice) -> dict[str, Any]:
    data = notice.data
    event: dict[str, Any] = {
        "event_action": "resolve" if words.is_resolved(notice) else "trigger",
        "dedup_key": words.clip(
            f"tailwatch/{data['run']}/{data['category']}", DEDUP_KEY_CHARS_MAX
        ),
    }
    if words.is_resolved(notice):
        return event
    details = {
        name: data[name]
        for name in ("run", "category", "message", "suggestion", "step", "row", "file", "host")
    }
    if curve := words.curve(data):
        details["loss"] = curve
    event["payload"] = _payload(
        f"{words.title(notice)}: {data['message']}",
        [notice],
        {"component": data["run"], "class": data["category"], "custom_details": details},
    )
    if url := data.get("url"):
        event["links"] = [{"href": url, "text": "The run's page"}]
    return event


def _digest(key: str, notices: Sequence[Notice]) -> dict[str, Any]:
    findings = {"custom_details": {"findings": words.digest_lines(notices)}}
    payload = _payload(words.digest_title(notices), notices, findings)
    return {"event_action": "trigger", "dedup_key": f"tailwatch/{key}", "payload": payload}


def _payload(summary: str, notices: Sequence[Notice], more: dict[str, Any]) -> dict[str, Any]:
    return {
        "summary": words.clip(summary, SUMMARY_CHARS_MAX),
        "source": notices[0].data["host"] or "tailwatch",
        "severity": min((n.data["severity"] for n in notices), key=_SEVERITIES.index),
        "timestamp": utc(notices[0].time_s),
        "group": "training",
        **more,
    }
