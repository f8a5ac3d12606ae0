"""The runs on disk: what is kept of those that have ended, and how many."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from tailwatch import runs_table
from tailwatch.messages import RunRecord
from tailwatch.schema import MIGRATIONS


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    """Three ended runs are kept whole, and five in all."""
    monkeypatch.setattr(runs_table, "ENDED_WHOLE_MAX", 3)
    monkeypatch.setattr(runs_table, "ENDED_MAX", 5)
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for migration in MIGRATIONS:
        migration(connection)
    yield connection
    connection.close()


def run(number: int, *, counted: bool = True, name: str = "") -> RunRecord:
    tallies = {"nan_loss": [number, 1.0]} if counted else {}
    state: dict[str, Any] = {"reader": {"rows": 7}, "previous": [1], "past": [2], "paged": {}}
    return RunRecord(f"/r/{number}", name or f"run{number}", "/r", state | {"tallies": tallies})


def kept(table: sqlite3.Connection) -> dict[str, bool]:
    """Name -> whether it is kept whole, of the ended runs."""
    paths = table.execute("SELECT path FROM runs WHERE ended_s IS NOT NULL ORDER BY path")
    records = [runs_table.ended_in(table, path.decode()) for (path,) in paths.fetchall()]
    return {r.name: r.state["reader"] is not None for r in records if r is not None}


def test_of_older_runs_only_the_counts_are_kept(table: sqlite3.Connection) -> None:
    """The newest are kept whole; of the others the counts, and nothing if there are none."""
    for number in range(5):
        runs_table.put(table, [run(number, counted=number > 0)])
        assert runs_table.end(table, [run(number, counted=number > 0)], 1000.0 + number) == 0
    small = runs_table.ended_in(table, "/r/1")

    assert kept(table) == {"run1": False, "run2": True, "run3": True, "run4": True}
    assert small is not None
    assert small.state["tallies"] == {"nan_loss": [1, 1.0]}
    assert (small.state["previous"], small.state["past"]) == ([], [])
    assert [record.name for record in runs_table.ended(table)] == ["run4", "run3", "run2"]
    assert list(runs_table.followed(table)) == []


def test_the_oldest_of_too_many_go_and_are_counted(table: sqlite3.Connection) -> None:
    """Beyond the limit counts are let go, however many runs end at once, and it is said."""
    dropped = [runs_table.end(table, [run(n)], 1000.0 + n) for n in range(7)]
    at_once = runs_table.end(table, [run(n) for n in range(10, 24)], 2000.0)

    assert dropped == [0, 0, 0, 0, 0, 1, 1]
    assert at_once == 14
    assert sorted(kept(table).values()) == [False, False, True, True, True]


def test_a_clock_that_was_set_back_changes_no_order(table: sqlite3.Connection) -> None:
    """The runs that ended last are kept whole, whatever the clock said."""
    for number, now_s in enumerate((5000.0, 5001.0, 10.0, 11.0, 12.0)):
        runs_table.end(table, [run(number)], now_s)

    assert [name for name, whole in kept(table).items() if whole] == ["run2", "run3", "run4"]


def test_a_run_that_is_there_again_is_followed(table: sqlite3.Connection) -> None:
    """A run that is put again has not ended."""
    runs_table.end(table, [run(1)], 1000.0)
    runs_table.put(table, [run(1)])

    assert [record.name for record in runs_table.followed(table)] == ["run1"]
    assert runs_table.ended_in(table, "/r/1") is None


def test_a_run_may_move_to_where_another_ended(table: sqlite3.Connection) -> None:
    """The record of what ended there gives way, and that is counted; else nothing is."""
    runs_table.end(table, [run(1)], 1000.0)
    runs_table.put(table, [run(2), run(3)])
    dropped = (runs_table.move(table, "/r/2", "/r/1"), runs_table.move(table, "/r/3", "/r/9"))

    assert dropped == (1, 0)
    assert [(r.path, r.name) for r in runs_table.followed(table)] == [
        ("/r/1", "run2"),
        ("/r/9", "run3"),
    ]
