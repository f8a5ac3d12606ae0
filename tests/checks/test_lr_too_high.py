"""lr_too_high in motion."""

from __future__ import annotations

import math

import pytest

from tailwatch.checks.lr_too_high import LrTooHigh
from tailwatch.core.check import RunConfig
from tailwatch.core.findings import Mark
from tests.checks.runs import Run


def test_said_at_the_first_row_and_for_good() -> None:
    """A rate out of bounds fires on the first row, and no row takes it back."""
    run = Run(LrTooHigh, 0.1)
    assert run.losses(*[2.0] * 200) == "F" + "-" * 199
    evidence = run.transitions[0].evidence
    assert evidence.message == "the configured learning rate 0.1 is above 0.005"
    assert evidence.values == {"learning_rate": 0.1, "threshold": 0.005}
    assert Mark(1, 10, 100) == evidence.mark


@pytest.mark.parametrize("rate", [0.1, math.nextafter(0.005, 1.0), math.inf])
def test_out_of_bounds(rate: float) -> None:
    """A rate strictly beyond the limit is found, infinite ones included."""
    run = Run(LrTooHigh, rate)
    assert run.losses(2.0) == "F"


@pytest.mark.parametrize("rate", [0.005, 1e-4, 0.0, -1.0, math.nan, None])
def test_within_bounds(rate: float | None) -> None:
    """The limit itself, a rate on the other side, NaN, and no rate at all are nothing to say."""
    run = Run(LrTooHigh, rate)
    assert run.losses(2.0) + run.rest() == "--"
    assert run.findings == []


def test_any_row_will_do() -> None:
    """It speaks of the configuration, so a row without a loss is enough; without a row, silence."""
    run = Run(LrTooHigh, 0.1)
    assert run.findings == []
    assert run.rest() == "-"
    assert run.row(epoch=1.0) == "F"


def test_the_logged_rate_is_not_looked_at() -> None:
    """The rate that the trainer logs on its rows may be anything."""
    run = Run(LrTooHigh, 1e-4)
    assert run.row(learning_rate=0.1) + run.row(learning_rate=0.0) == "--"


def test_a_changed_configuration() -> None:
    """A configuration that changes while the run goes on changes the diagnosis, not the finding."""
    run = Run(LrTooHigh, 0.1)
    run.losses(2.0)
    run.monitor.configure(RunConfig(learning_rate=1e-4))
    assert run.losses(*[2.0] * 60) == "-" * 60
    assert run.findings == []
    run.monitor.configure(RunConfig(learning_rate=0.1))
    assert run.losses(2.0) == "-"
    assert len(run.findings) == 1
