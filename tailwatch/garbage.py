"""When Python looks for garbage, and when not."""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Iterator

WHOLE_S = 3600.0


@contextlib.contextmanager
def seldom_whole() -> Iterator[None]:
    """
    Within, what was found to be in use once is looked at again after an hour only.

    The state of hundreds of runs stays, and no cycle comes of it; to look through all of it took
    30 ms, in which no thread runs, at every tenth scrape.
    """
    whole_s = time.monotonic()

    def collected(phase: str, info: dict[str, int]) -> None:
        nonlocal whole_s
        if info["generation"] < 2:
            return
        if phase == "stop":
            gc.freeze()
        elif time.monotonic() - whole_s >= WHOLE_S:
            whole_s = time.monotonic()
            gc.unfreeze()

    gc.callbacks.append(collected)
    try:
        yield
    finally:
        gc.callbacks.remove(collected)
        gc.unfreeze()


@contextlib.contextmanager
def nothing_collected() -> Iterator[None]:
    """
    Leave the garbage collector out of the restoring of thousands of runs.

    All that is made there stays: to look through it again and again as it grows took two
    thirds of the time, and it need not be looked through later.
    """
    # What an engine before a reload has left: its parts know each other, and were not looked at.
    gc.unfreeze()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
