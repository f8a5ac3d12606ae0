"""What checks of one kind have in common; their numbers are tested check by check."""

from __future__ import annotations

import inspect

import pytest

from tailwatch.checks import CHECKS
from tailwatch.core.check import Check
from tailwatch.core.check_bases import (
    ConfiguredRateCheck,
    FirstAgainstLastCheck,
    SilenceCheck,
    SpikeCheck,
)
from tailwatch.core.rows import Row
from tailwatch.core.silence import Silence


@pytest.mark.parametrize(
    ("base", "categories"),
    [
        (ConfiguredRateCheck, {"lr_too_low", "lr_too_high"}),
        (FirstAgainstLastCheck, {"loss_diverged", "loss_flat"}),
        (SpikeCheck, {"loss_spike", "grad_norm_spike"}),
        (SilenceCheck, {"run_stalled", "run_quiet"}),
    ],
)
def test_every_base_has_two_checks(base: type[Check], categories: set[str]) -> None:
    """A base is there for what two checks share, and leaves their judgement to them."""
    assert categories == {c.category for c in CHECKS if issubclass(c, base)}


@pytest.mark.parametrize(("base", "method"), [
    (ConfiguredRateCheck, "judge"), (FirstAgainstLastCheck, "holds"), (SilenceCheck, "reason"),
])  # fmt: skip
def test_the_judgement_is_the_subclass_s(base: type[Check], method: str) -> None:
    """A base without it judges nothing."""
    judgement = getattr(base(), method)
    arguments = [0.1] * len(inspect.signature(judgement).parameters)
    with pytest.raises(NotImplementedError):
        judgement(*arguments)


@pytest.mark.parametrize("check", [c for c in CHECKS if issubclass(c, FirstAgainstLastCheck)])
def test_a_wandering_loss_is_not_held_against_the_first(check: type[Check]) -> None:
    """Live, nothing is said of reinforcement or adversarial learning; the diagnosis is the seed's."""
    losses = [1.0] * 40 if check.category == "loss_flat" else [1.0] * 5 + [9.0] * 35
    for flags in ({}, {"rewarded": True}, {"adversarial": True}):
        each = check()
        said = [each.update(Row(n, n, {"loss": x}, n, **flags)) for n, x in enumerate(losses, 1)]
        assert (said[-1] is None) == bool(flags)
        assert each.diagnose() is not None


@pytest.mark.parametrize("check", [c for c in CHECKS if issubclass(c, SilenceCheck)])
def test_silences_keep_no_state(check: type[Check]) -> None:
    """What is known of the silences of a run is not the check's."""
    each = check()
    assert isinstance(each, SilenceCheck)
    each.tick(Silence(1e6, 1.0, 9))
    assert each.to_state() == {}
