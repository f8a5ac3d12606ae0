"""What a receiver is sent."""

from __future__ import annotations

import json
from typing import Any, NamedTuple


class Request(NamedTuple):
    """The headers and the body of one POST."""

    headers: dict[str, str]
    body: bytes


def json_request(body: Any, headers: dict[str, str] | None = None) -> Request:
    """A POST of JSON. A NaN in *body* is our own bug and raises ValueError."""
    data = json.dumps(body, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    base = {"Content-Type": "application/json; charset=utf-8"}
    return Request(base | (headers or {}), data.encode("utf-8", "backslashreplace"))
