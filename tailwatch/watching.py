"""`tailwatch status --watch`: the table again and again, until somebody has seen enough."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

from .errors import NoDaemon
from .status_text import status_text
from .terminal import columns, fitted, screen


def watch(
    ask: Callable[[], dict[str, Any]], seconds: float, write: Callable[[str], object]
) -> None:
    """
    Show what *ask* gives every *seconds*, until SIGINT or SIGTERM.

    A daemon that has gone, or has not come yet, is asked again.
    """
    # As Ctrl-C: a terminal must not be left without its cursor.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    known: dict[str, Any] | None = None
    try:
        with screen(write) as show:
            while True:
                trouble = ""
                try:
                    known = ask()
                except NoDaemon as error:
                    trouble = f"{error}; trying again every {seconds:g} s"
                show(_page(known, trouble, seconds))
                time.sleep(seconds)
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)


def _page(document: dict[str, Any] | None, trouble: str, seconds: float) -> str:
    """The newest table there is; what is wrong, or when it was made, goes before it."""
    now_s, width = time.time(), columns()
    clock = time.strftime("%H:%M:%S", time.localtime(now_s))
    parts = [f"{clock}  {trouble or f'every {seconds:g} s, Ctrl-C ends it'}"]
    if document is not None:
        parts.append(status_text(document, now_s, width))
    return fitted("\n".join(parts), width)
