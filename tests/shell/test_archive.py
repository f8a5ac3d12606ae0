"""The kept state, read beside the engine: what was committed, and no trouble to the writer."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailwatch.core.findings import Edge, Severity, TransitionKind
from tailwatch.messages import Commit, FindingRecord, RunRecord
from tailwatch.shell import archive as archive_module
from tailwatch.shell.archive import StoreArchive
from tailwatch.shell.store import SqliteStore
from tests.shell.helpers import MemoryLog, transition


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "of?a#b%20 \udcff"


@pytest.fixture
def store(directory: Path) -> Iterator[SqliteStore]:
    made = SqliteStore(str(directory), MemoryLog())
    yield made
    made.close()


def commit(store: SqliteStore, name: str = "a", *found: FindingRecord, rows: int = 1) -> None:
    record = RunRecord(f"/r/{name}", name, "/r", {"rows": rows, "tallies": {}, "reader": None})
    store.commit(Commit(runs={record.path: record}, findings=list(found)))


def test_what_is_committed_is_read(store: SqliteStore, directory: Path) -> None:
    """The states of the runs that are asked for, whatever the directory is called."""
    archive = StoreArchive(str(directory))
    for name in ("a", "b", "c"):
        commit(store, name, rows=ord(name))
    found = archive.states(["a", "c", "nosuch"])
    assert {name: state["rows"] for name, state in found.items()} == {"a": 97, "c": 99}
    assert archive.states([]) == {}


def test_findings_come_in_order_and_bounded(
    store: SqliteStore, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest of one run, oldest first, with what was said."""
    monkeypatch.setattr(archive_module, "EDGES_MAX", 3)
    kinds = [TransitionKind.FIRING, TransitionKind.RESOLVED] * 2
    found = [
        FindingRecord("a", transition("loss_flat", Severity.WARNING, kind, row=row), 1000.0 + row)
        for row, kind in enumerate(kinds, 1)
    ]
    commit(store, "a", *found, FindingRecord("b", transition(), 5.0))
    edges = StoreArchive(str(directory)).edges("a")
    assert [(e.kind, e.row, e.time_s) for e in edges] == [
        ("resolved", 2, 1002.0),
        ("firing", 3, 1003.0),
        ("resolved", 4, 1004.0),
    ]
    assert edges[0] == Edge(
        1, "loss_flat", "warning", "resolved", False, 1002.0, 2, 2, "loss is NaN", "Look."
    )


def test_nothing_is_shown_that_a_crash_could_take_back(
    store: SqliteStore, directory: Path
) -> None:
    """While a transaction is open, the state is the one before it; and the writer goes on."""
    commit(store, rows=1)
    archive = StoreArchive(str(directory))
    store._connection.execute("BEGIN IMMEDIATE")
    store._connection.execute("DELETE FROM runs")
    assert archive.states(["a"])["a"]["rows"] == 1
    store._connection.execute("ROLLBACK")
    commit(store, rows=2)
    assert archive.states(["a"])["a"]["rows"] == 2


def test_no_database_and_a_broken_one_give_nothing(tmp_path: Path) -> None:
    """What cannot be read is missing; no file is made by looking."""
    archive = StoreArchive(str(tmp_path))
    assert (archive.states(["a"]), archive.edges("a")) == ({}, [])
    assert os.listdir(tmp_path) == []
    (tmp_path / "tailwatch.db").write_bytes(b"no database" * 1000)
    assert (archive.states(["a"]), archive.edges("a")) == ({}, [])


def test_it_cannot_write(store: SqliteStore, directory: Path) -> None:
    """The connection is for reading alone."""
    with (
        StoreArchive(str(directory))._connected() as connection,
        pytest.raises(sqlite3.OperationalError, match="readonly"),
    ):
        connection.execute("DELETE FROM runs")


def test_many_readers_hold_up_no_commit(store: SqliteStore, directory: Path) -> None:
    """While pages are read all the time, every commit succeeds, and none of it is torn."""
    archive, over, wrong = StoreArchive(str(directory)), threading.Event(), []
    commit(store, "a")

    def read() -> None:
        while not over.is_set():
            found = archive.states(["a"])
            if set(found) != {"a"}:
                wrong.append(found)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for rows in range(200):
        commit(store, "a", rows=rows)
    over.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert archive.states(["a"])["a"]["rows"] == 199
