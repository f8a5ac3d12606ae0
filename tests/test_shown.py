"""What is shown between commits."""

from __future__ import annotations

from tailwatch.messages import Snapshot
from tailwatch.shown import Shown


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
    shown = Shown(keeper)
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
    shown = Shown(keeper)
    for mode in ("events", "missing"):
        shown.watch_mode("/r", mode)
    shown.publish(ready=True, pending=0, oldest_s=None)
    gauges = keeper.snapshots[0].gauges

    assert {key[2]: value for key, value in gauges.items() if key[0] == "watch_mode"} == {
        "events": 0,
        "sweep": 0,
        "missing": 1,
    }
