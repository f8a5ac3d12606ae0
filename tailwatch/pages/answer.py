"""What is answered to a request, apart from sockets."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from ..core.notices import utc


class Answer(NamedTuple):
    """Status, content type, body."""

    status: int
    content_type: str
    body: bytes


def text(status: int, line: str) -> Answer:
    """One line of plain text."""
    return Answer(status, "text/plain; charset=utf-8", f"{line}\n".encode())


def document(status: int, content: dict[str, Any]) -> Answer:
    """A JSON document. NaN and Infinity must be text by now: no JSON has them."""
    body = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return Answer(status, "application/json", f"{body}\n".encode())


def moment(time_s: float | None) -> str | None:
    """Unix seconds as ISO 8601 text in UTC; None for what is no time of a calendar."""
    if time_s is None:
        return None
    try:
        return utc(time_s)
    except (OverflowError, ValueError, OSError):
        return None
