"""The kinds of hidden NaN, written into healthy runs as trainers write them, are found at once."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.checks.nan_masked import NanMasked
from tailwatch.core.findings import TransitionKind
from tailwatch.core.reader import RunReader
from tests.corpus import MAKERS, Record, healthy, lines

NAN, INF = math.nan, math.inf
LOGS = Path(__file__).resolve().parents[3] / "shared" / "logs"
WITHIN = 3


def fired_at(records: list[Record]) -> list[int]:
    """The numbers of the rows at which a hidden NaN is told."""
    reader = RunReader([NanMasked])
    transitions = reader.feed(lines(records)) + reader.rest()
    return [t.mark.row for t in transitions if t.kind is TransitionKind.FIRING]


def zero_beside_nan(row: Record, n: int) -> Record:
    return row | {"loss": 0.0, "grad_norm": (NAN, INF)[n % 2]}


def filtered_to_zero(row: Record, n: int) -> Record:
    return {key: value for key, value in row.items() if "norm" not in key} | {"loss": 0.0}


def stuck_at_a_root(row: Record, n: int) -> Record:
    return row | {"loss": 0.0, "grad_norm": math.sqrt(2)}


def null(row: Record, n: int) -> Record:
    return row | {"loss": None}


@pytest.mark.parametrize("hide", [zero_beside_nan, filtered_to_zero, stuck_at_a_root, null])
@pytest.mark.parametrize("kind", ["sft", "pretraining", "detection"])
def test_every_kind_is_found_within_three_rows(kind: str, hide: object) -> None:
    """In 12 runs of each kind of training: within 3 training rows, and not before."""
    assert callable(hide)
    rng = random.Random(kind)
    for seed in range(12):
        records = [r for r in healthy(kind, seed, 400) if "loss" in r]
        at = rng.randrange(30, len(records) - 10)
        hidden = [hide(r, n) if n >= at else r for n, r in enumerate(records)]
        first = fired_at(hidden)[0]
        assert at < first <= at + WITHIN, (seed, at)


@settings(deadline=None, max_examples=40)
@given(st.integers(6, 200), st.integers(2, 5), st.integers(0, 10**6))
def test_a_counter_is_found_on_its_row(at: int, by: int, base: int) -> None:
    """A count of NaN iterations that grows, whatever else the row says."""
    rows = [
        {"step": n, "loss": 2.0 - n / 500, "number of nan iterations": base + by * (n >= at)}
        for n in range(1, 210)
    ]
    assert fired_at(rows) == [at]


@pytest.mark.parametrize("kind", MAKERS)
def test_no_healthy_run_hides_one(kind: str) -> None:
    """In many short and some long runs of each kind of training there is none."""
    for seed in range(30):
        assert fired_at(healthy(kind, seed, 200)) == [], seed
    assert fired_at(healthy(kind, 99, 10_000)) == []


@pytest.mark.skipif(
    not LOGS.is_dir(), reason="real logs are kept beside the checkout, where there are any"
)
def test_no_real_healthy_log_hides_one() -> None:
    """In the real logs that are kept beside the checkout: none but in those said to have one."""
    found = []
    for path in sorted(LOGS.rglob("*.json*")) + sorted(LOGS.rglob("*.txt")):
        reader = RunReader([NanMasked])
        transitions = reader.feed(path.read_bytes()) + reader.rest()
        found += [str(path.relative_to(LOGS)) for t in transitions]
    assert found == []
