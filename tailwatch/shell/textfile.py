"""The metrics in a file, for the textfile collector of node_exporter."""

from __future__ import annotations

import contextlib
import os
import threading

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from ..board import Board
from ..core.names import escape
from ..messages import Snapshot
from ..ports import Log

INTERVAL_S = 5.0
"""Between two looks at whether there is something new: the engine publishes at each sweep too."""
FIRST_S = 0.5
"""As long as there is nothing at all."""


class Textfile:
    """
    Writes the newest snapshot, whole or not at all, on a thread of its own.

    A file that cannot be written is said once and counted; it is tried again.

    Args:
        path: Replaced at each change. Its directory must be there.
        board: Where the snapshots are.
        registry: What they look like.
        log: For trouble.
    """

    def __init__(self, path: str, board: Board, registry: CollectorRegistry, log: Log) -> None:
        self._path, self._board, self._registry, self._log = path, board, registry, log
        self._written: Snapshot | None = None
        self._failed = False
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="textfile", daemon=True)
        self._thread.start()

    def alive(self) -> bool:
        """Whether it still writes."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Write what is newest, and no more."""
        self._over.set()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        while not self._over.wait(INTERVAL_S if self._board.snapshot else FIRST_S):
            self._update()
        self._update()

    def _update(self) -> None:
        snapshot = self._board.snapshot
        if snapshot is self._written:
            return
        try:
            self._write()
        except OSError as error:
            self._board.textfile_errors += 1
            if not self._failed:
                facts = {"path": escape(self._path), "error": error.strerror}
                self._log.error("textfile_not_written", **facts)
            self._failed = True
            return
        self._written = snapshot
        if self._failed:
            self._log.info("textfile_written_again", path=escape(self._path))
        self._failed = False

    def _write(self) -> None:
        # Beside it: a rename is whole only within one file system. No collector reads *.tmp.
        draft = f"{self._path}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(draft, flags, 0o644), "wb") as file:
            try:
                os.fchmod(file.fileno(), 0o644)  # node_exporter is another user.
                file.write(generate_latest(self._registry))
                file.flush()
                os.replace(draft, self._path)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(draft)
                raise
