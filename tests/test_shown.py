"""What is shown between commits."""

from __future__ import annotations

from tailwatch.checks import CHECKS
from tailwatch.core.reader import RunReader
from tailwatch.messages import Snapshot
from tailwatch.shown import Shown
from tailwatch.tracked import Tracked


class Keeper:
    """A publisher that keeps what it is given."""

    def __init__(self) -> None:
        self.snapshots: list[Snapshot] = []

    def publish(self, snapshot: Snapshot) -> None:
        self.snapshots.append(snapshot)

    def beat(self, monotonic_s: float) -> None:
        pass


def test_a_published_snapshot_does_not_change() -> None:
    """What happens after publishing is not seen in what was published."""
    keeper = Keeper()
    shown = Shown(keeper, 100.0, 2)
    shown.took("sweep", 0.5)
    shown.publish(ready=True, pending=1, oldest_s=None)
    shown.took("sweep", 0.25)
    shown.totals["state_errors",] += 1
    shown.publish(ready=True, pending=0, oldest_s=None)
    first, second = keeper.snapshots

    assert tuple(first.gauges[k,] for k in ("sweep_seconds", "sweeps", "outbox_pending")) == (
        0.5,
        1,
        1,
    )
    assert tuple(second.gauges[k,] for k in ("sweep_seconds", "sweeps", "outbox_pending")) == (
        0.75,
        2,
        0,
    )
    assert (dict(first.totals), dict(second.totals)) == ({}, {("state_errors",): 1})


def test_one_watch_mode_is_in_force() -> None:
    """Of the modes of a root one is 1, and the others are 0 and not absent."""
    keeper = Keeper()
    shown = Shown(keeper, 100.0, 2)
    for mode in ("events", "missing"):
        shown.watch_mode("/r", mode)
    shown.publish(ready=True, pending=0, oldest_s=None)
    gauges = keeper.snapshots[0].gauges

    assert {key[2]: value for key, value in gauges.items() if key[0] == "watch_mode"} == {
        "events": 0,
        "sweep": 0,
        "missing": 1,
    }


def tracked(name: str) -> Tracked:
    return Tracked(f"/r/{name}.jsonl", "/r", RunReader(CHECKS), name)


def test_a_run_that_ended_is_shown_for_the_retention() -> None:
    """After the retention its view goes, and nothing is counted as let go early."""
    keeper = Keeper()
    shown = Shown(keeper, 100.0, 2)
    shown.end(tracked("a"), 1000.0)
    for monotonic_s in (1100.0, 1100.1):
        shown.expire(monotonic_s)
        shown.publish(ready=True, pending=0, oldest_s=None)
    before, after = keeper.snapshots

    assert [view.state for view in before.runs.values()] == ["ended"]
    assert (dict(after.runs), dict(after.totals)) == ({}, {})


def test_of_too_many_ended_runs_the_oldest_go_and_are_counted() -> None:
    """More ended runs than may be shown go early, and the count says so."""
    keeper = Keeper()
    shown = Shown(keeper, 100.0, 2)
    for number in range(5):
        shown.end(tracked(f"r{number}"), 1000.0 + number)
    shown.expire(1005.0)
    shown.publish(ready=True, pending=0, oldest_s=None)
    snapshot = keeper.snapshots[0]

    assert list(snapshot.runs) == ["r3", "r4"]
    assert snapshot.totals["ended_runs_dropped", "view"] == 3


def test_a_run_that_is_there_again_does_not_expire() -> None:
    """An ended run that is followed again stays shown, however long ago it ended."""
    keeper = Keeper()
    shown = Shown(keeper, 100.0, 2)
    run = tracked("a")
    shown.end(run, 1000.0)
    shown.look([run], {})
    shown.expire(9000.0)
    shown.publish(ready=True, pending=0, oldest_s=None)

    assert keeper.snapshots[0].runs["a"].state == "active"
