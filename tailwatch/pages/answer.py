"""What is answered to a request, apart from sockets."""

from __future__ import annotations

import json
from typing import Any, NamedTuple


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
