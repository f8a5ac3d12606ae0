"""The state on disk: one SQLite file, one connection, one transaction a turn."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import time

from .. import runs_table
from ..core.notices import Notice
from ..core.numbers import jsonable
from ..errors import StateUnusable, StateWriteError
from ..messages import Commit, OutboxRow, Restored, RunRecord
from ..packing import pack, unpack
from ..ports import Log
from ..schema import MIGRATIONS

# "TLWT": tells our database from a foreign one of the same name.
APPLICATION_ID = 0x544C5754
BUSY_MS = 2000
FINDINGS_MAX = 100_000
SETTLED_MAX = 10_000
# Permission, locked, memory, read-only, input/output, full, cannot open (the codes of SQLite):
# what is there may be whole.
_PASSING = frozenset({3, 5, 6, 7, 8, 10, 13, 14})


class SqliteStore:
    """
    The state directory: a lock, and `tailwatch.db`.

    Args:
        directory: Made if it is not there.
        log: For what was set aside.

    Raises:
        StateUnusable: It cannot be written, another instance holds it, or a newer
            version of tailwatch made it.
    """

    def __init__(self, directory: str, log: Log) -> None:
        self._directory = directory
        self._path = os.path.join(directory, "tailwatch.db")
        self._log = log
        self._lock = self._take_lock()
        self.set_aside = 0
        try:
            self._connection = self._open()
        except BaseException:
            os.close(self._lock)
            raise

    def _take_lock(self) -> int:
        try:
            os.makedirs(self._directory, mode=0o700, exist_ok=True)
            path = os.path.join(self._directory, "lock")
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StateUnusable(
                f"state directory {self._directory!r} cannot be written: {error.strerror}"
            ) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise StateUnusable(
                f"state directory {self._directory!r} is held by another tailwatch; "
                "stop it, or give this one its own --state-dir"
            ) from None
        return descriptor

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except (sqlite3.OperationalError, OSError) as error:
            # Locked, no space, no permission: the content may be fine.
            raise StateUnusable(f"state file {self._path!r} cannot be used: {error}") from None
        except sqlite3.DatabaseError as error:
            reason = str(error)
        try:
            self._set_aside(reason)
            return self._connect()
        except (sqlite3.Error, OSError) as error:
            raise StateUnusable(f"state file {self._path!r} cannot be used: {error}") from None

    def _connect(self) -> sqlite3.Connection:
        # SQLite would make the file readable for all; run names are nobody's business.
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        connection = sqlite3.connect(self._path, isolation_level=None, timeout=BUSY_MS / 1000)
        try:
            self._check(connection)
            connection.execute("PRAGMA journal_mode = WAL")
            # A crash of this process loses nothing; a loss of power rolls back whole turns,
            # whose rows are then read again.
            connection.execute("PRAGMA synchronous = NORMAL")
            self._migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check(self, connection: sqlite3.Connection) -> None:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        ours = connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if tables and not (ours and version):
            raise sqlite3.DatabaseError("it is not a database of tailwatch")
        if version > len(MIGRATIONS):
            raise StateUnusable(
                f"state file {self._path!r} was made by a newer tailwatch (its version is "
                f"{version}, this one knows {len(MIGRATIONS)}); upgrade, or move it away"
            )
        verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            raise sqlite3.DatabaseError(verdict)

    def _migrate(self, connection: sqlite3.Connection) -> None:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        for number in range(version, len(MIGRATIONS)):
            connection.execute("BEGIN IMMEDIATE")
            MIGRATIONS[number](connection)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {number + 1}")
            connection.execute("COMMIT")

    def _set_aside(self, reason: str) -> None:
        """Keep a broken database for those who want to look; start anew without it."""
        target = first = f"{self._path}.broken-{int(time.time())}"
        number = 1
        while os.path.lexists(target):
            number += 1
            target = f"{first}-{number}"
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.replace(self._path + suffix, target + suffix)
        self.set_aside += 1
        self._log.error("state_set_aside", reason=reason, kept_as=target)

    def load(self) -> Restored:
        """Everything that is kept; a database that turns out broken is set aside."""
        try:
            return self._load()
        except (sqlite3.Error, ValueError, KeyError, TypeError) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _PASSING:
                reason = f"state file {self._path!r} cannot be read: {error}"
                raise StateUnusable(reason) from None
            self._connection.close()
            self._set_aside(str(error))
            self._connection = self._open()
            return self._load()

    def _load(self) -> Restored:
        run = self._connection.execute
        for _ in runs_table.followed(self._connection):
            pass  # Each can be unpacked: they are taken up one by one, and then it is too late.
        outbox = [
            OutboxRow(receiver, Notice(key, kind, time_s, unpack(data)), digest)
            for receiver, key, kind, time_s, data, digest in run(
                "SELECT receiver, key, type, time_s, data, digest FROM outbox"
                " WHERE state = 'pending' ORDER BY id"
            )
        ]
        meta = {key: unpack(value) for key, value in run("SELECT key, value FROM meta")}
        ended = runs_table.ended(self._connection)
        runs = runs_table.followed(self._connection)
        return Restored(fresh=not meta, runs=runs, outbox=outbox, meta=meta, ended=ended)

    def recall(self, path: str) -> RunRecord | None:
        """The record of a run that ended in *path*; None if there is none."""
        try:
            return runs_table.ended_in(self._connection, path)
        except sqlite3.Error:
            return None  # The run then begins anew, as one that was never seen.

    def named(self, name: str) -> bool:
        """Whether a run that is kept has this name."""
        try:
            query = "SELECT 1 FROM runs WHERE name = ?"
            return self._connection.execute(query, (name,)).fetchone() is not None
        except sqlite3.Error:
            return True  # Another name is sure to be free.

    def commit(self, commit: Commit) -> int:
        """
        Keep all of *commit* in one transaction; return how many counts of ended runs went.

        Raises:
            StateWriteError: Nothing of it was kept; the same commit may be tried again.
        """
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            dropped = self._write(commit)
            self._connection.execute("COMMIT")
            return dropped
        except BaseException as error:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise StateWriteError(str(error)) from None
            raise

    def _write(self, commit: Commit) -> int:
        many = self._connection.executemany
        dropped = 0
        for old, new in commit.moved:
            dropped += runs_table.move(self._connection, old, new)
        if commit.ended:
            dropped += runs_table.end(self._connection, commit.ended.values(), time.time())
        # After those that ended: one may be there again.
        runs_table.put(self._connection, commit.runs.values())
        if commit.findings:
            self._write_findings(commit)
        for receiver, notice in commit.notices:
            self._connection.execute(
                "INSERT OR IGNORE INTO outbox (receiver, key, type, time_s, data, state)"
                " VALUES (?, ?, ?, ?, ?, 'pending')",
                (receiver, notice.key, notice.type, notice.time_s, pack(notice.data)),
            )
        for receiver, digest, keys in commit.digests:
            many(
                "UPDATE outbox SET digest = ? WHERE receiver = ? AND key = ?",
                ((digest, receiver, key) for key in keys),
            )
        for receiver, keys, outcome in commit.settled:
            # What could not be delivered is kept whole; of the rest only the key.
            many(
                "UPDATE outbox SET state = ?1, data = CASE ?1 WHEN 'delivered' THEN NULL"
                " ELSE data END WHERE receiver = ?2 AND key = ?3",
                ((outcome, receiver, key) for key in keys),
            )
        if commit.settled:
            self._connection.execute(
                "DELETE FROM outbox WHERE state != 'pending'"
                " AND id < (SELECT max(id) FROM outbox) - ?",
                (SETTLED_MAX,),
            )
        many(
            "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)",
            ((key, pack(value)) for key, value in commit.meta.items()),
        )
        return dropped

    def _write_findings(self, commit: Commit) -> None:
        for run, t, time_s in commit.findings:
            values = {k: jsonable(v) for k, v in t.evidence.values.items()}
            self._connection.execute(
                "INSERT INTO findings (run, segment, category, severity, transition, continues,"
                " time_s, row, step, offset, message, suggestion, evidence)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(run, t.segment, t.category, t.severity.value, t.kind.value, t.continues),
                    *(time_s, t.mark.row, t.mark.step, t.mark.offset),
                    *(t.evidence.message, t.suggestion, pack(values)),
                ),
            )
        self._connection.execute(
            "DELETE FROM findings WHERE id < (SELECT max(id) FROM findings) - ?", (FINDINGS_MAX,)
        )

    def close(self) -> None:
        """Close the database and let another instance have the directory."""
        self._connection.close()
        os.close(self._lock)
