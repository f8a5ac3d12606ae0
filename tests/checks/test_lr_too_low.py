"""lr_too_low in motion."""

from __future__ import annotations

import math

import pytest

from tailwatch.checks.lr_too_low import LrTooLow
from tailwatch.core.check import RunConfig
from tailwatch.core.findings import Mark
from tests.checks.runs import Run


def test_said_at_the_first_row_and_for_good() -> None:
    """A rate out of bounds fires on the first row, and no row takes it back."""
    run = Run(LrTooLow, 1e-9)
    assert run.losses(*[2.0] * 200) == "F" + "-" * 199
    evidence = run.transitions[0].evidence
    assert evidence.message == "the configured learning rate 1e-09 is below 1e-06"
    assert evidence.values == {"learning_rate": 1e-9, "threshold": 1e-06}
    assert Mark(1, 10, 100) == evidence.mark


@pytest.mark.parametrize("rate", [1e-9, 9.9e-7, -1.0, -math.inf, 0.0])
def test_out_of_bounds(rate: float) -> None:
    """A rate strictly beyond the limit is found, infinite ones included."""
    run = Run(LrTooLow, rate)
    assert run.losses(2.0) == "F"


@pytest.mark.parametrize("rate", [1e-6, 1e-5, 0.1, math.inf, math.nan, None])
def test_within_bounds(rate: float | None) -> None:
    """The limit itself, a rate on the other side, NaN, and no rate at all are nothing to say."""
    run = Run(LrTooLow, rate)
    assert run.losses(2.0) + run.rest() == "--"
    assert run.findings == []


def test_any_row_will_do() -> None:
    """It speaks of the configuration, so a row without a loss is enough; without a row, silence."""
    run = Run(LrTooLow, 1e-9)
    assert run.findings == []
    assert run.rest() == "-"
    assert run.row(epoch=1.0) == "F"


def test_the_logged_rate_is_not_looked_at() -> None:
    """The rate that the trainer logs on its rows may be anything."""
    run = Run(LrTooLow, 1e-4)
    assert run.row(learning_rate=1e-9) + run.row(learning_rate=0.0) == "--"


def test_a_changed_configuration() -> None:
    """A configuration that changes while the run goes on changes the diagnosis, not the finding."""
    run = Run(LrTooLow, 1e-9)
    run.losses(2.0)
    run.monitor.configure(RunConfig(learning_rate=1e-4))
    assert run.losses(*[2.0] * 60) == "-" * 60
    assert run.findings == []
    run.monitor.configure(RunConfig(learning_rate=1e-9))
    assert run.losses(2.0) == "-"
    assert len(run.findings) == 1
