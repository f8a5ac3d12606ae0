"""Where other threads, and signal handlers, leave hints and messages for the engine."""

from __future__ import annotations

import contextlib
import queue
import threading

from ..messages import Incoming, Settled, Stop

HINTS_MAX = 100_000


class ThreadInbox:
    """
    A set of paths, a queue of messages, and a bell.

    A signal handler runs on the engine's own thread, in the middle of anything:
    `post` therefore takes no lock, and a ring is never lost.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._paths: set[str] = set()
        self._sweep = False
        self._messages: queue.SimpleQueue[Settled | Stop] = queue.SimpleQueue()
        self._bell: queue.SimpleQueue[None] = queue.SimpleQueue()

    def hint(self, path: str) -> None:
        """*path* may have changed. Hints of one path are one hint."""
        with self._lock:
            if len(self._paths) < HINTS_MAX:
                self._paths.add(path)
            else:
                self._sweep = True  # Too many to name: look at everything.
        self._ring()

    def sweep(self) -> None:
        """Hints may have been lost."""
        with self._lock:  # Or `take` could clear it unseen.
            self._sweep = True
        self._ring()

    def post(self, message: Settled | Stop) -> None:
        """Leave a message."""
        self._messages.put(message)
        self._ring()

    def _ring(self) -> None:
        if self._bell.empty():
            self._bell.put(None)

    def take(self, timeout_s: float) -> Incoming:
        """Wait for at most *timeout_s*; return and clear what came in."""
        with contextlib.suppress(queue.Empty):
            self._bell.get(timeout=timeout_s) if timeout_s > 0 else self._bell.get_nowait()
        with self._lock:
            paths, self._paths = self._paths, set()
            sweep, self._sweep = self._sweep, False
        messages = []
        with contextlib.suppress(queue.Empty):
            while True:
                messages.append(self._messages.get_nowait())
        return Incoming(paths, sweep, messages)
