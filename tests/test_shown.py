"""What is shown between commits."""

from __future__ import annotations

from tailwatch.checks import CHECKS
from tailwatch.messages import NEWS_S, Snapshot, Tally
from tailwatch.readers import KeptReader
from tailwatch.shown import SKIPPED_MAX, Shown
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
    return Tracked(f"/r/{name}.jsonl", "/r", KeptReader(CHECKS), name)


def test_a_run_that_ended_is_shown_for_the_retention() -> None:
    """After the retention its view goes, and nothing is counted as let go early."""
    keeper = Keeper()
    shown = Shown(keeper, 100.0, 2)
    shown.end(tracked("a"), 1000.0)
    for monotonic_s in (1100.0, 1100.1):
        shown.expire(0.0, monotonic_s)
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
    shown.expire(0.0, 1005.0)
    shown.publish(ready=True, pending=0, oldest_s=None)
    snapshot = keeper.snapshots[0]

    assert list(snapshot.runs) == ["r3", "r4"]
    assert snapshot.totals["ended_runs_dropped", "view"] == 3


def test_an_ended_run_with_a_fresh_critical_finding_is_not_let_go_for_calm_ones() -> None:
    """Of too many ended runs the calm and the warned go first, and a critical one once it is old."""
    now_s = 1e9
    keeper = Keeper()
    shown = Shown(keeper, 1e6, 2)
    findings = [
        ("fresh", "nan_loss", 60.0),
        ("warned", "overfit", 60.0),
        ("old", "nan_loss", NEWS_S),
    ]
    for number, (name, category, age_s) in enumerate(findings):
        run = tracked(name)
        run.tallies[category] = Tally(1, now_s - age_s)
        shown.end(run, 1000.0 + number)
    shown.end(tracked("calm"), 1010.0)
    shown.expire(now_s, 1011.0)
    shown.publish(ready=True, pending=0, oldest_s=None)
    shown.end(tracked("calm too"), 1012.0)
    shown.expire(now_s, 1013.0)
    shown.publish(ready=True, pending=0, oldest_s=None)
    first, second = keeper.snapshots

    assert list(first.runs) == ["fresh", "calm"]
    assert list(second.runs) == ["fresh", "calm too"]
    assert second.totals["ended_runs_dropped", "view"] == 3


def test_all_alarming_runs_are_bounded_too() -> None:
    """Where every ended run is critical, the newest of them are kept and the others counted."""
    keeper = Keeper()
    shown = Shown(keeper, 1e6, 2)
    for number in range(5):
        run = tracked(f"r{number}")
        run.tallies["nan_loss"] = Tally(1, 1e9 - 10)
        shown.end(run, 1000.0 + number)
    shown.expire(1e9, 1010.0)
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
    shown.expire(0.0, 9000.0)
    shown.publish(ready=True, pending=0, oldest_s=None)

    assert keeper.snapshots[0].runs["a"].state == "active"


def test_files_that_are_no_runs_have_their_reason() -> None:
    """Each with why; a file that became a run or went away is gone from them at the next look."""
    keeper = Keeper()
    shown = Shown(keeper, 100.0, 2)
    data, young, broken = (tracked(name) for name in ("data", "young", "broken"))
    for each in (data, young, broken):
        each.name = None
    data.skipped, broken.complaint = True, "Permission denied"
    shown.skip([data, tracked("run"), young, broken])
    shown.publish(ready=True, pending=0, oldest_s=None)
    young.name = "young"
    shown.skip([young, broken])
    shown.publish(ready=True, pending=0, oldest_s=None)
    before, after = keeper.snapshots

    assert [tuple(each) for each in before.skipped] == [
        ("/r/broken.jsonl", "Permission denied"),
        ("/r/data.jsonl", "no training fields"),
        ("/r/young.jsonl", "no row with a training field so far"),
    ]
    assert [each.file for each in after.skipped] == ["/r/broken.jsonl"]


def test_skipped_files_are_bounded_and_counted() -> None:
    """A directory of a hundred thousand data files does not make a page of them."""
    keeper = Keeper()
    shown = Shown(keeper, 100.0, 2)
    files = [tracked(f"{n:05}") for n in range(SKIPPED_MAX + 5)]
    for each in files:
        each.name = None
    shown.skip(files)
    shown.publish(ready=True, pending=0, oldest_s=None)

    assert len(keeper.snapshots[0].skipped) == SKIPPED_MAX
    assert keeper.snapshots[0].skipped_total == SKIPPED_MAX + 5


def test_a_run_that_cannot_be_read_says_why() -> None:
    """Though none of its rows changed, its trouble is seen, and again that it is over."""
    keeper = Keeper()
    shown = Shown(keeper, 100.0, 2)
    file = tracked("a")
    seen = []
    for trouble in ("", "Permission denied", ""):
        file.complaint = trouble
        shown.look([file], {})
        shown.publish(ready=True, pending=0, oldest_s=None)
        seen.append(keeper.snapshots[-1].runs["a"].trouble)

    assert seen == ["", "Permission denied", ""]
