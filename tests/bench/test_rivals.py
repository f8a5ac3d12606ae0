"""Rivals: each rule against the same rule written on lists."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from random import Random

import pytest

from tailwatch.bench import rivals
from tailwatch.bench.rivals import RIVALS, answers, without_hold
from tailwatch.checks.grad_norm_high import GradNormHigh
from tailwatch.checks.loss_diverged import LossDiverged
from tailwatch.checks.loss_flat import LossFlat
from tailwatch.checks.loss_spike import LossSpike
from tailwatch.checks.nan_loss import NanLoss
from tailwatch.core.check import Check
from tailwatch.core.rows import Row
from tests.checks import oracle


def said(check: Check, values: Sequence[float], field: str = "loss") -> list[int]:
    """The places from 0 at which the level is up."""
    return [
        n
        for n, value in enumerate(values)
        if check.update(Row(n + 1, n + 1, {field: value}, 0)) is not None
    ]


def z_score(values: Sequence[float], n: int) -> bool:
    window = values[n - 30 : n]
    return n >= 30 and abs(values[n] - statistics.mean(window)) > 3 * statistics.pstdev(window)


def six_sigma(values: Sequence[float], n: int) -> bool:
    window = values[n - 128 : n]
    return n >= 128 and values[n] > statistics.mean(window) + 6 * statistics.pstdev(window)


def twice_for_five(values: Sequence[float], n: int) -> bool:
    return n >= 104 and all(
        values[k] >= 2 * statistics.mean(values[k - 100 : k]) for k in range(n - 4, n + 1)
    )


def ten_times(values: Sequence[float], n: int) -> bool:
    return n >= 100 and values[n] >= 10 * max(values[:100])


@pytest.mark.parametrize(
    ("rule", "field", "law"),
    [
        (rivals.WandbZScore, "loss", z_score),
        (rivals.OlmoLoss, "loss", six_sigma),
        (rivals.OlmoGradNorm, "grad_norm", six_sigma),
        (rivals.FoundryLoss, "loss", twice_for_five),
        (rivals.MegatronLoss, "loss", ten_times),
        (rivals.MegatronGradNorm, "grad_norm", ten_times),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_each_rule_is_as_published(
    rule: type[Check], field: str, law: Callable[[Sequence[float], int], bool], seed: int
) -> None:
    """On noise with jumps of all sizes the level is up exactly where the law says."""
    noise = Random(seed)
    values = [2 * math.exp(noise.gauss(0, 0.1)) for _ in range(400)]
    for start, factor in (
        (104, 12.0),
        (140, 1.5),
        (180, 3.0),
        (230, 12.0),
        (300, 2.2),
        (350, 30.0),
    ):
        for n in range(start, start + 7):
            values[n] *= factor
    expected = [n for n in range(len(values)) if law(values, n)]

    assert expected
    assert expected == said(rule(), values, field)


@pytest.mark.parametrize("rival", RIVALS[:4], ids=lambda rival: rival.name)
def test_what_is_not_finite_is_passed_over(rival: rivals.Rival) -> None:
    """NaN and Infinity neither alarm nor spoil the window: what comes after them is seen."""
    for rule in rival.checks:
        values = [2.0 + n % 3 / 10 for n in range(200)]
        values[140:142] = [math.nan, math.inf]
        values[160:166] = [80.0] * 6
        alarms = said(rule(), values, rule.reads[0])

        assert alarms
        assert set(alarms) <= set(range(160, 166))


@pytest.mark.parametrize("check", [NanLoss, LossDiverged, LossFlat, GradNormHigh])
@pytest.mark.parametrize("seed", range(4))
def test_seed_rules_without_hold(check: type[Check], seed: int) -> None:
    """After each row the level is what the batch rule says of all rows so far."""
    noise = Random(seed)
    records = [
        {"loss": 1 + noise.random() ** 8 * 4, "grad_norm": noise.uniform(30, 60)}
        for _ in range(80)
    ]
    records[noise.randrange(20, 60)]["loss"] = math.nan
    rule = without_hold(check)()
    up = [
        rule.update(Row(n, n, dict(record), 0)) is not None for n, record in enumerate(records, 1)
    ]
    expected = [check.category in oracle.diagnose(records[: n + 1]) for n in range(80)]

    # Rows on which only another field changed leave the level as it was.
    assert expected == up
    assert rule.hold == (1, 1)


def test_what_is_a_right_answer() -> None:
    """A rival's rule always is; a seed rule and ours if the category is a right one."""
    diverged = without_hold(LossDiverged)

    assert answers(rivals.WandbZScore, ())
    assert answers(diverged, ("loss_diverged",))
    assert not answers(diverged, ("nan_loss",))
    assert answers(LossSpike, ("loss_spike",))
    assert not answers(LossSpike, ("loss_flat",))


def test_categories_are_distinct() -> None:
    """No two rules share a category, or they would be counted together."""
    categories = [check.category for rival in RIVALS for check in rival.checks]

    assert len(categories) == len(set(categories))


@pytest.mark.parametrize("rival", RIVALS[:4], ids=lambda rival: rival.name)
def test_each_rule_names_its_source(rival: rivals.Rival) -> None:
    """The docstring says where the rule is from."""
    assert "Source: " in (rival.checks[0].__doc__ or "")
