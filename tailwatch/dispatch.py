"""Who is told of what, and in which order it leaves: the engine's desk for outgoing mail."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .core.findings import Transition
from .core.names import escape
from .core.notices import Notice, make_notice
from .core.outbox import Delivery, Outbox
from .messages import Commit, OutboxRow, ReceiverPolicy, Settled
from .paging import may_page
from .ports import Courier
from .reminders import REMINDER_KEY, Reminder
from .tracked import Tracked


class Dispatch:
    """
    The outboxes of all receivers.

    Nothing leaves before it is stored: `tell` and `plan` put what is to be sent
    into the commit; `send` hands it to the couriers after the commit.

    Args:
        policies: What each receiver wants to be told of.
        couriers: What sends to each, by the receiver's name.
        host: The name of this host, for people.
        url: A page about the runs, if there is one.
    """

    def __init__(
        self,
        policies: Sequence[ReceiverPolicy],
        couriers: Mapping[str, Courier],
        *,
        host: str = "",
        url: str | None = None,
    ) -> None:
        self._policies = list(policies)
        self._couriers = couriers
        self._host, self._url = host, url
        self._outboxes = {policy.name: Outbox(mixes=policy.mixes) for policy in policies}
        self._reminders = {p.name: Reminder(p) for p in policies if p.resends}
        self._planned: list[tuple[str, Delivery]] = []

    def restore(self, rows: Iterable[OutboxRow]) -> int:
        """Put back what was unsent. Returns how many notices are for receivers unknown now."""
        unknown = 0
        digests: dict[tuple[str, str], list[Notice]] = {}
        for row in rows:
            outbox = self._outboxes.get(row.receiver)
            if outbox is None:
                unknown += 1
            elif row.digest is None:
                outbox.add(row.notice)
            else:
                digests.setdefault((row.receiver, row.digest), []).append(row.notice)
        for (receiver, key), notices in digests.items():
            self._outboxes[receiver].restore_digest(key, notices)
        return unknown

    def tell(
        self,
        tracked: Tracked,
        transition: Transition,
        time_s: float,
        now_s: float,
        commit: Commit,
    ) -> None:
        """Put a notice of *transition* into the outboxes, if anyone wants it and may have it."""
        assert tracked.name is not None
        receivers = [p.name for p in self._policies if p.wants(tracked.name, transition)]
        if not receivers or not may_page(tracked.paged, transition, now_s):
            return
        notice = self._notice(tracked, transition, time_s)
        for receiver in receivers:
            self._outboxes[receiver].add(notice)
            commit.notices.append((receiver, notice))

    def _notice(self, tracked: Tracked, transition: Transition, time_s: float) -> Notice:
        assert tracked.name is not None
        return make_notice(
            run=tracked.name,
            file=escape(tracked.path),
            host=self._host,
            first_line=tracked.reader.first_line,
            transition=transition,
            time_s=time_s,
            fired_s=tracked.fired_s(transition.category),
            url=self._url,
        )

    def settle(self, settled: Settled, monotonic_s: float, commit: Commit) -> Delivery | None:
        """Take in a courier's word; return the message it was about, None if it is of no one's."""
        outbox = self._outboxes.get(settled.receiver)
        if outbox is None or not outbox.under_way:
            return None  # A courier from before a reload.
        delivery = outbox.settle(settled.outcome, monotonic_s)
        if delivery.reminder:
            return delivery
        reminder = self._reminders.get(settled.receiver)
        if reminder and settled.outcome.kind == "delivered":
            reminder.told(delivery.notices, monotonic_s)
        if settled.outcome.kind != "retried":
            keys = [notice.key for notice in delivery.notices]
            commit.settled.append((settled.receiver, keys, settled.outcome.kind))
        return delivery

    def plan(self, monotonic_s: float, commit: Commit, runs: Iterable[Tracked] = ()) -> None:
        """Choose what is due now; of *runs*, all that are followed, some may need reminders."""
        self._planned = []
        for receiver, reminder in self._reminders.items():
            if reminder.due(monotonic_s):
                self._remind(receiver, reminder, monotonic_s, runs)
        for receiver, outbox in self._outboxes.items():
            delivery = outbox.due(monotonic_s)
            if delivery is None:
                continue
            if not delivery.stored:
                keys = [notice.key for notice in delivery.notices]
                commit.digests.append((receiver, delivery.key, keys))
                delivery.stored = True
            self._planned.append((receiver, delivery))

    def _remind(
        self, receiver: str, reminder: Reminder, monotonic_s: float, runs: Iterable[Tracked]
    ) -> None:
        standing = [
            self._notice(tracked, firing, tracked.fired_s(firing.category))
            for tracked in runs
            for firing in reminder.standing(tracked)
        ]
        notices = (*standing, *reminder.resolved(standing, monotonic_s))
        delivery = Delivery(REMINDER_KEY, notices, reminder=True)
        if not notices or self._outboxes[receiver].remind(delivery, monotonic_s):
            reminder.reminded(monotonic_s)

    def send(self, monotonic_s: float) -> None:
        """Hand over what was planned; its commit has succeeded."""
        for receiver, delivery in self._planned:
            self._outboxes[receiver].sent(monotonic_s)
            self._couriers[receiver].post(delivery.key, delivery.notices)
        self._planned = []

    def next_due_s(self) -> float | None:
        """When something may next be due (monotonic), or None."""
        times = [t for box in self._outboxes.values() if (t := box.next_due_s()) is not None]
        return min(times, default=None)

    def unsettled(self) -> bool:
        """Whether anything is on its way, or could go without having failed before."""
        return any(
            box.under_way or (len(box) and not (box.head and box.head.attempts))
            for box in self._outboxes.values()
        )

    def pending(self) -> int:
        """Unsent notices of all receivers."""
        return sum(len(box) for box in self._outboxes.values())

    def oldest_s(self) -> float | None:
        """The Unix time of the oldest unsent notice."""
        times = [t for box in self._outboxes.values() if (t := box.oldest_time_s()) is not None]
        return min(times, default=None)
