"""Microsoft Teams, through a workflow that waits for a webhook: an adaptive card."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.notices import Notice
from . import words
from .request import Request, json_request

TITLE_CHARS_MAX = 300
TEXT_CHARS_MAX = 1500


def render(key: str, notices: Sequence[Notice], now_s: float, secret: str | None) -> Request:
    """
    One notice, or several as a digest. *now_s* and *secret* mean nothing to Teams.

    Text runs and not text blocks: no Markdown is read in them, so that nothing in a log
    can become a link. A message may have 28 KB; this one has less than half.
    """
    del now_s, secret
    card = _single(notices[0]) if len(notices) == 1 else _digest(notices)
    attachment = {
        "contentType": "application/vnd.microsoft.card.adaptive",
        "contentUrl": None,
        "content": {
            "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
            "type": "AdaptiveCard",
            "version": "1.4",
            "msteams": {"width": "Full"},
            **card,
        },
    }
    return json_request({"type": "message", "attachments": [attachment]}, {"webhook-id": key})


def _single(notice: Notice) -> dict[str, Any]:
    data = notice.data
    facts = [("", data["message"]), ("Where", words.where(data))]
    facts += [("Lasted", words.lasted(notice)), ("Loss", words.curve(data))]
    if not words.is_resolved(notice):
        facts.append(("What to do", data["suggestion"]))
    lines = [_line(name, text) for name, text in facts if text]
    card: dict[str, Any] = {"body": [_title(words.title(notice)), *lines]}
    if url := data.get("url"):
        card["actions"] = [{"type": "Action.OpenUrl", "title": "Open the run's page", "url": url}]
    return card


def _digest(notices: Sequence[Notice]) -> dict[str, Any]:
    lines = [_line("", text) for text in words.digest_lines(notices)]
    return {"body": [_title(words.digest_title(notices)), *lines]}


def _title(text: str) -> dict[str, Any]:
    return _text(_run(words.clip(text, TITLE_CHARS_MAX), weight="Bolder", size="Medium"))


def _line(name: str, text: str) -> dict[str, Any]:
    named = [_run(f"{name}: ", weight="Bolder")] if name else []
    return _text(*named, _run(words.clip(text, TEXT_CHARS_MAX)))


def _text(*runs: dict[str, Any]) -> dict[str, Any]:
    return {"type": "RichTextBlock", "inlines": list(runs)}


def _run(text: str, **more: str) -> dict[str, Any]:
    return {"type": "TextRun", "text": text, **more}
