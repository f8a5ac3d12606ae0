"""Healthy runs alarm nobody."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from tailwatch.checks import CHECKS
from tailwatch.core.findings import Severity, Transition, TransitionKind
from tailwatch.core.reader import RunReader
from tailwatch.packing import pack
from tests.corpus import MAKERS, healthy, lines

SEED_MISFIRES = {"loss_flat", "grad_norm_high"}
"""Rules of the seed set that are as they are, and are known to be wrong on healthy runs."""
ROWS_PER_WARNING = 10_000
RUNS = [(seed, count) for seed in range(4) for count in (50, 300, 1000, 5000)] + [(9, 20_000)]


def findings(records: list[dict[str, object]]) -> tuple[int, list[Transition]]:
    """How many rows there are, and what was told of them."""
    reader = RunReader(CHECKS)
    transitions = reader.feed(lines(records)) + reader.rest()
    fired = [t for t in transitions if t.kind is TransitionKind.FIRING and not t.continues]
    assert not reader.monitor.take_errors()
    return reader.rows, fired


@pytest.mark.parametrize("kind", MAKERS)
def test_healthy_runs_of_one_kind(kind: str) -> None:
    """No critical finding in any of them, and no more than one warning in 10,000 rows."""
    rows, warnings = 0, Counter[str]()
    for seed, count in RUNS:
        more, fired = findings(healthy(kind, seed, count))
        rows += more
        critical = [t.evidence.message for t in fired if t.severity is Severity.CRITICAL]
        assert critical == [], (kind, seed, count)
        warnings.update(t.category for t in fired if t.severity is Severity.WARNING)
    for category in SEED_MISFIRES:
        warnings.pop(category, None)
    assert warnings.total() <= rows / ROWS_PER_WARNING, warnings


def test_the_corpus_is_what_it_says() -> None:
    """The same seed gives the same rows, another seed others; every kind has a loss and its length."""
    for kind in MAKERS:
        assert lines(healthy(kind, 1, 60)) == lines(healthy(kind, 1, 60))
        assert lines(healthy(kind, 1, 60)) != lines(healthy(kind, 2, 60))
        reader = RunReader([])
        reader.feed(lines(healthy(kind, 1, 60)))
        assert reader.rows >= 60
        assert reader.is_metric
        assert reader.last_loss is not None


@pytest.mark.parametrize("kind", MAKERS)
def test_the_state_of_a_run_is_small(kind: str) -> None:
    """
    What is kept of a run on disk is less than 4 KiB, and its curve less than 8 KB, whatever it
    logs and however it goes wrong.
    """
    records = healthy(kind, 2, 400)
    for change in ({}, {"loss": math.nan, "grad_norm": math.nan}, {"loss": 9e9, "grad_norm": 9e9}):
        reader = RunReader(CHECKS)
        reader.feed(lines(records) + lines([record | change for record in records[-30:]]))
        state = reader.to_state()
        assert len(pack(state["monitor"].pop("curve"))) < 8000
        assert len(pack(state)) < 4096
