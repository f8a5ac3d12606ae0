"""Who is told of what: severities, limits, digests, and nothing before it is stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tailwatch.checks import CHECKS
from tailwatch.core.findings import Severity, TransitionKind
from tailwatch.core.notices import Notice
from tailwatch.core.outbox import DIGEST_ABOVE, Outcome
from tailwatch.dispatch import Dispatch
from tailwatch.messages import Commit, OutboxRow, ReceiverPolicy, Settled
from tailwatch.paging import PAGE_INTERVAL_S
from tailwatch.readers import KeptReader
from tailwatch.tracked import Tracked
from tests.shell.helpers import notice, transition

CRITICAL = frozenset({"critical"})
RESOLVED = TransitionKind.RESOLVED
DELIVERED = Outcome("delivered", "HTTP 200")


class FakeCourier:
    """A courier that only remembers what it was given."""

    def __init__(self) -> None:
        self.posts: list[tuple[str, list[str]]] = []

    def post(self, key: str, notices: Sequence[Notice]) -> None:
        self.posts.append((key, [n.key for n in notices]))


class Desk:
    """A dispatch with a fake courier for each receiver."""

    def __init__(self, *policies: ReceiverPolicy) -> None:
        self.policies = policies or (ReceiverPolicy("ops", CRITICAL),)
        self.couriers = {policy.name: FakeCourier() for policy in self.policies}
        self.dispatch = Dispatch(self.policies, self.couriers, host="here")
        self.commit = Commit()

    def tell(self, file: Tracked, now_s: float = 1000.0, **more: Any) -> list[str]:
        """Tell of a transition; returns which receivers have a notice of it in the commit."""
        before = len(self.commit.notices)
        self.dispatch.tell(file, transition(**more), now_s, now_s, self.commit)
        return [receiver for receiver, _ in self.commit.notices[before:]]

    def turn(self, monotonic_s: float) -> Commit:
        """Plan, pretend to commit, send; returns what was to be stored for it."""
        commit = Commit()
        self.dispatch.plan(monotonic_s, commit)
        self.dispatch.send(monotonic_s)
        return commit


def tracked(name: str = "exp/metrics") -> Tracked:
    return Tracked(f"/runs/{name}.jsonl", "/runs", KeptReader(CHECKS), name)


# Who wants what.


def test_severity_decides_who_is_told() -> None:
    """Each receiver is told of the severities that it asked for and of no other."""
    desk = Desk(
        ReceiverPolicy("pager", CRITICAL),
        ReceiverPolicy("chat", frozenset({"critical", "warning"})),
    )
    file = tracked()
    assert desk.tell(file) == ["pager", "chat"]
    assert desk.tell(file, category="loss_flat", severity=Severity.WARNING) == ["chat"]
    assert desk.tell(file, category="too_few_steps", severity=Severity.INFO) == []


def test_resolved_only_to_those_who_asked() -> None:
    """A resolved finding is told to receivers with send_resolved, once, and to no other."""
    desk = Desk(ReceiverPolicy("pager", CRITICAL), ReceiverPolicy("chat", CRITICAL, True))
    file = tracked()
    assert desk.tell(file) == ["pager", "chat"]
    assert desk.tell(file, kind=RESOLVED, row=9) == ["chat"]
    assert desk.tell(file, kind=RESOLVED, row=10) == []


def test_resolved_only_if_its_firing_was_told() -> None:
    """Nobody hears the end of what they did not hear the beginning of."""
    desk = Desk(ReceiverPolicy("chat", CRITICAL, True))
    file = tracked()
    assert desk.tell(file, kind=RESOLVED) == []
    assert desk.tell(file, 1000.0) == ["chat"]
    assert desk.tell(file, 1010.0, kind=RESOLVED, row=9) == ["chat"]
    assert desk.tell(file, 1020.0, row=11) == []  # Within the hour: not told.
    assert desk.tell(file, 1030.0, kind=RESOLVED, row=12) == []


def test_reminders_follow_what_stands() -> None:
    """A receiver that forgets is told again every minute of what stands, then of its end."""
    policy = ReceiverPolicy("am", CRITICAL, True, resends=True)
    desk, file = Desk(policy), tracked()
    file.reader.feed(b'{"step": 1, "loss": NaN}\n')
    posts = desk.couriers["am"].posts

    def turn(at_s: float) -> int:
        before = len(posts)
        commit = Commit()
        desk.dispatch.plan(at_s, commit, [file])
        desk.dispatch.send(at_s)
        if len(posts) > before:
            desk.dispatch.settle(Settled("am", DELIVERED), at_s, commit)
        return len(posts) - before

    assert turn(0.0) == 0  # Nothing was told: nothing to repeat.
    assert desk.tell(file, 1000.0) == ["am"]
    assert [turn(s) for s in (1.0, 30.0, 59.0, 61.0, 62.0, 122.0)] == [1, 0, 0, 1, 0, 1]
    assert [key for key, _ in posts[1:]] == ["tw_reminder"] * 2
    assert desk.tell(file, 1200.0, kind=RESOLVED, row=9) == ["am"]
    file.reader.monitor.watched.clear()
    assert [turn(s) for s in (150.0, 182.0, 242.0, 449.0, 510.0)] == [1, 1, 1, 1, 0]
    assert {len(keys) for _, keys in posts} == {1}
    assert desk.dispatch.pending() == 0


def test_a_reminder_that_fails_settles_nothing() -> None:
    """What was delivered stays delivered on disk, whatever comes of its repetitions."""
    desk, file = Desk(ReceiverPolicy("am", CRITICAL, True, resends=True)), tracked()
    file.reader.feed(b'{"step": 1, "loss": NaN}\n')
    desk.tell(file, 1000.0)
    for at_s, outcome in ((0.0, DELIVERED), (61.0, Outcome("undeliverable", "HTTP 400"))):
        commit = Commit()
        desk.dispatch.plan(at_s, commit, [file])
        desk.dispatch.send(at_s)
        delivery = desk.dispatch.settle(Settled("am", outcome), at_s, commit)
        assert delivery is not None
        assert delivery.reminder == (at_s > 0)
        assert len(commit.settled) == (at_s == 0)


def test_a_notice_leads_to_the_page_of_its_run() -> None:
    """Where the pages have an address, the notice has that of the run's own; else none."""
    file = tracked("exp 1/metrics")
    for url, expected in (
        ("https://tw.example/", "https://tw.example/run/exp%201/metrics"),
        (None, None),
    ):
        desk = Desk()
        desk.dispatch = Dispatch(desk.policies, desk.couriers, url=url)
        desk.tell(file, category=f"nan_loss_{url}")
        ((_, notice),) = desk.commit.notices
        assert notice.data.get("url") == expected


# Limits.


def test_one_page_an_hour_for_a_run_and_category() -> None:
    """A finding that comes and goes pages once an hour; other categories and runs are not held."""
    desk, file = Desk(), tracked()
    assert desk.tell(file, 1000.0) == ["ops"]
    assert desk.tell(file, 1000.0 + PAGE_INTERVAL_S - 1, row=8) == []
    assert desk.tell(file, 1001.0, category="loss_diverged") == ["ops"]
    assert desk.tell(tracked("other"), 1001.0) == ["ops"]
    assert desk.tell(file, 1000.0 + PAGE_INTERVAL_S, row=9) == ["ops"]


def test_new_era_may_page_at_once() -> None:
    """A trainer that was started again and fails again is news, within the hour too."""
    desk, file = Desk(), tracked()
    assert desk.tell(file, 1000.0) == ["ops"]
    assert desk.tell(file, 1001.0, era=1, row=8) == ["ops"]
    assert desk.tell(file, 1002.0, era=1, row=9) == []


def test_clock_that_was_set_back_does_not_silence() -> None:
    """After a jump of the wall clock into the past the next finding is still told."""
    desk, file = Desk(), tracked()
    assert desk.tell(file, 1e9) == ["ops"]
    assert desk.tell(file, 1e8, row=8) == ["ops"]


def test_finding_that_continues_is_no_news() -> None:
    """A finding that fires again so soon that it is the old one pages nobody."""
    desk, file = Desk(), tracked()
    assert desk.tell(file, continues=True) == []
    assert desk.tell(file) == ["ops"]


def test_unwanted_transition_uses_up_no_limit() -> None:
    """What nobody wants does not count against the page that somebody wants."""
    desk, file = Desk(), tracked()
    assert desk.tell(file, severity=Severity.INFO) == []
    assert desk.tell(file) == ["ops"]


# Stored first, then sent.


def test_nothing_is_sent_before_the_commit() -> None:
    """`tell` and `plan` only fill the commit; `send` comes after it and sends once."""
    desk = Desk()
    desk.tell(tracked())
    ((_, told),) = desk.commit.notices
    desk.dispatch.plan(1.0, Commit())
    assert desk.couriers["ops"].posts == []
    desk.dispatch.send(1.0)
    desk.dispatch.send(1.0)
    assert [(told.key, [told.key])] == desk.couriers["ops"].posts


def test_digest_is_stored_before_it_is_sent() -> None:
    """Which notices were put together is in the commit that goes before the message, once."""
    desk = Desk()
    for n in range(DIGEST_ABOVE + 1):
        desk.tell(tracked(f"r{n}"))
    keys = [told.key for _, told in desk.commit.notices]
    commit = Commit()
    desk.dispatch.plan(1.0, commit)
    ((receiver, digest, stored),) = commit.digests
    assert ("ops", keys, []) == (receiver, stored, desk.couriers["ops"].posts)
    desk.dispatch.send(1.0)
    assert [(digest, keys)] == desk.couriers["ops"].posts
    desk.dispatch.settle(Settled("ops", Outcome("retried", "HTTP 500")), 1.0, Commit())
    assert desk.turn(1000.0).digests == []
    assert [(digest, keys)] * 2 == desk.couriers["ops"].posts


def test_few_notices_go_one_by_one() -> None:
    """Up to the limit every finding has a message of its own, in order, one at a time."""
    desk = Desk()
    for n in range(DIGEST_ABOVE):
        desk.tell(tracked(f"r{n}"))
    for n in range(DIGEST_ABOVE):
        assert desk.turn(10.0 * n).digests == []
        desk.dispatch.settle(Settled("ops", DELIVERED), 10.0 * n, Commit())
    assert [(t.key, [t.key]) for _, t in desk.commit.notices] == desk.couriers["ops"].posts


def test_settled_is_stored_unless_it_is_tried_again() -> None:
    """Delivered and undeliverable are the end of a notice; a failure is not."""
    desk = Desk()
    desk.tell(tracked())
    ((_, told),) = desk.commit.notices
    for kind, expected in (
        ("retried", []),
        ("undeliverable", [("ops", [told.key], "undeliverable")]),
    ):
        desk.turn(10_000.0 if expected else 0.0)
        commit = Commit()
        delivery = desk.dispatch.settle(Settled("ops", Outcome(kind, "x")), 1.0, commit)
        assert (expected, told.key) == (commit.settled, delivery.key)
    assert desk.dispatch.pending() == 0


def test_dead_receiver_delays_only_itself() -> None:
    """While one receiver fails, the other is served."""
    desk = Desk(ReceiverPolicy("dead", CRITICAL), ReceiverPolicy("live", CRITICAL))
    for n in range(3):
        desk.tell(tracked(f"r{n}"))
        desk.turn(2.0 * n)
        if n == 0:
            dead = Settled("dead", Outcome("retried", "x", retry_after_s=3600.0))
            desk.dispatch.settle(dead, 0.0, Commit())
        desk.dispatch.settle(Settled("live", DELIVERED), 2.0 * n, Commit())
    assert (len(desk.couriers["dead"].posts), len(desk.couriers["live"].posts)) == (1, 3)
    assert desk.dispatch.pending() == 3
    assert not desk.dispatch.unsettled()


# After a restart.


def test_restored_digest_keeps_its_key_and_goes_first() -> None:
    """What was put together before a crash is sent under the same key, before what is newer."""
    desk = Desk()
    rows = [
        OutboxRow("ops", notice("a"), "twd_1"),
        OutboxRow("ops", notice("b"), None),
        OutboxRow("ops", notice("c"), "twd_1"),
    ]
    assert desk.dispatch.restore(rows) == 0
    assert desk.turn(0.0).digests == []
    desk.dispatch.settle(Settled("ops", DELIVERED), 0.0, Commit())
    desk.turn(10.0)
    assert desk.couriers["ops"].posts == [("twd_1", ["a", "c"]), ("b", ["b"])]


def test_notices_for_receivers_that_are_gone_are_counted() -> None:
    """Unsent notices of a receiver that is no longer configured are said, not sent."""
    desk = Desk()
    rows = [OutboxRow("gone", notice("a"), None), OutboxRow("gone", notice("b"), "twd_1")]
    assert desk.dispatch.restore([*rows, OutboxRow("ops", notice("c"), None)]) == 2
    assert desk.dispatch.pending() == 1


def test_due_time_and_age() -> None:
    """The engine is told when to wake for the outbox, and how old its oldest notice is."""
    desk = Desk()
    assert (desk.dispatch.next_due_s(), desk.dispatch.oldest_s()) == (None, None)
    desk.dispatch.restore([OutboxRow("ops", notice("a", 50.0), None)])
    assert (desk.dispatch.next_due_s(), desk.dispatch.oldest_s()) == (0.0, 50.0)
    desk.turn(5.0)
    assert None is desk.dispatch.next_due_s()
    assert desk.dispatch.unsettled()


def test_notice_says_what_a_person_needs() -> None:
    """The notice names run, host and file, with undecodable bytes made visible."""
    desk, file = Desk(), tracked()
    file.path = "/runs/caf\udcff.jsonl"
    desk.tell(file)
    data = desk.commit.notices[0][1].data
    assert (
        data["run"],
        data["host"],
        data["file"],
    ) == ("exp/metrics", "here", "/runs/caf\\xff.jsonl")
