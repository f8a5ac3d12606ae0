"""Measuring: what counts as found, and what the counts of a log are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tailwatch.bench import measure as measure_module
from tailwatch.bench.faults import FAULTS
from tailwatch.bench.measure import first_answer, measure, new_score
from tailwatch.bench.score import OURS, Rule, Score
from tailwatch.checks import CHECKS
from tailwatch.checks.loss_spike import LossSpike
from tailwatch.checks.nan_loss import NanLoss
from tailwatch.core.findings import Evidence, Mark, Severity, Transition, TransitionKind

from .given import healthy, log_of

NUMBERS = [100, 102, 104, 106]


def fired(category: str, row: int) -> Transition:
    evidence = Evidence("", {}, None)
    return Transition(
        category, Severity.WARNING, TransitionKind.FIRING, 1, Mark(row, row, 0), evidence, ""
    )


@pytest.mark.parametrize(
    ("after", "anyway", "answer"),
    [
        ([("loss_spike", 104)], [], ("loss_spike", 3)),
        ([("loss_spike", 105)], [], ("loss_spike", 3)),  # On a row between the faulty ones.
        ([("loss_spike", 100), ("nan_loss", 102)], [], ("loss_spike", 1)),
        ([("nan_loss", 104)], [], None),  # No right answer.
        ([("loss_spike", 107)], [], None),  # When the fault was over.
        ([("loss_spike", 104)], [("loss_spike", 104)], None),  # It fires there anyway,
        ([("loss_spike", 104)], [("loss_spike", 101)], None),  # or a little earlier.
        ([("loss_spike", 104)], [("loss_spike", 99)], ("loss_spike", 3)),
        ([("loss_spike", 104)], [("loss_spike", 105)], ("loss_spike", 3)),
        ([("loss_spike", 104)], [("nan_loss", 104)], ("loss_spike", 3)),
        ([], [], None),
    ],
)
def test_what_is_found(after: Any, anyway: Any, answer: Any) -> None:
    """Only a right finding on a faulty row that would not have come without the fault."""
    rule = Rule(OURS, (NanLoss, LossSpike))
    firings, clean = [fired(*each) for each in after], [fired(*each) for each in anyway]

    assert answer == first_answer(rule, ("loss_spike",), firings, clean, NUMBERS)


def measured(tmp_path: Path, records: Any, *, rivals: bool = False) -> Score:
    score = new_score(CHECKS, 1, rivals=rivals)
    measure(log_of(tmp_path, records), score)
    return score


def test_a_healthy_log(tmp_path: Path) -> None:
    """Nothing is found in it as it is, and every fault that is put into it."""
    score = measured(tmp_path, healthy(600))
    shares = {name: fault.share(OURS) for name, fault in score.faults.items() if fault.tried}

    assert (score.runs, score.rows) == (1, 600)
    assert sum(tally.findings for tally in score.checks.values()) == 0
    assert set(shares) == {f.name for f in FAULTS} - {"NaN as 0, no norm"} | {"stall"}
    assert set(shares.values()) == {1.0}
    assert score.faults["NaN"].rules[OURS].rows == [1, 1, 1]
    assert score.faults["spike 3x, 5 rows"].rules[OURS].by == {"loss_spike": 3}


def test_what_a_check_was_asked(tmp_path: Path) -> None:
    """Rows count for a check if they have its fields; silences, if the log has times."""
    records = list(healthy(200))
    for record in records[:150]:
        del record["grad_norm"]
    records[7] |= {"loss": None}
    score = measured(tmp_path, records)
    asked = {name: (tally.runs, tally.rows) for name, tally in score.checks.items()}

    assert asked["nan_loss"] == (1, 199)
    assert asked["grad_norm_spike"] == (1, 50)
    assert asked["nan_masked"] == (1, 200)
    assert asked["run_resumed"] == (1, 200)
    assert asked["kl_high"] == asked["run_stalled"] == (0, 0)

    timed = [record | {"timestamp": 1.7e9 + 5 * n} for n, record in enumerate(records)]
    assert measured(tmp_path, timed).checks["run_stalled"].rows == 199


def test_where_something_is_wrong_nothing_is_added(tmp_path: Path) -> None:
    """No fault is tried where a right finding stands already."""
    records = [record | {"loss": record["loss"] * (1 if n < 60 else 9)} for n, record in
               enumerate(healthy(600))]  # fmt: skip
    score = measured(tmp_path, records)

    assert score.checks["loss_runaway"].findings == 1
    assert score.faults["ramp +3% a row"].tried == 0
    assert score.faults["NaN"].tried == 3


def test_rivals_are_counted_beside(tmp_path: Path) -> None:
    """The same faults for all; a rival changes nothing of ours."""
    alone, beside = (measured(tmp_path, healthy(600), rivals=r) for r in (False, True))
    spikes = beside.faults["spike 3x, 5 rows"]

    assert alone.rivals == {}
    assert {"W&B z", "OLMo-core", "foundry", "Megatron", "seed"} == set(beside.rivals)
    assert spikes.share("W&B z") == spikes.share("foundry") == 1.0
    assert spikes.share("Megatron") == spikes.share("seed") == 0.0
    assert beside.faults["NaN"].share("seed") == 1.0
    assert {n: f.rules[OURS] for n, f in alone.faults.items()} == {
        n: f.rules[OURS] for n, f in beside.faults.items()
    }


def test_a_fault_that_cannot_be_written_is_not_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is counted neither as found nor as missed."""
    monkeypatch.setattr(measure_module, "edited", lambda *_: None)
    score = measured(tmp_path, healthy(300))

    assert {fault.tried for name, fault in score.faults.items() if name != "stall"} == {0}
