"""A check at work: what is kept of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tailwatch.checks.loss_spike import LossSpike
from tailwatch.checks.nan_loss import NanLoss
from tailwatch.core.check import Check
from tailwatch.core.findings import FindingState, Hold
from tailwatch.core.monitor import RunMonitor
from tailwatch.core.rows import Row
from tailwatch.core.watched import Watched
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
