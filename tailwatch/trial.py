"""`tailwatch notify-test`: a notice of nothing."""

from __future__ import annotations

import socket

from .config_receivers import Receiver
from .core.notices import Notice, utc
from .core.outbox import Outcome
from .receivers import RENDERERS
from .shell.clock import SystemClock
from .shell.courier import HttpCourier


def attempt_test(receiver: Receiver) -> Outcome:
    """Send a test notice to one receiver, once."""
    now_s = SystemClock().wall()
    data = {
        "run": "tailwatch/test",
        "segment": 1,
        "category": "test",
        "severity": "info",
        "message": "this is a test notice from tailwatch; no run has gone wrong",
        "suggestion": "Nothing is to be done: if you read this, notices arrive.",
        "step": 0,
        "row": 0,
        "file": "",
        "host": socket.gethostname(),
        "first_seen": utc(now_s),
        "evidence": {},
        "recent": [],
    }
    notice = Notice(f"tw_test_{int(now_s * 1000):x}", "test", now_s, data)
    courier = HttpCourier(
        receiver.name, receiver.url, receiver.secret, RENDERERS[receiver.type], lambda _: None
    )
    try:
        return courier.attempt(notice.key, [notice])
    finally:
        courier.close()
