"""What is known of one run beyond the snapshot, from what is kept."""

from __future__ import annotations

import json
import math
from typing import Any, ClassVar

import pytest

from tailwatch.checks import CHECKS
from tailwatch.core.check import Check, Gauge, RunConfig
from tailwatch.core.findings import Edge, Evidence, Hold, Severity
from tailwatch.core.rows import Row
from tailwatch.pages.api import run_document
from tailwatch.pages.detail import (
    Nothing,
    check_facts,
    curve_facts,
    curve_of,
    episodes,
    history_facts,
    monitor_of,
    rounded,
)
from tests.pages.kept import NOW_S, World, log, rows


def checks_of(world: World, name: str = "a") -> dict[str, dict[str, Any]]:
    monitor = monitor_of(world.states([name])[name], world.checks)
    assert monitor is not None
    return {w.check.category: check_facts(w) for w in monitor.watched}


def test_each_check_says_how_it_stands() -> None:
    """Armed with its value and threshold, warming up with how many of how many, off with why."""
    world = World()
    world.run("a", log(rows(40)), config=RunConfig(learning_rate=2e-4))
    facts = checks_of(world)

    assert list(facts) == [check.category for check in CHECKS]
    diverged = facts["loss_diverged"]
    assert (diverged["state"], diverged["compares"], diverged["above"]) == ("armed", "loss", True)
    assert 0 < diverged["value"] < diverged["threshold"]
    spike = facts["loss_spike"]
    assert (spike["state"], spike["rows"], spike["of"]) == ("warming_up", 40, 50)
    assert spike["value"] is None
    assert (facts["kl_high"]["state"], bool(facts["kl_high"]["reason"])) == ("off", True)
    assert facts["lr_too_low"]["threshold"] == 1e-6
    assert not facts["lr_too_low"]["above"]


def test_what_fires_and_what_is_about_to_is_said() -> None:
    """A finding's own state, and of a pending one how many rows of its hold it has."""
    world = World()
    healthy = rows(60)
    world.run("a", log([*healthy, *rows(3, 61, loss=9.0)]))
    world.run("b", log([*healthy, *rows(20, 61, loss=9.0)]))
    pending, firing = checks_of(world)["loss_spike"], checks_of(world, "b")["loss_spike"]

    assert (pending["finding"], pending["pending_rows"], pending["hold_rows"]) == ("pending", 3, 5)
    assert (firing["finding"], firing["pending_rows"]) == ("firing", 0)


class Odd(Check):
    """A stranger's check, of whom each instance is at fault in its way."""

    category: ClassVar[str] = "odd"
    severity: ClassVar[Severity] = Severity.INFO
    suggestion: ClassVar[str] = "Look."
    check_set: ClassVar[str] = "user"
    reads: ClassVar[tuple[str, ...]] = ("loss",)
    hold: ClassVar[Hold] = Hold(1, 1)
    answer: ClassVar[Any] = None

    def __init__(self) -> None:
        self.seen = 0

    def update(self, row: Row) -> Evidence | None:
        if self.answer is KeyError:
            raise KeyError
        return None

    def gauge(self) -> Gauge | None:
        if self.answer is ValueError:
            raise ValueError
        return self.answer  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (KeyError, "quarantined"),
        (ValueError, "quarantined"),
        ("text", "armed"),
        (Gauge("x", math.nan, 1.0), "armed"),
        (Gauge("\n", 1.0, 1.0), "armed"),
        (Gauge("x", "1", 1.0), "armed"),  # type: ignore[arg-type]
    ],
)
def test_a_strangers_check_cannot_break_the_page(
    answer: Any, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that raised is quarantined; what is no number to show is not shown."""
    monkeypatch.setattr(Odd, "answer", answer)
    world = World([Odd])
    world.run("a", log(rows(3)))
    monitor = monitor_of(world.states(["a"])["a"], [Odd])
    assert monitor is not None
    facts = check_facts(monitor.watched[0])
    assert (facts["state"], facts["value"]) == (state, None)


@pytest.mark.parametrize(
    "state",
    [None, {}, {"reader": None}, {"reader": {"monitor": {}}}, {"reader": {"monitor": None}}],
)
def test_a_state_that_cannot_be_used_is_none(state: Any) -> None:
    """Of another version, of other checks, or of a run of which only counts are kept."""
    assert monitor_of(state, CHECKS) is None
    assert curve_of(state) is None


def test_a_state_of_other_checks_has_its_curve_still() -> None:
    """After the set of checks was changed, until the run is read again."""
    world = World(CHECKS[:3])
    world.run("a", log(rows(10)))
    state = world.states(["a"])["a"]
    assert monitor_of(state, CHECKS) is None
    curve = curve_of(state)
    assert curve is not None
    assert curve.rows == 10


def test_the_curve_is_told_without_noise() -> None:
    """Seven digits, null where there is nothing, what is not finite counted."""
    world = World()
    values = [2.1, math.nan, None, 1e39, 0.3]
    lines = [{"step": n, "loss": v, "lr": 1e-4} for n, v in enumerate(values, 1)]
    world.run("a", log(lines))
    curve = curve_of(world.states(["a"])["a"])
    assert curve is not None
    facts = curve_facts(curve)
    assert facts["steps"] == [1, 2, 3, 4, 5]
    assert facts["fields"]["loss"] == {
        "low": [2.1, None, None, 3.402823e38, 0.3],
        "high": [2.1, None, None, 3.402823e38, 0.3],
        "not_finite": [0, 1, 0, 0, 0],
        "first": {"row": 1, "step": 1, "value": 2.1},
        "last": {"row": 5, "step": 5, "value": 0.3},
    }
    json.dumps(facts, allow_nan=False)
    assert rounded(1e-4) == 1e-4


def edge(category: str, kind: str, row: int, *, continues: bool = False) -> Edge:
    return Edge(1, category, "warning", kind, continues, NOW_S + row, row, row * 10, "m", "s")


def test_history_is_what_fired_and_is_over() -> None:
    """A finding that fires again soon is still the same; one whose beginning is forgotten is none."""
    edges = [
        edge("forgotten", "resolved", 1),
        edge("a", "firing", 2),
        edge("b", "firing", 3),
        edge("a", "resolved", 5),
        edge("a", "firing", 6, continues=True),
        edge("a", "resolved", 9),
        edge("a", "firing", 20),
    ]
    assert [
        (e.fired.category, e.fired.row, e.resolved and e.resolved.row) for e in episodes(edges)
    ] == [
        ("a", 2, 9),
        ("b", 3, None),
        ("a", 20, None),
    ]
    (over,) = history_facts(edges)
    assert over == {
        "category": "a",
        "severity": "warning",
        "message": "m",
        "segment": 1,
        "step": 20,
        "row": 2,
        "resolved_step": 90,
        "since": "2026-01-02T00:00:02Z",
        "resolved": "2026-01-02T00:00:09Z",
    }


def test_the_document_of_a_run_has_all_of_it() -> None:
    """Beside the fields of the list: history, checks and curve; null what is not kept."""
    world = World()
    world.run("a", log([*rows(60), *rows(1, 61, loss=math.nan), *rows(30, 62)]))
    document = run_document(world.views["a"], world, CHECKS)
    assert [each["category"] for each in document["history"]] == ["nan_loss"]
    assert len(document["checks"]) == len(CHECKS)
    assert document["curve"]["rows"] == 91
    json.dumps(document, allow_nan=False)
    bare = run_document(world.views["a"], Nothing(), CHECKS)
    assert (bare["history"], bare["checks"], bare["curve"]) == ([], None, None)
