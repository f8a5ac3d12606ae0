"""The state on disk, read beside the engine: what the pages show and no snapshot holds."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from ..core.findings import Edge
from ..packing import unpack

EDGES_MAX = 200
"""Of one run: more than a page shows."""
_BUSY_S = 1.0


class StoreArchive:
    """
    Reads the database of the state directory; writes nothing, and holds up no writer.

    A connection lasts for one question, so that a database that was set aside is not held.
    What cannot be read now is missing from the answer: a page is no reason to stop.

    Args:
        directory: The state directory, in which a `SqliteStore` is open.
    """

    def __init__(self, directory: str) -> None:
        path = os.path.abspath(os.path.join(directory, "tailwatch.db"))
        self._uri = f"file:{quote(os.fsencode(path))}?mode=ro"

    def states(self, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The states of these runs, as far as they are kept and can be read now."""
        states = {}
        with contextlib.suppress(sqlite3.Error, ValueError), self._connected() as connection:
            marks = ", ".join("?" * len(names))
            query = f"SELECT name, state FROM runs WHERE name IN ({marks})"
            for name, state in connection.execute(query, list(names)):
                states[name] = kept = unpack(state)
                packed = kept["reader"]  # Of an older version it is none, until it is read again.
                kept["reader"] = unpack(packed) if isinstance(packed, bytes) else None
        return states

    def edges(self, name: str) -> list[Edge]:
        """The newest findings of a run that fired or resolved, in the order of time."""
        query = (
            "SELECT segment, category, severity, transition, continues, time_s, row, step,"
            " message, suggestion FROM findings WHERE run = ? ORDER BY id DESC LIMIT ?"
        )
        with contextlib.suppress(sqlite3.Error), self._connected() as connection:
            rows = connection.execute(query, (name, EDGES_MAX)).fetchall()
            return [Edge(*row) for row in reversed(rows)]
        return []

    @contextlib.contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(self._uri, uri=True, timeout=_BUSY_S)
        try:
            yield connection
        finally:
            connection.close()
