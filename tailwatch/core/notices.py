"""Notices: what is told of a transition, before any receiver's format."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from .findings import Transition, TransitionKind
from .numbers import jsonable

FIRING = f"finding.{TransitionKind.FIRING.value}"
RESOLVED = f"finding.{TransitionKind.RESOLVED.value}"
"""The types of notices that tell of findings."""
DIGEST_NOTICES_MAX = 500
"""As JSON some 600 KB: less than what web servers take without being asked."""


@dataclass(frozen=True, slots=True)
class Notice:
    """
    One thing to tell, independent of who is told.

    Attributes:
        key: The same for the same transition in this process, after a crash, and on a replay.
        type: `FIRING`, `RESOLVED` or "test".
        time_s: When it happened, Unix seconds.
        data: The facts; JSON-able, no NaN.
    """

    key: str
    type: str
    time_s: float
    data: dict[str, Any]


def notice_key(run: str, first_line: bytes, transition: Transition) -> str:
    """
    The idempotency key of a transition.

    The first line of the file is in it, so that two hosts whose runs have the
    same name do not silence each other.
    """
    place = (
        f"{run}\n{transition.segment}\n{transition.category}\n{transition.kind.value}\n"
        f"{transition.mark.row}\n{transition.mark.offset}\n"
    )
    digest = hashlib.sha256(place.encode() + first_line).hexdigest()
    return f"tw_{digest[:32]}"


def make_notice(
    *,
    run: str,
    file: str,
    host: str,
    first_line: bytes,
    transition: Transition,
    time_s: float,
    fired_s: float,
    url: str | None,
) -> Notice:
    """
    Put a transition into words and numbers for receivers.

    Args:
        run: The run's name, already escaped.
        file: The metric file's path, already escaped.
        host: The host that saw it.
        first_line: See `notice_key`.
        transition: What happened.
        time_s: When, Unix seconds.
        fired_s: When the finding fired, for one that has resolved.
        url: A page about the run, if there is one.
    """
    data: dict[str, Any] = {
        "run": run,
        "segment": transition.segment,
        "category": transition.category,
        "severity": transition.severity.value,
        "message": transition.evidence.message,
        "suggestion": transition.suggestion,
        "step": transition.mark.step,
        "row": transition.mark.row,
        "file": file,
        "host": host,
        "first_seen": utc(time_s),
        "evidence": {k: jsonable(v) for k, v in transition.evidence.values.items()},
        "recent": list(transition.recent),
    }
    if transition.kind is TransitionKind.RESOLVED:
        data["first_seen"], data["resolved_at"] = utc(fired_s), utc(time_s)
        data["duration_s"] = max(0, int(time_s) - int(fired_s))
    if url is not None:
        data["url"] = url
    return Notice(
        notice_key(run, first_line, transition), f"finding.{transition.kind.value}", time_s, data
    )


def utc(time_s: float) -> str:
    """
    Unix seconds as ISO 8601 text, whole seconds, UTC.

    >>> utc(1767225600.9)
    '2026-01-01T00:00:00Z'
    """
    moment = datetime.fromtimestamp(int(time_s), tz=UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def digest_key(keys: list[str]) -> str:
    """The idempotency key of several notices told in one message."""
    digest = hashlib.sha256("\n".join(keys).encode()).hexdigest()
    return f"twd_{digest[:32]}"
