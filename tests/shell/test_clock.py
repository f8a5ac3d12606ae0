"""The real clock, against the operating system's."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from tailwatch.shell.clock import SystemClock


def test_wall_time_is_unix_time() -> None:
    """Wall time is seconds since 1970 in UTC, as a calendar says it."""
    before_s = datetime.now(UTC).timestamp()
    wall_s = SystemClock().wall()
    assert before_s - 0.001 <= wall_s <= datetime.now(UTC).timestamp() + 0.001


def test_monotonic_time_is_in_seconds_and_never_falls() -> None:
    """Monotonic time runs with the kernel's monotonic clock, in seconds."""
    clock = SystemClock()
    before_s = time.clock_gettime(time.CLOCK_MONOTONIC)
    times = [clock.monotonic() for _ in range(1000)]
    assert sorted(times) == times
    assert before_s <= times[0]
    assert times[-1] <= time.clock_gettime(time.CLOCK_MONOTONIC)
