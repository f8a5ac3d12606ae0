"""The seed checks, row by row and across restarts, are the batch rules on every prefix."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.checks import CHECKS
from tailwatch.core.check import RunConfig
from tailwatch.core.findings import Finding, TransitionKind
from tailwatch.core.reader import RunReader
from tailwatch.core.runconfig import configured_learning_rate
from tests.checks import oracle
from tests.golden import make_seed_cases

ROOT = Path(__file__).resolve().parents[2]
OWN = ROOT / "tests" / "golden" / "seed_cases.jsonl"
SHARED = ROOT.parent / "shared" / "golden" / "seed_cases.jsonl"
SEED = [check for check in CHECKS if check.check_set == "seed"]

firsts = st.sampled_from([2.0, 1.0, 0.1, 0.7, 0.01, 1e-9, 5e-324, 6e307, 1e308, 0.0, -0.0, -1.0])
factors = st.sampled_from(
    [0.0, 0.5, 0.994, 0.995, 0.9950001, 1.0, 1.0049999, 1.005, 1.1, 2.9, 3.0, 3.0000001, 4.0, -1.0]
)
odd = st.sampled_from(
    [
        None,
        math.nan,
        math.inf,
        -math.inf,
        "nan",
        "NaN",
        " inf",
        "-Infinity",
        "tensor(nan)",
        "tensor(2.0)",
        "info",
        "2.31",
        "1_000",
        "",
        True,
        False,
        [1.0],
        {"x": 1},
        10**400,
        "1e999",
    ]
)
norms = st.sampled_from(
    [
        1.0,
        49.9,
        50.0,
        50.1,
        math.nextafter(50.0, 51.0),
        120.0,
        1e308,
        -80.0,
        0,
        51,
        None,
        math.nan,
        math.inf,
        "nan",
        "80",
        "60.5",
        True,
    ]
)
rates = st.sampled_from(
    [
        0,
        0.0,
        None,
        "",
        1e-7,
        9.9e-7,
        1e-6,
        1.1e-6,
        2e-4,
        5e-3,
        5.1e-3,
        0.1,
        -1.0,
        "2e-4",
        "1e-7",
        "0.1",
        "auto",
        True,
        math.nan,
        math.inf,
        "nan",
        [1.0],
    ]
)
configs: st.SearchStrategy[Any] = (
    st.none()
    | st.just({})
    | st.just({"training": {}})
    | st.just({"model": "gpt2", "training": {"epochs": 3}})
    | st.dictionaries(st.sampled_from(["lr", "learning_rate"]), rates).map(
        lambda training: {"training": training}
    )
)


@st.composite
def runs(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows in stretches of equal ones, near all thresholds of the run's own first loss."""
    first = draw(firsts)
    rows: list[dict[str, Any]] = []
    for times in draw(st.lists(st.sampled_from([1, 1, 1, 2, 4, 5, 9, 10, 29]), max_size=9)):
        row: dict[str, Any] = {}
        kind = draw(st.sampled_from(["factor", "factor", "above", "below", "odd", "missing"]))
        if kind == "factor":
            row["loss"] = first * draw(factors)
        elif kind in ("above", "below"):
            threshold = first * draw(st.sampled_from([3.0, 0.995, 1.005]))
            row["loss"] = math.nextafter(threshold, math.inf if kind == "above" else -math.inf)
        elif kind == "odd":
            row["loss"] = draw(odd)
        if draw(st.booleans()):
            row["grad_norm"] = draw(norms)
        for _ in range(times):
            rows.append({"step": 10 * len(rows) + 10} | row)
    return rows[:70]


def reader_for(config: Any) -> RunReader:
    """With every check at work: what the others find changes nothing in what the seed says."""
    return RunReader(CHECKS, RunConfig(configured_learning_rate(config)), whole_file=True)


def restarted(reader: RunReader) -> RunReader:
    state = msgspec.msgpack.decode(msgspec.msgpack.encode(reader.to_state()))
    return RunReader.from_state(CHECKS, None, state)


def line_of(row: dict[str, Any]) -> bytes:
    return json.dumps(row).encode() + b"\n"


def findings(reader: RunReader) -> list[Finding]:
    return [f for f in reader.monitor.diagnose() if f.category in oracle.SEVERITY]


def said(reader: RunReader) -> list[str]:
    return [finding.category for finding in findings(reader)]


@settings(deadline=None, max_examples=250)
@given(runs(), configs, st.sets(st.integers(0, 70)))
def test_every_prefix_is_the_batch_diagnosis(
    rows: list[dict[str, Any]], config: Any, restarts: set[int]
) -> None:
    """After every row, restarted or not, the checks say what the rules say of all rows so far."""
    reader = reader_for(config)
    for count in range(len(rows) + 1):
        if count:
            reader.feed(line_of(rows[count - 1]))
        if count in restarts:
            reader = restarted(reader)
        assert oracle.diagnose(rows[:count], config) == said(reader)


@settings(deadline=None, max_examples=150)
@given(runs(), configs)
def test_the_live_life_never_claims_more(rows: list[dict[str, Any]], config: Any) -> None:
    """What fires on a row is in the batch diagnosis of the rows up to it."""
    reader = reader_for(config)
    for count, row in enumerate(rows, 1):
        for transition in reader.feed(line_of(row)):
            if transition.kind is TransitionKind.FIRING and transition.category in oracle.SEVERITY:
                assert transition.category in oracle.diagnose(rows[:count], config)
                severity = oracle.SEVERITY[transition.category]
                assert severity == transition.severity.value


@settings(deadline=None, max_examples=150)
@given(runs(), configs)
def test_at_rest_nothing_was_kept_back(rows: list[dict[str, Any]], config: Any) -> None:
    """At the end, all of the batch diagnosis was told, but for a rise of less than 0.05."""
    reader = reader_for(config)
    told = {t.category for row in rows for t in reader.feed(line_of(row))}
    told |= {t.category for t in reader.rest()}
    for category in oracle.diagnose(rows, config):
        losses = [x for x in oracle.readings(rows, "loss") if math.isfinite(x)]
        noise = category == "loss_diverged" and losses[-1] - losses[0] < 0.05
        assert category in told or noise


@settings(deadline=None, max_examples=150)
@given(runs(), configs)
def test_a_finding_names_where_it_began(rows: list[dict[str, Any]], config: Any) -> None:
    """Its place is the row from which on the rules found it without a break; a NaN's, the first."""
    reader = reader_for(config)
    for row in rows:
        reader.feed(line_of(row))
    prefixes = [oracle.diagnose(rows[:count], config) for count in range(len(rows) + 1)]
    for finding in findings(reader):
        mark = finding.evidence.mark
        if finding.category == "no_metrics":
            assert mark is None
            continue
        assert mark is not None
        if finding.category == "nan_loss":
            assert oracle.first_bad_step(rows) == mark.step
        began = len(rows)
        while finding.category != "too_few_steps" and finding.category in prefixes[began - 1]:
            began -= 1
        assert began == mark.row
        assert rows[began - 1]["step"] == mark.step


def golden(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


@pytest.mark.parametrize("path", [OWN, SHARED], ids=["own", "shared"])
def test_golden_cases(path: Path) -> None:
    """Each recorded case has the recorded findings, and the recorded categories in each prefix."""
    if path is SHARED and not path.exists():
        pytest.skip("these cases are kept beside the checkout, where there are any")
    for case in golden(path):
        reader = reader_for(case["config"])
        for count in range(len(case["rows"]) + 1):
            if count:
                reader.feed(line_of(case["rows"][count - 1]))
            if case.get("prefixes") and case["prefixes"][count] is not None:
                assert case["prefixes"][count] == said(reader)
                expected = oracle.diagnose(case["rows"][:count], case["config"])
                assert expected == said(reader)
        assert case["findings"] == [
            {"category": f.category, "severity": f.severity.value} for f in findings(reader)
        ]


def test_golden_file_is_as_made() -> None:
    """The file of own cases is what its script writes, and it holds every category of the seed."""
    assert make_seed_cases.text() == OWN.read_text(encoding="ascii")
    found = {f["category"] for case in golden(OWN) for f in case["findings"]}
    assert set(oracle.SEVERITY) == found


def test_the_seed_set_is_complete() -> None:
    """The seed has these eight categories, with these severities, in this order."""
    assert list(oracle.SEVERITY.items()) == [(c.category, c.severity.value) for c in SEED]
