"""Discord webhooks: one embed, its Markdown escaped, inside Discord's limits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..core.notices import Notice, utc
from . import words
from .request import Request, json_request

TITLE_CHARS_MAX = 256
DESCRIPTION_CHARS_MAX = 4096
_COLOURS = {"critical": 0xC62828, "warning": 0xEF6C00, "info": 0x1565C0}
_RESOLVED_COLOUR = 0x2E7D32


def escape(text: str) -> str:
    r"""
    Make text harmless: no emphasis, link, mention or time stamp comes out of a log.

    >>> escape("[a](http://b) <@1> loss_nan")
    '\\[a\\]\\(http\\://b\\) \\<\\@1\\> loss\\_nan'
    """
    return re.sub(r"([\\*_~`|<>\[\]()#@:-])", r"\\\1", text)


def clip(text: str, chars_max: int) -> str:
    """Escape text, and shorten it to *chars_max* characters without cutting an escape."""
    escaped = escape(text)
    if len(escaped) <= chars_max:
        return escaped
    cut = escaped[: chars_max - 1]
    # An odd number of backslashes at the end has lost what it escapes.
    if (len(cut) - len(cut.rstrip("\\"))) % 2:
        cut = cut[:-1]
    return cut + "…"


def render(key: str, notices: Sequence[Notice], now_s: float, secret: str | None) -> Request:
    """One notice, or several as a digest. *now_s* and *secret* mean nothing to Discord."""
    del now_s, secret
    embed = _single(notices[0]) if len(notices) == 1 else _digest(notices)
    body = {"embeds": [embed], "allowed_mentions": {"parse": []}}
    return json_request(body, {"webhook-id": key})


def _single(notice: Notice) -> dict[str, Any]:
    data, resolved = notice.data, words.is_resolved(notice)
    parts = [clip(data["message"], 1200), f"**Where:** {clip(words.where(data), 1000)}"]
    if lasted := words.lasted(notice):
        parts.append(f"**Lasted:** {lasted}")
    if curve := words.curve(data):
        parts.append(f"**Loss:** {curve}")
    if not resolved:
        parts.append(f"**What to do:** {clip(data['suggestion'], 1500)}")
    embed: dict[str, Any] = {
        "title": clip(words.title(notice), TITLE_CHARS_MAX),
        "description": "\n".join(parts),
        "color": _RESOLVED_COLOUR if resolved else _COLOURS[data["severity"]],
        "timestamp": utc(notice.time_s),
    }
    if url := data.get("url"):
        embed["url"] = url
    return embed


def _digest(notices: Sequence[Notice]) -> dict[str, Any]:
    return {
        "title": words.digest_title(notices),
        "description": clip("\n".join(words.digest_lines(notices)), DESCRIPTION_CHARS_MAX),
        "timestamp": utc(notices[-1].time_s),
    }
