"""Counts that are the same on every machine: calls, instructions, blocks, SQL statements."""

from __future__ import annotations

import contextlib
import gc
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any


def calls(work: Callable[[], object]) -> Counter[str]:
    """
    Every call that *work* makes, of Python functions and of those in C, by name.

    A generator that goes on counts as a call. Types that are called (`int(...)`) and
    operators are none, unless they are written in Python.
    """
    found: Counter[str] = Counter()

    def profile(frame: FrameType, event: str, arg: Any) -> None:
        if event == "call":
            found[frame.f_code.co_qualname] += 1
        elif event == "c_call":
            found[arg.__qualname__] += 1

    before = sys.getprofile()
    with no_collector():
        sys.setprofile(profile)
        try:
            work()
        finally:
            sys.setprofile(before)
    del found[sys.setprofile.__qualname__]
    return found


def instructions(work: Callable[[], object]) -> Counter[str]:
    """The bytecode instructions that *work* goes through, by function."""
    found: Counter[str] = Counter()

    def step(frame: FrameType, event: str, _: Any) -> Any:
        if event == "opcode":
            found[frame.f_code.co_qualname] += 1
        return step

    def enter(frame: FrameType, _event: str, _: Any) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return step

    before = sys.gettrace()
    with no_collector():
        try:
            # CPython 3.12 gives opcodes only after a frame has asked for them, from the next call on.
            for each in (lambda: None, work):
                found.clear()
                sys.settrace(enter)
                each()
        finally:
            sys.settrace(before)
    return found


@contextlib.contextmanager
def no_collector() -> Iterator[None]:
    """No collection of garbage: it comes when it likes, and may have callbacks."""
    gc.collect()
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextlib.contextmanager
def statements(connection: sqlite3.Connection) -> Iterator[list[str]]:
    """The SQL statements that are run in the block, once for each time."""
    found: list[str] = []
    connection.set_trace_callback(found.append)
    try:
        yield found
    finally:
        connection.set_trace_callback(None)


def most(counts: Counter[str], per: float = 1) -> str:
    """The greatest of the counts, for a message; each divided by *per*."""
    return ", ".join(f"{name} {count / per:.2f}" for name, count in counts.most_common(12))
