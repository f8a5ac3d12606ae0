"""The runs on disk: those that are followed, and what is kept of those that have ended."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from .messages import RunRecord
from .packing import pack, unpack

ENDED_WHOLE_MAX = 1000
"""So many runs whose files are gone are kept as they were; of the others, what was counted."""
ENDED_MAX = 50_000
"""Counts of ended runs: those of years, on most hosts. The oldest go first."""

_RECORDS = "SELECT path, name, root, state FROM runs"
_NEWEST = "WHERE ended_s IS NOT NULL ORDER BY ended_s DESC, path LIMIT ?"


def followed(connection: sqlite3.Connection) -> Iterator[RunRecord]:
    """Every run that has not ended, one at a time: there may be thousands."""
    return map(_record, connection.execute(f"{_RECORDS} WHERE ended_s IS NULL"))


def ended(connection: sqlite3.Connection) -> list[RunRecord]:
    """The runs that ended last, of which everything is kept."""
    rows = connection.execute(f"{_RECORDS} {_NEWEST}", (ENDED_WHOLE_MAX,))
    return [r for r in map(_record, rows) if r.state["reader"] is not None]


def ended_in(connection: sqlite3.Connection, path: str) -> RunRecord | None:
    """The run that ended in *path*, or what is kept of it."""
    query = f"{_RECORDS} WHERE path = ? AND ended_s IS NOT NULL"
    row = connection.execute(query, (os.fsencode(path),)).fetchone()
    return row and _record(row)


def put(
    connection: sqlite3.Connection, records: Iterable[RunRecord], ended_s: float | None = None
) -> None:
    """Keep *records*; *ended_s*: when they ended, Unix seconds."""
    connection.executemany(
        "INSERT INTO runs (path, name, root, state, ended_s) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (path) DO UPDATE SET state = excluded.state, root = excluded.root,"
        " ended_s = excluded.ended_s",
        (
            (
                *(os.fsencode(r.path), r.name, r.root and os.fsencode(r.root)),
                pack(r.state),
                ended_s,
            )
            for r in records
        ),
    )


def move(connection: sqlite3.Connection, old: str, new: str) -> int:
    """Give the run in *old* the path *new*; return how many that had ended there went for it."""
    paths = (os.fsencode(new), os.fsencode(old))
    dropped = connection.execute("DELETE FROM runs WHERE path = ?", paths[:1]).rowcount
    connection.execute("UPDATE runs SET path = ? WHERE path = ?", paths)
    return dropped


def end(connection: sqlite3.Connection, records: Collection[RunRecord], now_s: float) -> int:
    """Note that *records* ended; return how many counts of older ones went for them."""
    run = connection.execute
    # In the order of ending even if the clock was set back.
    last_s = run("SELECT max(ended_s) FROM runs").fetchone()[0] or 0.0
    put(connection, records, max(now_s, last_s + 0.001))
    pushed_out = run(f"{_RECORDS} {_NEWEST} OFFSET ?", (len(records), ENDED_WHOLE_MAX))
    for record in map(_record, pushed_out.fetchall()):
        if (small := record.small()) is None:
            run("DELETE FROM runs WHERE path = ?", (os.fsencode(record.path),))
        else:
            state = (pack(small.state), os.fsencode(small.path))
            run("UPDATE runs SET state = ? WHERE path = ?", state)
    too_many = f"SELECT path FROM runs {_NEWEST} OFFSET ?"
    return run(f"DELETE FROM runs WHERE path IN ({too_many})", (-1, ENDED_MAX)).rowcount


def _record(row: Any) -> RunRecord:
    path, name, root, state = row
    return RunRecord(os.fsdecode(path), name, root and os.fsdecode(root), unpack(state))
