"""Scores: how counts add up over logs."""

from __future__ import annotations

from collections import Counter

import pytest

from tailwatch.bench.rivals import Rival
from tailwatch.bench.score import OURS, FaultScore, Found, Score, Tally, judges_silences
from tailwatch.checks.grad_norm_spike import GradNormSpike
from tailwatch.checks.loss_flat import LossFlat
from tailwatch.checks.loss_spike import LossSpike
from tailwatch.checks.nan_loss import NanLoss
from tailwatch.checks.run_quiet import RunQuiet
from tailwatch.core.check import Check
from tailwatch.core.findings import Evidence, Mark, Severity, Transition, TransitionKind

PAIR = Rival("pair", (LossFlat, GradNormSpike))


def fired(check: type[Check], *, continues: bool = False) -> Transition:
    return Transition(
        check.category, check.severity, TransitionKind.FIRING, 1, Mark(1, 1, 0),
        Evidence("", {}, None), "", continues=continues,
    )  # fmt: skip


@pytest.fixture
def score() -> Score:
    """Two logs: one in which much fires, one without gradient norms in which nothing does."""
    score = Score(1, [NanLoss, LossSpike, RunQuiet], [PAIR], [("jump", 5)])
    asked = Counter({NanLoss: 90, LossSpike: 90, LossFlat: 90, GradNormSpike: 40})
    twice = [fired(LossSpike), fired(LossSpike, continues=True), fired(LossSpike)]
    score.add_clean("a", 100, asked, [*twice, fired(GradNormSpike), fired(LossFlat)])
    score.add_clean("b", 50, Counter({NanLoss: 50, LossSpike: 50, LossFlat: 50}), [])
    return score


def test_findings_are_counted_once(score: Score) -> None:
    """What goes on is not counted again; runs, rows and runs touched add up."""
    assert (score.runs, score.rows) == (2, 150)
    assert score.checks["nan_loss"] == Tally(0, set(), 2, 140)
    assert score.checks["loss_spike"] == Tally(2, {"a"}, 2, 140)
    assert score.checks["run_quiet"] == Tally(0, set(), 0, 0)  # Nobody asked it.
    assert score.checks["loss_spike"].per_1000_rows == pytest.approx(14.2857, rel=1e-4)


def test_rules_of_a_rival_count_together(score: Score) -> None:
    """Their findings add up; its rows are those of the rule that had most."""
    assert score.rivals == {"pair": Tally(2, {"a"}, 2, 140)}


def test_severities_add_up(score: Score) -> None:
    """All of one severity, of ours alone, in all rows."""
    assert score.of_severity(Severity.WARNING) == Tally(2, {"a"}, 2, 150)
    assert score.of_severity(Severity.CRITICAL) == Tally(0, set(), 2, 150)
    assert Tally().per_1000_rows == 0.0


def test_faults_are_counted(score: Score) -> None:
    """The share found of those tried, the median of the rows, and who was first."""
    score.add_fault("a", "jump", {OURS: ("loss_spike", 5)})
    score.add_fault("a", "jump", {OURS: ("nan_loss", 1), "pair": ("loss_flat", 2)})
    score.add_fault("b", "jump", {})
    fault = score.faults["jump"]
    ours = fault.rules[OURS]

    assert (fault.within_rows, fault.tried, fault.runs) == (5, 3, {"a", "b"})
    assert fault.share(OURS) == pytest.approx(2 / 3)
    assert fault.share("pair") == pytest.approx(1 / 3)
    assert (ours.median_rows, dict(ours.by)) == (3, {"loss_spike": 1, "nan_loss": 1})


def test_nothing_tried() -> None:
    """There is no share of nothing, and no median."""
    assert FaultScore(5, rules={OURS: Found()}).share(OURS) == 0.0
    assert Found().median_rows is None


def test_who_judges_silences() -> None:
    """Those that are asked between rows."""
    assert judges_silences(RunQuiet)
    assert not judges_silences(NanLoss)
