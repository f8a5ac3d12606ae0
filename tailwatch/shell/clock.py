"""The real clock."""

from __future__ import annotations

import time


class SystemClock:
    """Wall time for time stamps, monotonic time for durations; both in seconds."""

    def wall(self) -> float:
        """Unix seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never jump; meaningless after a reboot."""
        return time.monotonic()
