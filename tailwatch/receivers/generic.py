"""The generic receiver: JSON after the Standard Webhooks specification."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from typing import Any

from ..core.notices import Notice, utc
from .request import Request, json_request


def render(key: str, notices: Sequence[Notice], now_s: float, secret: str | None) -> Request:
    """
    One notice, or several as a digest, as a signed or unsigned request.

    Args:
        key: The `webhook-id`, the same at every attempt.
        notices: At least one.
        now_s: Unix seconds of this attempt; a receiver may refuse old ones.
        secret: The signing key, `whsec_` and base64. None: no signature.

    Source: Standard Webhooks specification 1.0.0.
    """
    timestamp = str(int(now_s))
    request = json_request(_body(notices), {"webhook-id": key, "webhook-timestamp": timestamp})
    if secret is not None:
        request.headers["webhook-signature"] = sign(secret, key, timestamp, request.body)
    return request


def _body(notices: Sequence[Notice]) -> dict[str, Any]:
    first = notices[0]
    if len(notices) == 1:
        return {"type": first.type, "timestamp": utc(first.time_s), "data": first.data}
    findings = [
        {"id": n.key, "type": n.type, "timestamp": utc(n.time_s), **n.data} for n in notices
    ]
    return {
        "type": "findings.digest",
        "timestamp": utc(notices[-1].time_s),
        "data": {"count": len(findings), "findings": findings},
    }


def sign(secret: str, key: str, timestamp: str, body: bytes) -> str:
    """The `webhook-signature` of a request: over the id, the time and the bytes sent."""
    signed = f"{key}.{timestamp}.".encode() + body
    digest = hmac.new(signing_key(secret), signed, hashlib.sha256).digest()
    return "v1," + base64.b64encode(digest).decode("ascii")


def signing_key(secret: str) -> bytes:
    """
    The bytes of a signing secret: base64 after `whsec_`.

    Raises:
        ValueError: It is not base64. The text of the error does not hold it.
    """
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("expected whsec_ and base64") from None
