"""When Python looks for garbage, and when not."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


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
