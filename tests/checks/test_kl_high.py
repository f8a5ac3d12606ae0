"""kl_high in motion."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.checks.kl_high import KlHigh
from tailwatch.core.findings import Mark
from tailwatch.core.rows import Row
from tests.checks.lists import above, levels, mean
from tests.checks.runs import Run

NAN, INF = math.nan, math.inf


def kls(*values: float) -> tuple[Run, str]:
    run = Run(KlHigh, rewarded=True)
    return run, run.feed("kl", values)


def test_fires_on_the_third_row() -> None:
    """Three updates running above 0.1 fire, and name the first."""
    run, edges = kls(*[0.02] * 20, *[0.3] * 3)
    assert edges == "-" * 22 + "F"
    assert run.said == "KL of the update is 0.3 at step 230, above 0.1, since step 210"
    evidence = run.transitions[0].evidence
    assert evidence.values == {"kl": 0.3, "threshold": 0.1}
    assert Mark(21, 210, 2100) == evidence.mark


@pytest.mark.parametrize(
    ("value", "edge"),
    [(0.1, "-"), (0.101, "F"), (-5.0, "-"), (NAN, "-"), (INF, "-"), (1e308, "F")],
)
def test_the_limit_is_strict(value: float, edge: str) -> None:
    """Exactly 0.1 is not above it; a value that is not finite is passed."""
    _, edges = kls(*[0.02] * 20, 0.3, 0.3, value)
    assert edge == edges[-1]


@pytest.mark.parametrize(("rows", "edge"), [(19, "-"), (20, "F")])
def test_the_first_twenty_rows_do_not_count(rows: int, edge: str) -> None:
    """At the start a policy may move fast."""
    _, edges = kls(*[0.02] * rows, *[0.3] * 3)
    assert edge == edges[-1]
    assert kls(*[0.3] * 20)[1] == "-" * 20


def test_a_run_away_from_the_reference() -> None:
    """A smoothed KL above 5 times its usual and above 0.5 fires, and stays while it lasts."""
    run = Run(KlHigh, rewarded=True)
    edges = run.feed("kl_reference", [0.05] * 200 + [4.0] * 100)
    assert edges == "-" * 208 + "F" + "-" * 91
    assert run.said == (
        "KL to the reference model is 0.632 at step 2090, above 0.5, since step 2070"
    )


@pytest.mark.parametrize(("value", "found"), [(0.99, False), (1.1, True)])
def test_five_times_the_usual(value: float, found: bool) -> None:
    """Where 0.2 is usual, 1 is the limit."""
    run = Run(KlHigh, rewarded=True)
    assert found == ("F" in run.feed("kl_reference", [0.2] * 200 + [value] * 60))


def test_single_rows_are_none() -> None:
    """Some estimators of the KL give single rows that are wild."""
    run = Run(KlHigh, rewarded=True)
    assert "F" not in run.feed("kl_reference", ([0.05] * 9 + [1e6]) * 30)


@pytest.mark.parametrize("values", [[0.02] * 200 + [0.45] * 100, [0.01 * n for n in range(500)]])
def test_a_drift_is_normal(values: list[float]) -> None:
    """Below 0.5, or as slow as training is, a policy may leave its reference."""
    assert "F" not in Run(KlHigh, rewarded=True).feed("kl_reference", values)


def test_it_is_over_below_half() -> None:
    """Values between half of the limit and the limit do not clear it."""
    run, _ = kls(*[0.02] * 20, *[0.3] * 3)
    assert run.feed("kl", [0.02] * 19 + [0.06] + [0.02] * 19) == "-" * 39
    assert run.feed("kl", [0.02]) == "R"


def test_only_where_there_are_rewards() -> None:
    """Preference training has a KL of another kind."""
    assert Run(KlHigh).feed("kl", [0.02] * 20 + [9.0] * 50) == "-" * 70


def test_other_rows_do_not_matter() -> None:
    """Rows without a KL neither count nor break it."""
    run, _ = kls(*[0.02] * 20)
    said = "".join(run.feed("kl", [0.3]) + run.losses(0.1) for _ in range(3))
    assert said == "----F-"


parts = st.tuples(
    st.sampled_from([None, 0.01, 0.09, 0.2, NAN]),
    st.sampled_from([None, 0.03, 0.4, 0.7, 6.0, -1.0, INF]),
    st.sampled_from([1, 3, 15]),
)


@settings(deadline=None, max_examples=80)
@given(st.lists(parts, max_size=8))
def test_levels_are_those_of_the_lists(
    story: list[tuple[float | None, float | None, int]],
) -> None:
    """On each row the level is what the lists of both divergences give."""
    rows: list[Row] = []
    for kl, reference, times in story:
        values = {"kl": kl, "kl_reference": reference}
        given_ = {name: value for name, value in values.items() if value is not None}
        for _ in range(times):
            rows.append(Row(len(rows) + 1, len(rows) + 1, given_, 0, rewarded=True))
    expected, seen = [], 0
    kept: list[float] = []
    capped: list[float] = []
    for row in rows:
        seen += bool(row.values)
        drift = row.values.get("kl_reference", NAN)
        up = math.isfinite(row.values.get("kl", NAN)) and row.values["kl"] > 0.1
        if math.isfinite(drift):
            limit = max(5 * mean(kept, 0.02), 0.5)
            kept += [drift] if seen <= 20 or not above(drift, limit) else []
            capped.append(min(drift, 2 * limit))
            up = up or above(mean(capped, 0.1), limit)
        expected.append(up and seen > 20)
    assert expected == levels(KlHigh(), rows)
