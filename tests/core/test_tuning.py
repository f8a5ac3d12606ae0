"""Thresholds of one's own."""

from __future__ import annotations

import math

import pytest

from tailwatch.checks import CHECKS
from tailwatch.checks.loss_diverged import LossDiverged
from tailwatch.checks.loss_spike import LossSpike
from tailwatch.checks.memory_creep import MemoryCreep
from tailwatch.core.check import Check
from tailwatch.core.findings import Hold
from tailwatch.core.monitor import RunMonitor
from tailwatch.core.rows import Row
from tailwatch.core.tuning import tunable, tuned
from tailwatch.errors import StateOutdated


def fired_at(check: type[Check], losses: list[float]) -> list[int]:
    monitor = RunMonitor([check])
    rows = [Row(n, n, {"loss": loss}, n) for n, loss in enumerate(losses, 1)]
    return [t.mark.row for row in rows for t in monitor.update(row)]


def test_what_is_set_is_what_counts() -> None:
    """A factor and a hold of one's own change where it fires, and nothing else does."""
    losses = [2.0] * 50 + [5.0] * 10
    assert fired_at(LossSpike, losses) == [55]
    assert fired_at(tuned(LossSpike, {"hold_rows": 2}), losses) == [52]
    assert fired_at(tuned(LossSpike, {"factor": 3}), losses) == []
    assert fired_at(tuned(LossSpike, {"warm_up_rows": 56}), losses) == []
    assert fired_at(LossSpike, losses) == [55]


def test_a_tuned_check_is_the_same_check() -> None:
    """Category, severity, documentation and the thresholds that were not set stay."""
    ours = tuned(LossSpike, {"factor": 3, "clear_rows": 7})
    assert (ours.category, ours.severity) == (LossSpike.category, LossSpike.severity)
    assert ours.__doc__ == LossSpike.__doc__
    assert ours.thresholds == LossSpike.thresholds | {"factor": 3}
    assert ours.hold == Hold(LossSpike.hold.rows, 7)
    assert tuned(LossSpike, {}) is LossSpike


def test_the_state_of_other_thresholds_is_outdated() -> None:
    """What was kept under other thresholds means something else: the file is read again."""
    state = RunMonitor([LossSpike]).to_state()
    RunMonitor.from_state([tuned(LossSpike, {"factor": 2})], None, state)
    for own in ({"factor": 3}, {"hold_rows": 2}):
        with pytest.raises(StateOutdated):
            RunMonitor.from_state([tuned(LossSpike, own)], None, state)


@pytest.mark.parametrize(
    ("check", "own", "message"),
    [
        (LossSpike, {"facto": 3}, "facto: unknown threshold"),
        (LossDiverged, {"factor": 4}, "factor: unknown threshold"),
        (LossDiverged, {"hold_rows": 4}, "hold_rows: unknown threshold"),
        (MemoryCreep, {"clear_rows": 4}, "clear_rows: unknown threshold"),
        (LossSpike, {"factor": -1}, "factor: expected a number, not negative"),
        (LossSpike, {"factor": math.nan}, "factor: expected a number, not negative"),
        (LossSpike, {"factor": math.inf}, "factor: expected a number, not negative"),
        (LossSpike, {"hold_rows": 0}, "hold_rows: expected a number of rows"),
        (LossSpike, {"hold_rows": 1.5}, "hold_rows: expected a number of rows"),
        (LossSpike, {"clear_rows": -3}, "clear_rows: expected a number of rows"),
    ],
)
def test_what_cannot_be_set(check: type[Check], own: dict[str, float], message: str) -> None:
    """Unknown names, values that are none, and the rules of the seed, which are as they are."""
    with pytest.raises(ValueError, match=f"^{message}$"):
        tuned(check, own)


def test_all_that_can_be_set_can_be_set() -> None:
    """For every check, each name that is offered takes the value that it has."""
    for check in CHECKS:
        for name in tunable(check):
            now = {"hold_rows": check.hold.rows, "clear_rows": check.hold.clear_rows}
            value = now[name] if name in now else check.thresholds[name]
            assert value is not None
            ours = tuned(check, {name: value})
            assert (ours.thresholds, ours.hold) == (check.thresholds, check.hold)
        assert (tunable(check) == []) == (check.check_set == "seed")
