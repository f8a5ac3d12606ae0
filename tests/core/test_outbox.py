"""What leaves an outbox, in which order and at which pace, whatever the receiver answers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core.notices import DIGEST_NOTICES_MAX, Notice, digest_key
from tailwatch.core.outbox import (
    BACKOFF_MAX_S,
    DIGEST_ABOVE,
    INTERVAL_S,
    OUTCOMES,
    RETRY_AFTER_MAX_S,
    Delivery,
    Outbox,
    Outcome,
    backoff_s,
    judge,
)


def notice(n: int) -> Notice:
    return Notice(f"tw_{n}", "finding.firing", float(n), {"n": n})


@dataclass
class Attempt:
    key: str
    numbers: list[int]
    at_s: float
    outcome: Outcome
    settled_s: float


@dataclass
class World:
    """A receiver with a script of answers, and a clock that jumps to what is next."""

    box: Outbox = field(default_factory=Outbox)
    now_s: float = 0.0
    added: int = 0
    attempts: list[Attempt] = field(default_factory=list)

    def add(self, count: int) -> None:
        for _ in range(count):
            self.box.add(notice(self.added))
            self.added += 1

    def attempt(self, outcome: Outcome, lasts_s: float) -> None:
        """Wait until something is due, and let the receiver answer it."""
        due_s = self.box.next_due_s()
        assert due_s is not None
        early_s = due_s - 0.001
        assert early_s <= self.now_s or self.box.due(early_s) is None
        self.now_s = max(self.now_s, due_s)
        delivery = self.box.due(self.now_s)
        assert delivery is not None
        assert delivery is self.box.due(self.now_s)
        self.box.sent(self.now_s)
        assert self.box.due(self.now_s + 1e6) is None
        assert self.box.next_due_s() is None
        sent_s, self.now_s = self.now_s, self.now_s + lasts_s
        numbers = [n.data["n"] for n in delivery.notices]
        assert delivery is self.box.settle(outcome, self.now_s)
        self.attempts.append(Attempt(delivery.key, numbers, sent_s, outcome, self.now_s))

    def restart(self) -> None:
        """A crash: what was not settled is put back from disk, formed digests as they were."""
        old, self.box = self.box, Outbox()
        head = [old.head] if old.head else []
        for delivery in [*head, *old.formed]:
            if len(delivery.notices) > 1:
                self.box.restore_digest(delivery.key, list(delivery.notices))
            else:
                self.box.add(delivery.notices[0])
        for each in old.waiting:
            self.box.add(each)


outcomes = st.builds(
    Outcome,
    st.sampled_from([*OUTCOMES, "retried", "retried"]),
    st.just("HTTP"),
    st.sampled_from([0.0, 0.0, 2.5, 120.0]),
)
delays = st.floats(0, 20)
acts = (
    st.tuples(st.just("add"), st.sampled_from([1, 1, 2, 5, 6, 7, 130]), st.none())
    | st.tuples(st.just("send"), outcomes, delays)
    | st.tuples(st.just("send"), outcomes, delays)
    | st.tuples(st.just("wait"), delays, st.none())
)


def run(story: list[tuple[str, Any, Any]], *, restarts: bool) -> World:
    world = World()
    for act, what, lasts_s in story:
        if act == "add":
            world.add(what)
        elif act == "wait":
            world.now_s += what
            if restarts:
                world.restart()
        elif len(world.box):
            world.attempt(what, lasts_s)
    while len(world.box):
        world.attempt(Outcome("delivered", "HTTP 204"), 0.1)
    return world


@settings(deadline=None, max_examples=200)
@given(st.lists(acts, max_size=30))
def test_nothing_is_lost_and_order_is_kept(story: list[tuple[str, Any, Any]]) -> None:
    """Each notice is settled exactly once, in the order in which it was added."""
    world = run(story, restarts=False)
    settled = [n for a in world.attempts if a.outcome.kind != "retried" for n in a.numbers]
    assert list(range(world.added)) == settled
    assert world.box.next_due_s() is None
    assert world.box.due(world.now_s + 1e9) is None


@settings(deadline=None, max_examples=200)
@given(st.lists(acts, max_size=30))
def test_pace(story: list[tuple[str, Any, Any]]) -> None:
    """At most one attempt a second, one at a time, and none before the wait that was asked for."""
    world = run(story, restarts=False)
    for before, after in pairwise(world.attempts):
        assert after.at_s >= before.at_s + INTERVAL_S
        assert after.at_s >= before.settled_s
        if before.outcome.kind == "retried":
            assert after.at_s >= before.settled_s + before.outcome.retry_after_s
            assert after.at_s >= before.settled_s + 0.5


@settings(deadline=None, max_examples=200)
@given(st.lists(acts, max_size=30))
def test_a_retry_is_the_same_message(story: list[tuple[str, Any, Any]]) -> None:
    """After a failure the next attempt has the same key and the same notices, come what may."""
    world = run(story, restarts=False)
    keys = [a.key for a in world.attempts if a.outcome.kind != "retried"]
    assert len(set(keys)) == len(keys)
    for before, after in pairwise(world.attempts):
        if before.outcome.kind == "retried":
            assert (before.key, before.numbers) == (after.key, after.numbers)
    for each in world.attempts:
        names = [f"tw_{n}" for n in each.numbers]
        assert each.key == (names[0] if len(names) == 1 else digest_key(names))
        assert len(each.numbers) == 1 or DIGEST_ABOVE < len(each.numbers) <= DIGEST_NOTICES_MAX


@settings(deadline=None, max_examples=200)
@given(st.lists(acts, max_size=30))
def test_restarts_change_no_key(story: list[tuple[str, Any, Any]]) -> None:
    """With crashes in between nothing is lost either, and a digest once formed stays as it was."""
    world = run(story, restarts=True)
    settled = [n for a in world.attempts if a.outcome.kind != "retried" for n in a.numbers]
    assert list(range(world.added)) == sorted(settled)
    told = {a.key: a.numbers for a in world.attempts}
    assert all(told[a.key] == a.numbers for a in world.attempts)
    digested = [n for a in world.attempts if len(a.numbers) > 1 for n in set(a.numbers)]
    keys = {n: a.key for a in world.attempts if len(a.numbers) > 1 for n in a.numbers}
    assert set(digested) == set(keys)


@pytest.mark.parametrize(
    ("waiting", "sizes"),
    [(1, [1]), (5, [1] * 5), (6, [6]), (500, [500]), (503, [500, 1, 1, 1]), (506, [500, 6])],
)
def test_digest_above_five(waiting: int, sizes: list[int]) -> None:
    """Up to 5 waiting are told one by one, more as one digest of at most 500."""
    world = World()
    world.add(waiting)
    while len(world.box):
        world.attempt(Outcome("delivered", ""), 0.0)
    assert sizes == [len(a.numbers) for a in world.attempts]


@pytest.mark.parametrize("n", range(20))
def test_a_quick_failure_keeps_the_pace(n: int) -> None:
    """A retry after a failure at once still comes a second after the attempt before, or later."""
    box = Outbox()
    box.add(notice(n))
    box.due(0.0)
    box.sent(0.0)
    box.settle(Outcome("retried", "HTTP 503"), 0.0)
    due_s = box.next_due_s()
    assert due_s is not None
    assert due_s >= INTERVAL_S


def test_a_new_digest_is_to_be_stored_first() -> None:
    """A digest that was just formed is not yet stored; single notices and restored ones are."""
    box = Outbox()
    box.add(notice(0))
    assert box.due(0.0) == Delivery("tw_0", (notice(0),))
    box = Outbox()
    for n in range(6):
        box.add(notice(n))
    formed = box.due(0.0)
    assert formed is not None
    assert not formed.stored
    box = Outbox()
    box.add(notice(9))
    box.restore_digest(formed.key, list(formed.notices))
    assert box.due(0.0) == Delivery(formed.key, formed.notices)


def test_what_comes_later_does_not_join_the_head() -> None:
    """Notices added while a message waits for its retry do not change that message."""
    world = World()
    world.add(1)
    world.attempt(Outcome("retried", "HTTP 503"), 0.0)
    world.add(10)
    world.attempt(Outcome("delivered", "HTTP 200"), 0.0)
    world.attempt(Outcome("delivered", "HTTP 200"), 0.0)
    assert [len(a.numbers) for a in world.attempts] == [1, 1, 10]


@pytest.mark.parametrize("retry_after_s", [0.0, 7.0, 3600.0])
def test_retry_after_is_honoured(retry_after_s: float) -> None:
    """The wait is the longer of the back-off and what the receiver asked for."""
    world = World()
    world.add(1)
    world.attempt(Outcome("retried", "HTTP 429", retry_after_s), 0.25)
    due_s = world.box.next_due_s()
    assert due_s == max(INTERVAL_S, 0.25 + max(backoff_s("tw_0", 1), retry_after_s))


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=10), st.integers(1, 10**6))
def test_backoff_bounds(key: str, attempt: int) -> None:
    """The wait is between half and all of a doubling time of at most 300 s, the same each time."""
    full = min(BACKOFF_MAX_S, 2.0 ** min(attempt - 1, 20))
    assert full / 2 <= backoff_s(key, attempt) <= full
    assert backoff_s(key, attempt) == backoff_s(key, attempt)


def test_backoff_spreads() -> None:
    """Different keys, and different attempts of one key, wait differently."""
    waits = {backoff_s(f"k{n}", 20) for n in range(100)} | {
        backoff_s("k", n) for n in range(20, 120)
    }
    assert len(waits) > 190
    assert max(waits) - min(waits) > 140


@pytest.mark.parametrize(
    ("status", "kind"),
    [(status, "delivered") for status in (200, 201, 202, 204, 299)]
    + [(status, "retried") for status in (408, 429, 500, 502, 503, 504, 599)]
    + [(status, "undeliverable") for status in (300, 301, 302, 307, 400, 401, 403, 404, 410, 422)],
)
def test_what_a_status_means(status: int, kind: str) -> None:
    """2xx settles; 408, 429 and 5xx are tried again; redirects and other 4xx are final."""
    assert judge(status).kind == kind
    assert judge(status).kind in OUTCOMES
    assert str(status) in judge(status).detail


def test_retry_after_is_bounded() -> None:
    """A receiver cannot silence us for more than an hour at a time."""
    assert judge(503, 1e12).retry_after_s == RETRY_AFTER_MAX_S == 3600.0
    assert judge(429, 30.0).retry_after_s == 30.0
    assert judge(200, 30.0).retry_after_s == 0.0


def test_oldest_and_length() -> None:
    """Length and age look at what waits, what was formed, and what is under way."""
    box = Outbox()
    assert (len(box), box.oldest_time_s(), box.next_due_s()) == (0, None, None)
    box.add(notice(7))
    box.add(notice(8))
    assert (len(box), box.oldest_time_s(), box.next_due_s()) == (2, 7.0, 0.0)
    box.restore_digest("twd_x", [notice(n) for n in range(3, 6)])
    assert (len(box), box.oldest_time_s()) == (5, 3.0)
    box.due(0.0)
    box.sent(0.0)
    assert (len(box), box.oldest_time_s(), box.next_due_s()) == (5, 3.0, None)
    box.settle(Outcome("undeliverable", "HTTP 404"), 0.5)
    assert (len(box), box.oldest_time_s(), box.next_due_s()) == (2, 7.0, 1.0)


def test_a_receiver_that_cannot_mix_gets_ends_one_by_one() -> None:
    """Its digests hold what fires, in order; what resolved goes alone, at its place."""
    box = Outbox(mixes=False)
    kinds = ["firing"] * 8 + ["resolved"] * 7 + ["firing"] * 2
    for n, kind in enumerate(kinds):
        box.add(replace(notice(n), type=f"finding.{kind}"))
    sizes = []
    while (delivery := box.due(1e9)) is not None:
        sizes.append(len(delivery.notices))
        box.sent(0.0)
        box.settle(Outcome("delivered", ""), 0.0)
    assert sizes == [8] + [1] * 9


def test_a_reminder_goes_only_if_nothing_else_does() -> None:
    """It waits for what is new, is no part of what is unsent, and is not tried again itself."""
    box = Outbox()
    reminder = Delivery("again", (notice(1), notice(2)), reminder=True)
    box.add(notice(3))
    assert not box.remind(reminder, 0.0)
    assert box.due(0.0) is not reminder
    box.sent(0.0)
    assert not box.remind(reminder, 9.0)
    box.settle(Outcome("delivered", ""), 0.5)
    assert not box.remind(reminder, 0.9)  # One message a second.
    assert box.remind(reminder, 1.0)
    assert (box.due(1.0), len(box), box.oldest_time_s()) == (reminder, 0, None)
    box.sent(1.0)
    assert box.settle(Outcome("retried", "HTTP 503"), 1.0) is reminder
    box.add(notice(4))
    assert box.due(1.0) is None  # Its failure holds up what comes after it, as any does.
    later = box.due(9.0)
    assert later is not None
    assert [n.key for n in later.notices] == [notice(4).key]
