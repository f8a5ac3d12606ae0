"""grad_norm_high in motion."""

from __future__ import annotations

import math

import pytest

from tailwatch.checks.grad_norm_high import GradNormHigh
from tailwatch.core.findings import Mark
from tests.checks.runs import Run


def norms(run: Run, *values: float) -> str:
    return run.feed("grad_norm", values)


def test_fires_on_the_second_row() -> None:
    """With 3 of 10 above 50, the level is up; the row after it fires."""
    run = Run(GradNormHigh)
    assert norms(run, *[1.0] * 7, 60.0, 60.0, 60.0, 1.0) == "-" * 10 + "F"
    evidence = run.transitions[0].evidence
    expected = "grad norm was above 50 in 3 of 11 rows up to step 110; it is 1 now"
    assert expected == evidence.message
    assert evidence.values == {"grad_norm": 1.0, "high_rows": 3, "threshold": 50}
    assert Mark(10, 100, 1000) == evidence.mark


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([60.0] * 9, False),
        ([60.0] * 10, True),
        ([50.0] * 10, False),
        ([math.nextafter(50.0, 51.0)] * 10, True),
        ([1.0] * 8 + [60.0] * 2, False),
        ([1.0] * 7 + [60.0] * 3, True),
        ([1.0] * 16 + [60.0] * 3, True),
        ([1.0] * 17 + [60.0] * 3, False),
        ([1.0] * 16 + [60.0] * 4, True),
        ([1.0] * 20 + [60.0] * 4, True),
        ([1.0] * 21 + [60.0] * 4, False),
        ([-60.0] * 10, False),
        ([math.inf] * 10, False),
        ([math.nan] * 5 + [60.0] * 9, False),
    ],
)
def test_thresholds(values: list[float], found: bool) -> None:
    """Above 50 in at least 3 and in a fifth, rounded down, of at least 10 finite norms."""
    run = Run(GradNormHigh)
    norms(run, *values)
    assert found == bool(run.findings)


def test_resolves_when_the_share_has_been_small_for_twenty_rows() -> None:
    """It stays up while a fifth of all rows is high, and ends 20 rows after that."""
    run = Run(GradNormHigh)
    norms(run, *[60.0] * 4, *[1.0] * 8)
    # 4 of 24 is a fifth rounded down; 4 of 25 is not.
    assert norms(run, *[1.0] * 12) == "-" * 12
    assert len(run.findings) == 1
    assert norms(run, *[1.0] * 20) == "-" * 19 + "R"


def test_rows_without_a_norm_are_not_counted() -> None:
    """Rows that log no gradient norm neither fill the ten nor lower the share."""
    run = Run(GradNormHigh)
    for value in [60.0] * 9:
        norms(run, value)
        run.row(loss=2.0)
    assert run.findings == []
    assert norms(run, 60.0, 60.0) == "-F"
