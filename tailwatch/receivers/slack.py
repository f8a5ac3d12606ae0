"""Slack incoming webhooks: text and blocks, escaped, inside Slack's limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.notices import Notice
from . import words
from .request import Request, json_request

HEADER_CHARS_MAX = 150
SECTION_CHARS_MAX = 3000
TEXT_CHARS_MAX = 3000


def escape(text: str) -> str:
    """
    Make text harmless: no mention or link of ours can come out of a log.

    >>> escape("<!channel> & co")
    '&lt;!channel&gt; &amp; co'
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def clip(text: str, chars_max: int) -> str:
    """Shorten text to *chars_max* characters, without cutting an escape in two."""
    if len(text) <= chars_max:
        return text
    text = text[: chars_max - 1]
    ampersand = text.rfind("&")
    if ampersand > text.rfind(";") and len(text) - ampersand < 6:
        text = text[:ampersand]
    return text + "…"


def render(key: str, notices: Sequence[Notice], now_s: float, secret: str | None) -> Request:
    """One notice, or several as a digest. *now_s* and *secret* mean nothing to Slack."""
    del now_s, secret
    body = _single(notices[0]) if len(notices) == 1 else _digest(notices)
    # Slack keeps no ids; a proxy in between may use it to drop a repetition.
    return json_request(body, {"webhook-id": key})


def _single(notice: Notice) -> dict[str, Any]:
    data, title = notice.data, words.title(notice)
    facts = f"*What:* {clip(escape(data['message']), 1200)}\n*Where:* {escape(words.where(data))}"
    if lasted := words.lasted(notice):
        facts += f"\n*Lasted:* {lasted}"
    if curve := words.curve(data):
        facts += f"\n*Loss:* {curve}"
    blocks = [_header(title), _section(facts)]
    if not words.is_resolved(notice):
        blocks.append(_section(f"*What to do:* {clip(escape(data['suggestion']), 1500)}"))
    if url := data.get("url"):
        blocks.append(_section(f"<{escape_url(url)}|Open the run's page>"))
    return _message(f"{title}: {data['message']}", blocks)


def _digest(notices: Sequence[Notice]) -> dict[str, Any]:
    title = words.digest_title(notices)
    text = clip(escape("\n".join(words.digest_lines(notices))), SECTION_CHARS_MAX)
    return _message(title, [_header(title), _section(text)])


def _message(text: str, blocks: list[dict[str, Any]]) -> dict[str, Any]:
    # The text is what a phone shows in its notice; nothing in it is markup.
    return {"text": clip(escape(text), TEXT_CHARS_MAX), "mrkdwn": False, "blocks": blocks}


def escape_url(url: str) -> str:
    """A URL inside Slack's link markup."""
    return url.replace("&", "&amp;").replace("|", "%7C").replace(">", "%3E").replace("<", "%3C")


def _header(text: str) -> dict[str, Any]:
    plain = clip(text, HEADER_CHARS_MAX)
    return {"type": "header", "text": {"type": "plain_text", "text": plain, "emoji": False}}


def _section(text: str) -> dict[str, Any]:
    block = {"type": "mrkdwn", "text": clip(text, SECTION_CHARS_MAX), "verbatim": True}
    return {"type": "section", "text": block}
