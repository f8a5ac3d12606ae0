"""What a turn of the engine and a run on disk cost, in counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from .counting import calls, most, statements
from .following import following
from .limits import held


def test_statements_for_a_changed_run(tmp_path: Path) -> None:
    """A turn makes a fixed number of SQL statements and so many for each run that has a row."""
    counts = {}
    with following(tmp_path, 20) as engine:
        for number, changed in enumerate((1, 11)):
            engine.train(range(changed), range(30 + number, 31 + number))
            with statements(engine.connection) as made:
                engine.turn(range(changed))
            counts[changed] = len(made)
            parts = ", ".join(statement[:40] for statement in made)
        assert engine.rows() == 20 * 30 + 12

    each = (counts[11] - counts[1]) / 10
    held("SQL statements for a changed run", each, parts)
    held("SQL statements for a turn in which one changed", counts[1], parts)


def test_statements_do_not_grow_with_known_runs(tmp_path: Path) -> None:
    """A turn in which one run has a row costs the same, calls and SQL, of 20 runs and of 200."""
    counts = {}
    for known in (20, 200):
        with following(tmp_path / str(known), known) as engine:
            engine.train(range(1), range(30, 31))
            with statements(engine.connection) as made:
                called = calls(lambda: engine.turn(range(1)))
            counts[known] = called.total(), len(made)
            assert engine.rows() == 30 * known + 1

    assert counts[20] == counts[200]
    held("calls for a turn with one row", counts[200][0], most(called))


def test_nothing_new_makes_no_statement(tmp_path: Path) -> None:
    """A turn or a sweep that finds nothing new does not touch the database."""
    with following(tmp_path, 20) as engine, statements(engine.connection) as made:
        engine.turn()
        engine.turn(range(20))
        engine.sweep()

    held("SQL statements when nothing changed", len(made), ", ".join(made))


def test_calls_of_an_idle_sweep(tmp_path: Path) -> None:
    """A sweep that finds nothing new takes so many calls for each file, however many there are."""
    counts = {}
    for known in (100, 200, 400):
        with following(tmp_path / str(known), known) as engine:
            called = calls(engine.sweep)
            counts[known] = called.total()

    parts = most(called, 400)
    first, then = (counts[200] - counts[100]) / 100, (counts[400] - counts[200]) / 200
    held("calls of an idle sweep for each file, 400 to 200", then / first, parts)
    held("calls of an idle sweep for each file", first, parts)
    held("calls of an idle sweep, but for its files", counts[100] - 100 * first, parts)


def test_calls_of_idle_sweeps_with_events(tmp_path: Path) -> None:
    """Where events come and nothing happens, a sweep asks the system for one file in twelve."""
    counts = {}
    for known in (120, 240):
        with following(tmp_path / str(known), known) as engine:
            engine.calm()
            called = calls(engine.sweeps_with_events)
            counts[known] = called.total()

    each = (counts[240] - counts[120]) / 120
    held("calls of twelve idle sweeps with events for each file", each, most(called, 240))


def test_calls_of_an_idle_turn(tmp_path: Path) -> None:
    """A turn with nothing to do takes few calls, and none for the runs it knows."""
    with following(tmp_path, 100) as engine:
        called = calls(engine.turn)

    held("calls of an idle turn", called.total(), most(called))


@pytest.mark.parametrize("rows", [30, 10_000])
def test_bytes_of_state(tmp_path: Path, rows: int) -> None:
    """What is kept on disk of a run, with all checks, is small and stays so."""
    with following(tmp_path, 1) as engine:
        engine.train(range(1), range(30, rows))
        engine.read_all()
        assert engine.rows() == rows
        (size,) = engine.connection.execute("SELECT length(state) FROM runs").fetchone()

    held(f"bytes of state after {rows:,} rows", size)


def test_bytes_of_the_database(tmp_path: Path) -> None:
    """The file of the database holds little more than the states of its runs."""
    with following(tmp_path, 200):
        pass
    size = (tmp_path / "state" / "tailwatch.db").stat().st_size

    held("bytes of the database for each of 200 runs", size / 200)
