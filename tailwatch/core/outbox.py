"""The outbox of one receiver: what to send next, when, and what an answer means."""

from __future__ import annotations

import itertools
import zlib
from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from .notices import DIGEST_NOTICES_MAX, FIRING, Notice, digest_key

INTERVAL_S = 1.0
"""At most one message a second: what Slack allows a webhook."""
DIGEST_ABOVE = 5
BACKOFF_FIRST_S = 1.0
BACKOFF_MAX_S = 300.0
RETRY_AFTER_MAX_S = 3600.0
OUTCOMES = ("delivered", "retried", "undeliverable")
"""The closed label set of `tailwatch_deliveries_total`."""


class Outcome(NamedTuple):
    """
    What came of one attempt.

    Attributes:
        kind: One of `OUTCOMES`.
        detail: For the log: a status or a short reason. Never a URL.
        retry_after_s: How long the receiver asked to be left alone; 0 if it did not.
    """

    kind: str
    detail: str
    retry_after_s: float = 0.0


def judge(status: int, retry_after_s: float = 0.0) -> Outcome:
    """
    What an HTTP status means for a delivery.

    >>> [judge(status).kind for status in (204, 429, 503, 404, 302)]
    ['delivered', 'retried', 'retried', 'undeliverable', 'undeliverable']
    """
    detail = f"HTTP {status}"
    if 200 <= status < 300:
        return Outcome("delivered", detail)
    if status in (408, 429) or status >= 500:
        return Outcome("retried", detail, min(retry_after_s, RETRY_AFTER_MAX_S))
    return Outcome("undeliverable", detail)


def backoff_s(key: str, attempt: int) -> float:
    """
    Seconds to wait after failed attempt number *attempt* (from 1).

    Doubles up to a limit. The jitter comes from the key, so that the same
    situation gives the same plan, and yet two receivers do not knock together.

    >>> [0.5 <= backoff_s("k", 1) <= 1.0, 150.0 <= backoff_s("k", 60) <= 300.0]
    [True, True]
    """
    full = min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2.0 ** min(attempt - 1, 30))
    jitter = zlib.crc32(f"{key}/{attempt}".encode()) / 0xFFFFFFFF
    return full * (0.5 + 0.5 * jitter)


@dataclass(slots=True)
class Delivery:
    """
    One message to be: a notice, or several as a digest.

    Attributes:
        key: Its `webhook-id`, the same at every attempt.
        notices: What it tells, in order.
        attempts: Attempts made so far.
        stored: Whether the store knows which notices belong together.
        reminder: It repeats what was told before: if it fails, the next one does as well.
    """

    key: str
    notices: tuple[Notice, ...]
    attempts: int = 0
    stored: bool = True
    reminder: bool = False


@dataclass(slots=True)
class Outbox:
    """
    The unsent notices of one receiver, in order, and the pace at which they leave.

    One message is under way at a time; one that fails keeps its place and its
    key. Times are monotonic seconds, given by the caller.

    Attributes:
        mixes: Whether a digest may hold findings that resolved beside others that fire.
    """

    mixes: bool = True
    waiting: deque[Notice] = field(default_factory=deque)
    head: Delivery | None = None
    under_way: bool = False
    not_before_s: float = 0.0
    # Digests that were formed before a restart, by key.
    formed: deque[Delivery] = field(default_factory=deque)

    def __len__(self) -> int:
        return (
            len(self.waiting)
            + sum(len(d.notices) for d in self.formed)
            + (len(self.head.notices) if self.head and not self.head.reminder else 0)
        )

    def add(self, notice: Notice) -> None:
        """Put a notice at the end."""
        self.waiting.append(notice)

    def restore_digest(self, key: str, notices: list[Notice]) -> None:
        """Put back a digest that was formed before a restart; it goes first, as it was."""
        self.formed.append(Delivery(key, tuple(notices)))

    def due(self, now_s: float) -> Delivery | None:
        """The message to send now, if any. If it is not `stored`, store it before sending."""
        if self.under_way or now_s < self.not_before_s:
            return None
        if self.head is None:
            self.head = self._next()
        return self.head

    def remind(self, delivery: Delivery, now_s: float) -> bool:
        """Send *delivery* next if nothing else is to be sent; False if something is."""
        if self.under_way or self.head or self.waiting or self.formed or now_s < self.not_before_s:
            return False
        self.head = delivery
        return True

    def sent(self, now_s: float) -> None:
        """An attempt at the head has begun."""
        assert self.head is not None
        self.head.attempts += 1
        self.under_way = True
        self.not_before_s = now_s + INTERVAL_S

    def settle(self, outcome: Outcome, now_s: float) -> Delivery:
        """Take in what came of the attempt; return the message it was about."""
        delivery = self.head
        assert delivery is not None
        self.under_way = False
        if outcome.kind == "retried":
            wait_s = max(backoff_s(delivery.key, delivery.attempts), outcome.retry_after_s)
            self.not_before_s = max(self.not_before_s, now_s + wait_s)
        if outcome.kind != "retried" or delivery.reminder:
            self.head = None
        return delivery

    def next_due_s(self) -> float | None:
        """When `due` may next have something. None while nothing waits."""
        if self.under_way or not (self.head or self.waiting or self.formed):
            return None
        return self.not_before_s

    def oldest_time_s(self) -> float | None:
        """The Unix time of the oldest unsent notice."""
        head = [self.head] if self.head and not self.head.reminder else []
        deliveries = [*head, *self.formed]
        times = [n.time_s for d in deliveries for n in d.notices]
        if self.waiting:
            times.append(self.waiting[0].time_s)
        return min(times, default=None)

    def _next(self) -> Delivery | None:
        if self.formed:
            return self.formed.popleft()
        count = min(self._alike(), DIGEST_NOTICES_MAX)
        if count > DIGEST_ABOVE:
            notices = tuple(self.waiting.popleft() for _ in range(count))
            return Delivery(digest_key([n.key for n in notices]), notices, stored=False)
        if self.waiting:
            notice = self.waiting.popleft()
            return Delivery(notice.key, (notice,))
        return None

    def _alike(self) -> int:
        """How many of those that wait, from the first on, may be in one message."""
        if self.mixes:
            return len(self.waiting)
        firing = itertools.takewhile(lambda notice: notice.type == FIRING, self.waiting)
        return sum(1 for _ in firing)
