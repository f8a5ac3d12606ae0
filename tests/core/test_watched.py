"""A check at work: whether it can speak, and what is kept of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tailwatch.checks import CHECKS
from tailwatch.checks.loss_spike import LossSpike
from tailwatch.checks.nan_loss import NanLoss
from tailwatch.core.check import Check, RunConfig
from tailwatch.core.findings import FindingState, Hold
from tailwatch.core.monitor import RunMonitor
from tailwatch.core.rows import Row
from tailwatch.core.watched import Readiness, Watched
from tailwatch.errors import StateOutdated


def watched(check: type[Check], losses: list[float]) -> Watched:
    monitor = RunMonitor([check])
    for n, loss in enumerate(losses, 1):
        monitor.update(Row(n, n, {"loss": loss}, n, timestamp_s=1e9 + n))
    return monitor.watched[0]


def packed(each: Watched) -> Any:
    return msgspec.msgpack.decode(msgspec.msgpack.encode(each.to_state()))


STORIES = {
    "calm": [2.0] * 60,
    "pending": [2.0] * 50 + [5.0] * 3,
    "firing": [2.0] * 50 + [5.0] * 8,
    "resolved": [2.0] * 50 + [5.0] * 8 + [2.0] * 25,
}


@pytest.mark.parametrize("story", STORIES)
def test_it_comes_back_as_it_was(story: str) -> None:
    """Calm, pending, firing or resolved: check, life and evidence are the same."""
    each = watched(LossSpike, STORIES[story])
    again = Watched.from_state(LossSpike, packed(each))
    assert again.life == each.life
    assert again.check.to_state() == each.check.to_state()
    assert again.pending == each.pending
    assert again.quarantined is each.quarantined is False
    assert packed(again) == packed(each)
    if story == "firing":
        assert again.firing is not None
        assert each.firing is not None
        assert again.firing.evidence == each.firing.evidence
        assert again.firing.mark == each.firing.mark
    else:
        assert again.firing is each.firing is None


def test_what_is_pending_is_kept_until_it_fires() -> None:
    """The evidence of the last row is kept while it is pending, and no longer."""
    pending = watched(LossSpike, STORIES["pending"])
    assert pending.life.state is FindingState.PENDING
    assert pending.pending is not None
    assert "since step 51" in pending.pending.message
    assert watched(LossSpike, STORIES["firing"]).pending is None
    assert watched(LossSpike, STORIES["calm"]).pending is None


def test_values_are_kept_without_their_names() -> None:
    """A state holds what the check knows in its order; the names are in the code."""
    each = watched(NanLoss, [2.0])
    assert list(each.check.to_state().values()) == each.to_state()[1]


@pytest.mark.parametrize("change", ["version", "thresholds", "hold", "attribute", "foreign"])
def test_another_rule_is_outdated(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state of another version, of other thresholds, hold or attributes, or of another form."""
    state = packed(watched(LossSpike, STORIES["calm"]))
    if change == "version":
        monkeypatch.setattr(LossSpike, "state_version", 2)
    elif change == "thresholds":
        monkeypatch.setattr(LossSpike, "thresholds", LossSpike.thresholds | {"factor": 3})
    elif change == "hold":
        monkeypatch.setattr(LossSpike, "hold", Hold(4, 20))
    elif change == "attribute":

        class Longer(LossSpike):
            def __init__(self) -> None:
                super().__init__()
                self.more = 0

        with pytest.raises(StateOutdated):
            Watched.from_state(Longer, state)
        return
    else:
        state = {"check": state}
    with pytest.raises(StateOutdated):
        Watched.from_state(LossSpike, state)


def fed(count: int, config: RunConfig | None = None, **values: float) -> RunMonitor:
    """A run of so many rows, all alike."""
    monitor = RunMonitor(CHECKS, config)
    for n in range(1, count + 1):
        monitor.update(Row(n, n, dict(values), 0, rewarded="reward" in values))
    return monitor


def states(monitor: RunMonitor) -> dict[str, tuple[str, str]]:
    """What is said of each check."""
    found = [each.readiness() for each in monitor.watched]
    return {each.category: (each.state, each.reason) for each in found}


def test_a_check_is_off_warming_up_or_armed() -> None:
    """Without its field it is off, with too few rows it warms up, with enough it is armed."""
    got = states(fed(4, loss=2.0))

    assert got["nan_loss"] == ("armed", "")
    assert got["loss_diverged"] == ("warming_up", "4 of 5 losses")
    assert got["loss_flat"] == ("warming_up", "4 of 30 losses")
    assert got["grad_norm_high"] == ("off", "no row has a gradient norm")
    assert got["lr_too_low"] == ("off", "no configuration names a learning rate")
    assert states(fed(5, loss=2.0))["loss_diverged"] == ("armed", "")


def test_a_configured_rate_waits_for_a_row() -> None:
    """With a rate and no row there is one row to wait for."""
    config = RunConfig(learning_rate=1e-4)

    assert states(fed(0, config))["lr_too_high"] == ("warming_up", "0 of 1 rows")
    assert states(fed(1, config, loss=1.0))["lr_too_high"] == ("armed", "")


def test_what_no_number_of_rows_mends() -> None:
    """A reward, or a first loss of 0, puts out the checks that compare with it."""
    assert states(fed(50, loss=0.0))["loss_flat"] == ("off", "the first loss is not above 0")
    state, reason = states(fed(50, loss=1.0, reward=1.0))["loss_diverged"]
    assert (state, "no measure of progress" in reason) == ("off", True)


def test_numbers_for_programs() -> None:
    """The counts of a warm-up are there as numbers too."""
    (found,) = [w.readiness() for w in fed(3, loss=2.0).watched if w.check.category == "loss_flat"]

    assert Readiness("loss_flat", "warming_up", "3 of 30 losses", 3, 30) == found


def test_a_check_that_failed_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was taken out says so, whatever it would be waiting for."""

    def fail(self: Check, row: Row) -> None:
        raise ValueError

    monkeypatch.setattr(CHECKS[0], "update", fail)
    state, reason = states(fed(1, loss=2.0))[CHECKS[0].category]

    assert (state, "failed" in reason) == ("off", True)


def test_a_new_segment_begins_anew() -> None:
    """What the rows of the segment before had is no news of this one."""
    monitor = fed(20, loss=2.0, grad_norm=1.0)
    monitor.update(Row(21, 1, {"loss": 2.0}, 0))

    assert states(monitor)["grad_norm_high"] == ("off", "no row has a gradient norm")
    assert states(monitor)["loss_flat"] == ("warming_up", "1 of 30 losses")


@pytest.mark.parametrize("count", [0, 3, 40])
def test_saving_changes_no_readiness(count: int) -> None:
    """After a restart the same is said of every check."""
    monitor = fed(count, RunConfig(1e-4), loss=2.0)
    again = [Watched.from_state(type(w.check), packed(w)) for w in monitor.watched]

    assert [w.readiness() for w in monitor.watched] == [w.readiness() for w in again]
