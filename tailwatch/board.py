"""Where the engine leaves the newest snapshot, for the threads that show it."""

from __future__ import annotations

from collections.abc import Callable

from .messages import Snapshot


class Board:
    """
    One reference, replaced as a whole; readers need no lock.

    Args:
        on_beat: Called on the engine's thread at every turn, with the monotonic time and
            the newest snapshot.
    """

    def __init__(self, on_beat: Callable[[float, Snapshot | None], None] | None = None) -> None:
        self.snapshot: Snapshot | None = None
        self.beat_s: float | None = None
        self.connections_dropped = 0
        self.textfile_errors = 0
        self._on_beat = on_beat

    def publish(self, snapshot: Snapshot) -> None:
        """Replace the snapshot."""
        self.snapshot = snapshot

    def beat(self, monotonic_s: float) -> None:
        """The engine turns."""
        self.beat_s = monotonic_s
        if self._on_beat is not None:
            self._on_beat(monotonic_s, self.snapshot)
