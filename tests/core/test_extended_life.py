"""The life of findings, with the checks that are made for rows in motion."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import pytest

from tailwatch.checks import CHECKS
from tailwatch.checks.grad_norm_spike import GradNormSpike
from tailwatch.checks.loss_runaway import LossRunaway
from tailwatch.checks.loss_spike import LossSpike
from tailwatch.checks.nan_masked import NanMasked
from tailwatch.checks.run_resumed import RunResumed
from tailwatch.checks.slow_steps import SlowSteps
from tailwatch.checks.too_few_steps import TooFewSteps
from tailwatch.core.check import Check
from tailwatch.core.findings import Severity, Transition
from tailwatch.core.monitor import RunMonitor
from tailwatch.core.rows import Row

NAN = float("nan")
RESTING = [c for c in CHECKS if c.hold.clear_rows is None and c.check_set == "extended"]


def told(transitions: Iterable[Transition]) -> list[str]:
    return [f"{t.category} {t.kind.value}{' again' * t.continues}" for t in transitions]


class Story:
    """A run under some checks, told row by row."""

    def __init__(self, *checks: type[Check]) -> None:
        self.checks = checks
        self.monitor = RunMonitor(checks)
        self.rows = 0
        self.step = 0

    def rows_of(self, count: int, **values: float) -> list[str]:
        return [x for _ in range(count) for x in self.row(**values)]

    def row(self, **values: float) -> list[str]:
        self.rows, self.step = self.rows + 1, self.step + 10
        return told(self.monitor.update(Row(self.rows, self.step, values, self.rows)))

    def restart(self) -> None:
        packed = msgspec.msgpack.encode(self.monitor.to_state())
        state = msgspec.msgpack.decode(packed)
        self.monitor = RunMonitor.from_state(self.checks, None, state)


def test_the_diagnosis_of_a_moving_rule_is_what_fires() -> None:
    """While it is pending it says nothing; while it fires it says what it said; then nothing."""
    story = Story(LossSpike)
    story.rows_of(50, loss=2.0)
    story.rows_of(4, loss=5.0)
    assert story.monitor.diagnose() == []
    assert story.row(loss=5.0) == ["loss_spike firing"]
    (finding,) = story.monitor.diagnose()
    assert finding.evidence == story.monitor.firing()[0].evidence
    assert story.rows_of(20, loss=2.0) == ["loss_spike resolved"]
    assert story.monitor.diagnose() == []


def test_the_diagnosis_of_a_hidden_nan_stays() -> None:
    """nan_masked has a diagnosis of its own, which never goes away."""
    story = Story(NanMasked)
    story.row(loss=0.0, grad_norm=NAN)
    assert story.rows_of(20, loss=2.0, grad_norm=1.3) == ["nan_masked resolved"]
    assert [f.category for f in story.monitor.diagnose()] == ["nan_masked"]


@pytest.mark.parametrize("restarted", [False, True])
def test_rest_fires_what_is_pending(restarted: bool) -> None:
    """A run that dies within a hold is told of, with the evidence of its last row, restarted or not."""
    story = Story(GradNormSpike, LossSpike, SlowSteps)
    story.rows_of(60, loss=2.0, grad_norm=1.0, step_time_s=1.0)
    story.rows_of(2, loss=5.0, grad_norm=9.0, step_time_s=9.0)
    if restarted:
        story.restart()
    transitions = story.monitor.rest()
    assert told(transitions) == ["grad_norm_spike firing", "loss_spike firing"]
    assert "at step 620" in transitions[0].evidence.message
    assert transitions[0].evidence.mark is not None
    assert transitions[0].evidence.mark.step == 610
    assert story.monitor.rest() == []


def test_rest_says_nothing_of_what_passed() -> None:
    """What was pending and went down, and what has resolved, is over."""
    story = Story(LossSpike)
    story.rows_of(50, loss=2.0)
    story.rows_of(4, loss=5.0)
    story.row(loss=2.0)
    assert story.monitor.rest() == []
    story.rows_of(5, loss=5.0)
    story.rows_of(20, loss=2.0)
    assert story.monitor.rest() == []


def test_what_fired_at_rest_clears_if_the_run_goes_on() -> None:
    """It was no end after all: 20 calm rows resolve what rest had told."""
    story = Story(LossSpike)
    story.rows_of(50, loss=2.0)
    story.row(loss=5.0)
    assert told(story.monitor.rest()) == ["loss_spike firing"]
    assert story.rows_of(20, loss=2.0) == ["loss_spike resolved"]


@pytest.mark.parametrize(("calm", "edge"), [(45, " again"), (46, "")])
def test_firing_again_within_fifty_rows_continues(calm: int, edge: str) -> None:
    """Counted from resolving to the row that fires, hold and all."""
    story = Story(LossSpike)
    story.rows_of(50, loss=2.0)
    story.rows_of(5, loss=5.0)
    story.rows_of(20, loss=2.0)
    story.rows_of(calm, loss=2.0)
    assert story.rows_of(5, loss=5.0) == [f"loss_spike firing{edge}"]


def test_between_two_limits_it_neither_fires_nor_clears() -> None:
    """A norm that hovers below the limit keeps what fires, and begins nothing."""
    story = Story(GradNormSpike)
    story.rows_of(60, grad_norm=1.0)
    assert story.rows_of(30, grad_norm=2.0) == []
    story.rows_of(3, grad_norm=50.0)
    assert story.monitor.firing()
    assert story.rows_of(3, grad_norm=2.6) == []
    story.restart()
    assert story.rows_of(3, grad_norm=2.6) == []
    assert story.monitor.firing()


def test_a_resume_ends_hidden_nans_and_keeps_the_rest() -> None:
    """A latched finding ends with the resume; what has not come back stands."""
    story = Story(NanMasked, GradNormSpike, RunResumed)
    story.rows_of(60, loss=2.0, grad_norm=1.3)
    story.rows_of(6, loss=2.0, grad_norm=9.0)
    story.row(loss=0.0, grad_norm=NAN)
    story.step = 300
    assert story.row(loss=2.0, grad_norm=9.0) == ["nan_masked resolved", "run_resumed firing"]
    assert story.row(loss=2.0, grad_norm=1.3) == ["run_resumed resolved"]
    assert [t.category for t in story.monitor.firing()] == ["grad_norm_spike"]
    assert story.rows_of(19, loss=2.0, grad_norm=1.3) == ["grad_norm_spike resolved"]


@pytest.mark.parametrize("check", [LossSpike, LossRunaway])
def test_a_rule_that_is_put_out_lets_go(check: type[Check]) -> None:
    """After a loss of 0 a ratio says nothing any more: what fires clears as if it were calm."""
    story = Story(check)
    story.rows_of(60, loss=2.0)
    story.rows_of(30, loss=9.0)
    assert story.monitor.firing()
    assert told(story.monitor.rest()) == []
    assert story.rows_of(20, loss=0.0) == [f"{check.category} resolved"]


def test_a_new_segment_ends_everything() -> None:
    """What fires resolves, what is pending is forgotten, and every rule warms up anew."""
    story = Story(LossRunaway, LossSpike, GradNormSpike)
    story.rows_of(60, loss=2.0, grad_norm=1.0)
    story.rows_of(30, loss=9.0, grad_norm=1.0)
    story.row(loss=9.0, grad_norm=50.0)
    assert [t.category for t in story.monitor.firing()] == ["loss_runaway", "loss_spike"]
    story.step = 0
    assert story.row(loss=9.0, grad_norm=50.0) == ["loss_runaway resolved", "loss_spike resolved"]
    assert story.rows_of(40, loss=9.0, grad_norm=50.0) == []
    assert story.monitor.rest() == []


@pytest.mark.parametrize("check", RESTING, ids=[c.category for c in RESTING])
def test_what_never_clears_is_not_told_by_rest_alone(check: type[Check]) -> None:
    """A rule that fires once for a segment says nothing at rest of a run that gave no reason."""
    story = Story(check)
    story.rows_of(300, loss=2.0, memory_gib=10.0)
    assert story.monitor.rest() == []


def test_within_a_row_the_worst_comes_first() -> None:
    """What fires on one row is told in the order of the list of checks."""
    story = Story(*CHECKS)
    story.rows_of(60, loss=2.0, grad_norm=1.3)
    assert story.row(loss=0.0, grad_norm=NAN, eval_loss=NAN) == [
        "nan_masked firing",
        "eval_loss_nan firing",
    ]
    severities = [list(Severity).index(f.severity) for f in story.monitor.diagnose()]
    assert sorted(severities) == severities


def test_too_few_steps_asks_only_its_own_set() -> None:
    """What the other rules find does not keep the seed's remark back."""
    story = Story(NanMasked, TooFewSteps)
    story.row(loss=0.0, grad_norm=NAN)
    assert [f.category for f in story.monitor.diagnose()] == ["nan_masked", "too_few_steps"]
