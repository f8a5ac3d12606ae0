"""too_few_steps in motion."""

from __future__ import annotations

import pytest

from tailwatch.checks.too_few_steps import TooFewSteps
from tailwatch.core.findings import Mark
from tests.checks.runs import Run


@pytest.mark.parametrize(("rows", "edge"), [(0, "-"), (1, "F"), (9, "F"), (10, "-"), (500, "-")])
def test_one_to_nine_rows_at_rest(rows: int, edge: str) -> None:
    """It is said of a run at rest with 1 to 9 rows, and never while rows come."""
    run = Run(TooFewSteps)
    assert "-" * rows == run.losses(*[2.0] * rows)
    assert edge == run.rest()


def test_any_row_counts() -> None:
    """Rows without a loss are rows."""
    run = Run(TooFewSteps)
    for _ in range(10):
        run.row(epoch=1.0)
    assert run.findings == []


def test_the_words() -> None:
    """It says how many rows there are, and up to which step."""
    run = Run(TooFewSteps)
    run.losses(2.0)
    assert run.evidence.message == "only 1 row, up to step 10: too few to judge the run"
    run.losses(2.0)
    assert run.evidence.message == "only 2 rows, up to step 20: too few to judge the run"
    assert run.evidence.values == {"rows": 2, "threshold": 10}
    assert Mark(2, 20, 200) == run.evidence.mark


def test_the_next_row_takes_it_back() -> None:
    """A run that goes on is no longer at rest; when it rests again, the old remark continues."""
    run = Run(TooFewSteps)
    run.losses(2.0)
    assert run.rest() == "F"
    assert run.losses(2.0) == "R"
    assert run.rest() == "C"
    assert run.losses(*[2.0] * 9) == "R" + "-" * 8
    assert run.rest() == "-"
