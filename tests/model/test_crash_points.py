"""Dying at any call to disk, database or receiver: nothing is lost, nothing counts twice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

Lives = list[dict[str, Any]]


@pytest.fixture(scope="module")
def lives() -> Lives:
    """The calm life first; see `crash.py`, which must be a process without threads."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.model.crash"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    print(ran.stderr)
    assert ran.returncode == 0, ran.stdout[-1000:] + ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def told(outcome: dict[str, Any]) -> set[str]:
    return {key for _, members in outcome["told"] for key in members}


def different(lives: Lives, *parts: str) -> list[tuple[list[int], str]]:
    calm = lives[0]["outcome"]
    return [
        (life["deaths"], part)
        for life in lives
        for part in parts
        if life["outcome"][part] != calm[part]
    ]


def test_the_calm_life_evaluates_each_row_and_tells_each_notice_once(lives: Lives) -> None:
    """Without a death every row is evaluated once, and every notice is told once."""
    calm = lives[0]["outcome"]

    assert lives[0]["written"] == calm["rows"]
    assert len(calm["rows"]) == sum(rows for rows, _ in calm["runs"].values())
    assert sorted(key for _, members in calm["told"] for key in members) == sorted(told(calm))
    assert told(calm) == {key for key, state in calm["outbox"] if state == "delivered"}
    assert max(len(members) for _, members in calm["told"]) == 6
    assert ["restarts", "truncated"] in [key for key, _ in calm["totals"]]
    assert ["restarts", "replaced"] in [key for key, _ in calm["totals"]]


def test_no_death_loses_a_row_or_counts_it_twice(lives: Lives) -> None:
    """Whatever the call at which the daemon dies, each row is evaluated once."""
    assert len(lives) > 100
    assert different(lives, "rows", "runs") == []


def test_no_death_changes_a_finding(lives: Lives) -> None:
    """Findings in each run's order, tallies and counters are those of the calm life."""
    assert different(lives, "findings", "tallies", "totals") == []


def test_no_death_loses_a_notice(lives: Lives) -> None:
    """The same notices are told and settled, and for each death at most one message twice."""
    keys = told(lives[0]["outcome"])

    assert different(lives, "outbox") == []
    for life in lives:
        messages = [key for key, _ in life["outcome"]["told"]]

        assert keys == told(life["outcome"]), life["deaths"]
        assert len(messages) - len(set(messages)) <= len(life["deaths"]), life["deaths"]
