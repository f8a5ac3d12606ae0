"""The threads of the process: how they take turns, and what becomes of it when one dies."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator

from .errors import CannotGoOn
from .ports import Log

TURN_S = 0.0005
"""So long a thread may go on while others wait. A page of hundreds of runs takes 25 ms, a row two
dozen system calls, after each of which it waits for its turn: by default that is 5 ms."""

_NO_THREADS = "no thread can be started: too many tasks, or too little memory"


@contextlib.contextmanager
def thread_deaths(log: Log, no_memory: Callable[[], None]) -> Iterator[None]:
    """A library's thread that dies is a line in the log, and no traceback in it."""

    def died(args: threading.ExceptHookArgs) -> None:
        if issubclass(args.exc_type, MemoryError):
            no_memory()
        name = args.thread.name if args.thread else "?"
        log.error("thread_died", thread=name, error=args.exc_type.__name__)

    def unraisable(args: sys.UnraisableHookArgs) -> None:
        # A thread that died before it began: whoever started it would wait for ever.
        if issubclass(args.exc_type, MemoryError):
            no_memory()

    old = threading.excepthook, sys.unraisablehook
    threading.excepthook, sys.unraisablehook = died, unraisable
    try:
        yield
    finally:
        threading.excepthook, sys.unraisablehook = old


@contextlib.contextmanager
def short_turns() -> Iterator[None]:
    """Within, no thread is held up for long by the work of another."""
    old_s = sys.getswitchinterval()
    sys.setswitchinterval(TURN_S)
    try:
        yield
    finally:
        sys.setswitchinterval(old_s)


@contextlib.contextmanager
def enough_threads() -> Iterator[None]:
    """
    Within, a thread that cannot be started is no bug of ours.

    Raises:
        CannotGoOn: One could not be started.
    """
    try:
        yield
    except RuntimeError as error:
        if "can't start new thread" not in str(error):
            raise
        raise CannotGoOn(_NO_THREADS) from None
