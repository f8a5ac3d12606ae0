"""A progress bar on standard error, for long work that a person waits for."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

BYTES_MIN = 16 * 1024 * 1024
"""Less is read before a bar could be seen."""


@contextlib.contextmanager
def progress(total: int, bytes_min: int = BYTES_MIN) -> Iterator[Callable[[int], None]]:
    """Give a function to be called with the bytes read; of *total*, it draws a bar."""
    if total < bytes_min or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=total)
        yield lambda size: bar.advance(task, size)
