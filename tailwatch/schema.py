"""The schema of the state on disk: numbered steps, forward only."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable


def _first(connection: sqlite3.Connection) -> None:
    for statement in (
        "CREATE TABLE runs (path BLOB PRIMARY KEY, name TEXT NOT NULL UNIQUE, root BLOB,"
        " state BLOB NOT NULL) WITHOUT ROWID",
        "CREATE TABLE findings (id INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL,"
        " segment INTEGER NOT NULL, category TEXT NOT NULL, severity TEXT NOT NULL,"
        " transition TEXT NOT NULL, continues INTEGER NOT NULL, time_s REAL NOT NULL,"
        " row INTEGER NOT NULL, step NUMERIC, offset INTEGER NOT NULL,"
        " message TEXT NOT NULL, suggestion TEXT NOT NULL, evidence BLOB NOT NULL)",
        "CREATE INDEX findings_of_run ON findings (run, id)",
        "CREATE TABLE outbox (id INTEGER PRIMARY KEY AUTOINCREMENT, receiver TEXT NOT NULL,"
        " key TEXT NOT NULL, type TEXT NOT NULL, time_s REAL NOT NULL, data BLOB,"
        " digest TEXT, state TEXT NOT NULL, UNIQUE (receiver, key))",
        "CREATE INDEX outbox_pending ON outbox (id) WHERE state = 'pending'",
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    ):
        connection.execute(statement)


def _ended_runs(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE runs ADD COLUMN ended_s REAL")
    connection.execute("CREATE INDEX runs_ended ON runs (ended_s) WHERE ended_s IS NOT NULL")


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_first, _ended_runs)
"""Number n brings a database from version n - 1 to n. Never changed once released."""
