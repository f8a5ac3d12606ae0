"""What a receiver that forgets is told again, and for how long."""

from __future__ import annotations

from dataclasses import replace

from tailwatch.checks import CHECKS
from tailwatch.core.globs import PathFilter
from tailwatch.messages import ReceiverPolicy
from tailwatch.paging import Paged
from tailwatch.readers import KeptReader
from tailwatch.reminders import REMINDER_S, RESOLVED_FOR_S, Reminder
from tailwatch.tracked import Tracked
from tests.shell.helpers import notice

POLICY = ReceiverPolicy("am", frozenset({"critical"}), True, resends=True)


def gone_nan(name: str | None = "exp/metrics") -> Tracked:
    """A run whose loss is NaN, and of which everyone was told."""
    tracked = Tracked("/runs/exp/metrics.jsonl", "/runs", KeptReader(CHECKS), name)
    tracked.reader.feed(b'{"step": 1, "loss": NaN}\n')
    tracked.paged["nan_loss"] = Paged(1000.0, 0, True)
    return tracked


def standing(tracked: Tracked, policy: ReceiverPolicy = POLICY) -> list[str]:
    return [firing.category for firing in Reminder(policy).standing(tracked)]


def test_what_stands_and_was_told() -> None:
    """Not what nobody was told of, not of what is no run or is gone, not what it does not want."""
    assert standing(gone_nan()) == ["nan_loss"]
    assert standing(gone_nan(None)) == []
    gone = gone_nan()
    gone.gone_s = 5.0
    assert standing(gone) == []
    silent = gone_nan()
    silent.paged.clear()
    assert standing(silent) == []
    over = gone_nan()
    over.paged["nan_loss"] = Paged(1000.0, 0, False)
    assert standing(over) == []
    elsewhere = replace(POLICY, runs=PathFilter(["other/**"]))
    assert standing(gone_nan(), elsewhere) == []
    assert standing(gone_nan(), replace(POLICY, categories=frozenset({"loss_flat"}))) == []


def test_every_minute() -> None:
    """At once after a start, then a minute after the last one."""
    reminder = Reminder(POLICY)
    assert reminder.due(5.0)
    reminder.reminded(5.0)
    assert not reminder.due(4.9 + REMINDER_S)
    assert reminder.due(5.0 + REMINDER_S)


def test_an_end_is_repeated_for_five_minutes() -> None:
    """Only an end, only while nothing of the kind fires again in that run."""
    end = replace(notice(), type="finding.resolved")
    other = replace(notice(run="other"), type="finding.resolved")
    reminder = Reminder(POLICY)
    reminder.told([notice("tw_2", category="loss_flat"), end, other], 100.0)
    assert reminder.resolved([], 100.0) == [end, other]
    assert reminder.resolved([], 99.0 + RESOLVED_FOR_S) == [end, other]
    assert reminder.resolved([notice("tw_3")], 101.0) == [other]
    assert reminder.resolved([], 102.0) == [other]
    assert reminder.resolved([], 100.0 + RESOLVED_FOR_S) == []
