"""A progress bar on standard error, for long work that a person waits for."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import TextIO

BYTES_MIN = 16 * 1024 * 1024
"""Less is read before a bar could be seen."""
REDRAW_S = 0.1
_COLUMNS_USUAL = 80
_MB = 1e6


class Bar:
    """
    How much of the bytes is read, how fast, and how long the rest will take.

    Without escape codes and threads: any terminal can go back to the beginning of its line.

    Args:
        total: Bytes to be read.
        stream: Where to draw; None: nowhere.
        monotonic: The clock of the rate, seconds.
    """

    def __init__(
        self, total: int, stream: TextIO | None, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._total, self._stream, self._monotonic = total, stream, monotonic
        self._began_s = self._drawn_s = monotonic()
        self._done = self._width = 0

    def advance(self, size: int) -> None:
        """So many bytes more are read."""
        self._done += size
        now_s = self._monotonic()
        if self._stream is not None and now_s - self._drawn_s >= REDRAW_S:
            self._drawn_s = now_s
            self._draw(self._stream, now_s - self._began_s)

    def clear(self) -> None:
        """Take it away, for something else to be written there."""
        if self._stream is not None and self._width:
            self._stream.write(f"\r{' ' * self._width}\r")
            self._stream.flush()
            self._width = 0

    def _draw(self, stream: TextIO, elapsed_s: float) -> None:
        done = min(self._done, self._total)  # A file that is written to may have more.
        rate = done / elapsed_s
        left_s = (self._total - done) / rate if rate else 0
        facts = (
            f"{done / _MB:.1f} of {self._total / _MB:.1f} MB, {rate / _MB:.1f} MB/s, "
            f"{left_s // 60:.0f}:{left_s % 60:02.0f} left"
        )
        room = _columns(stream) - 1  # In the last column the cursor would go on to the next line.
        length = min(30, room - len(facts) - 3)
        full = length * done // self._total
        bar = f"[{'#' * full}{'.' * (length - full)}] " if length > 3 else ""
        text = (bar + facts)[:room]
        stream.write(f"\r{text.ljust(self._width)}")
        stream.flush()
        self._width = len(text)


def _columns(stream: TextIO) -> int:
    with contextlib.suppress(OSError):
        return os.get_terminal_size(stream.fileno()).columns or _COLUMNS_USUAL
    return _COLUMNS_USUAL


@contextlib.contextmanager
def progress(total: int, bytes_min: int = BYTES_MIN) -> Iterator[Bar]:
    """Give a bar for *total* bytes; it is seen where standard error is a terminal."""
    bar = Bar(total, sys.stderr if total >= bytes_min and sys.stderr.isatty() else None)
    try:
        yield bar
    finally:
        bar.clear()
