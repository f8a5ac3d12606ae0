"""The schema: what every released version made can be brought to the newest."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from tailwatch.schema import MIGRATIONS


def test_each_step_builds_on_the_one_before() -> None:
    """The steps run one after the other, and the newest has what the store asks for."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for step in MIGRATIONS:
            step(connection)
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        columns = [row[1] for row in connection.execute("PRAGMA table_info(runs)")]

    assert {"runs", "findings", "outbox", "meta"} <= tables
    assert columns == ["path", "name", "root", "state", "ended_s"]
