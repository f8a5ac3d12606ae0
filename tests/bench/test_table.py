"""Tables: the same numbers for a person, a document and a program."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tailwatch.bench.measure import new_score
from tailwatch.bench.score import OURS, Score
from tailwatch.bench.table import document, markdown, text
from tailwatch.checks import CHECKS
from tailwatch.core.findings import Evidence, Mark, Transition, TransitionKind


def scored(*, rivals: bool) -> Score:
    """Large numbers everywhere, so that every column is at its widest."""
    score = new_score(CHECKS, 1, rivals=rivals)
    checks = [check for rule in score.rules for check in rule.checks]
    for run in range(100):
        firings = [
            Transition(
                check.category, check.severity, TransitionKind.FIRING, 1, Mark(1, 1, 0),
                Evidence("", {}, None), "",
            )
            for check in checks
            if check.category not in ("nan_loss", "lr_zero")
        ]  # fmt: skip
        asked = Counter(dict.fromkeys(checks, 1000000))
        score.add_clean(f"run{run}", 1_000_000, asked, firings)
        for name in score.faults:
            found = {rule.name: ("grad_norm_spike", 40.0) for rule in score.rules}
            score.add_fault(f"run{run}", name, found)
    return score


@pytest.mark.parametrize("rivals", [True, False])
def test_text_fits_a_terminal(rivals: bool) -> None:
    """No line is longer than 100 columns."""
    lines = text(scored(rivals=rivals)).splitlines()

    assert max(map(len, lines)) <= 100
    assert lines[0] == "100 runs, 100,000,000 rows, seed 1"
    assert "no finding: nan_loss, lr_zero" in lines


def test_the_finding_table() -> None:
    """One row for each check with findings, the sums, and the rivals."""
    shown = text(scored(rivals=True)).splitlines()
    cells = {line.split("  ")[0]: line.split()[-7:] for line in shown}

    assert cells["loss_spike"] == ["warning", "100", "0.00", "100", "of", "100", "100,000,000"]
    assert cells["all critical"][1] == "400"
    assert cells["OLMo-core"][-7:] == ["rival", "200", "0.00", "100", "of", "100", "100,000,000"]


def test_the_fault_table() -> None:
    """The share found and the median row; who found it, where no rival takes the place."""
    with_rivals, alone = text(scored(rivals=True)), text(scored(rivals=False))
    (row,) = [line for line in alone.splitlines() if line.startswith("NaN as null")]

    assert row.endswith("  grad_norm_spike 100")
    assert "100% @40" in row
    assert "100 in 100" in row
    assert "found by" not in with_rivals


def test_nothing_found_and_nothing_tried() -> None:
    """A kind that was never tried has no share; one never found, no row."""
    score = new_score(CHECKS, 1, rivals=False)
    score.add_fault("a", "NaN", {})
    rows = {line.split("  ")[0]: line.split() for line in text(score).splitlines()}

    assert rows["NaN"] == ["NaN", "5", "1", "in", "1", "0%"]
    assert rows["NaN as null"][-4:] == ["0", "in", "0", "-"]


def test_markdown_has_the_same_cells() -> None:
    """Every row of the text stands in the Markdown, cell by cell."""
    score = scored(rivals=True)
    piped = [line.strip("| ").split(" | ") for line in markdown(score).splitlines() if "|" in line]
    plain = [" ".join(line.split()) for line in text(score).splitlines()]

    assert len(piped) > 40
    for cells in piped:
        assert cells[0] == "---" or " ".join(cells) in plain, cells


def test_the_document_is_json() -> None:
    """It is plain JSON, and holds all checks and faults with their numbers."""
    score = scored(rivals=True)
    read = json.loads(json.dumps(document(score), allow_nan=False))
    spike = read["faults"]["spike 3x, 5 rows"]

    assert (read["version"], read["seed"], read["runs"], read["rows"]) == (1, 1, 100, 100_000_000)
    assert list(read["checks"]) == [check.category for check in CHECKS]
    assert read["checks"]["loss_spike"] == {
        "severity": "warning", "findings": 100, "per_1000_rows": 0.001, "runs_touched": 100,
        "runs": 100, "rows": 100_000_000,
    }  # fmt: skip
    assert read["severities"]["critical"]["findings"] == 400
    assert spike["found"][OURS] == {
        "share": 1.0, "median_rows": 40.0, "by": {"grad_norm_spike": 100},
    }  # fmt: skip
    assert (spike["within_rows"], spike["tried"], spike["runs"]) == (5, 100, 100)


def test_checks_that_failed_are_said() -> None:
    """A check that raised is named, with the runs; it may have found nothing for that."""
    score = scored(rivals=False)
    assert "failed" not in text(score)
    score.failed["overfit"] = 2

    for said in (text(score), markdown(score)):
        assert "checks that failed: overfit in 2 runs" in said
