"""no_metrics in motion."""

from __future__ import annotations

from tailwatch.checks.no_metrics import NoMetrics
from tests.checks.runs import Run


def test_a_run_without_a_row_at_rest() -> None:
    """A run that rests before its first row has no metrics, and is told of once."""
    run = Run(NoMetrics)
    assert run.rest() == "F"
    assert run.rest() == "-"
    assert run.evidence.message == "no row has been written"
    assert run.evidence.mark is None
    assert run.transitions[0].mark == (0, 0, 0)


def test_any_row_ends_it() -> None:
    """The first row, whatever it holds, takes it back for good."""
    run = Run(NoMetrics)
    run.rest()
    assert run.row(epoch=0.0) == "R"
    assert run.rest() == "-"
    assert run.findings == []
