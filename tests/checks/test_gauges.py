"""What a check says of how far it is: beyond its threshold when it fires, short of it in health."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given, settings

from tailwatch.checks import CHECKS
from tailwatch.core.check import Check
from tailwatch.core.rows import Row
from tests.checks.runs import Run
from tests.checks.test_contract import every_check, stories

BY_NAME = {check.category: check for check in CHECKS}
HEALTHY = [2.0 - n / 100 for n in range(60)]
CASES = {
    "loss_diverged": ("loss", HEALTHY, [9.0] * 4, {}),
    "loss_flat": ("loss", HEALTHY, [2.0] * 3, {}),
    "grad_norm_high": ("grad_norm", [1.0] * 20, [90.0] * 20, {}),
    "grad_norm_spike": ("grad_norm", [1.0] * 60, [90.0] * 5, {}),
    "loss_spike": ("loss", HEALTHY, [9.0] * 6, {}),
    "loss_runaway": ("loss", HEALTHY, [4.0] * 40, {}),
    "slow_steps": ("step_time_s", [1.0] * 60, [3.0] * 12, {}),
    "entropy_low": ("entropy", [2.0] * 20, [0.001] * 90, {"rewarded": True}),
    "kl_high": ("kl", [0.01] * 30, [0.5] * 5, {"rewarded": True}),
    "reward_drop": ("reward", [n / 10 for n in range(60)], [0.0] * 60, {"rewarded": True}),
    "loss_scale_collapse": ("loss_scale", [1024.0] * 30, [1.0], {}),
    "lr_too_high": ("loss", [], [1.0], {"learning_rate": 0.5}),
    "lr_too_low": ("loss", [], [1.0], {"learning_rate": 1e-9}),
}


def beyond(run: Run) -> bool | None:
    """Whether the gauge says that the level is up; None if it says nothing."""
    gauge = run.monitor.watched[0].check.gauge()
    if gauge is None:
        return None
    assert gauge.what.isprintable()
    up = gauge.value >= gauge.threshold
    down = gauge.value <= gauge.threshold
    return up if gauge.above else down


@pytest.mark.parametrize("category", CASES)
def test_a_gauge_passes_its_threshold_when_the_check_fires(category: str) -> None:
    """In health it is short of it, or not known yet; of what fires it is not."""
    field, healthy, sick, more = CASES[category]
    run = Run(BY_NAME[category], **more)
    assert "F" not in run.feed(field, healthy)
    assert not healthy or not beyond(run)
    assert run.feed(field, sick).count("F") == 1
    assert beyond(run) is True


def test_evaluations_are_counted_up_to_those_that_are_too_many() -> None:
    """Overfitting is told of the worst set: how many evaluations it has without a new best."""
    run = Run(BY_NAME["overfit"])
    run.losses(2.0, 2.0)
    for loss in (1.0, 1.2, 1.3):
        run.other(evals={"eval_loss": loss})
    gauge = run.monitor.watched[0].check.gauge()
    assert gauge is not None
    assert (gauge.value, gauge.threshold) == (2, 3)
    run.other(evals={"eval_loss": 1.4})
    assert beyond(run) is True


@every_check
@given(rows=stories)
@settings(max_examples=20, deadline=None)
def test_a_gauge_can_be_asked_at_any_time(check: type[Check], rows: Sequence[Row]) -> None:
    """Whatever the rows, asking changes nothing, raises nothing, and says no NaN."""
    one = check()
    for row in rows:
        if check.concerns(row):
            one.update(row)
        before = str(one.to_state())
        gauge = one.gauge()
        assert str(one.to_state()) == before
        assert gauge is None or not math.isnan(gauge.value)
