"""Threads that die, and threads that cannot begin."""

from __future__ import annotations

import sys
import threading

import pytest

from tailwatch.errors import CannotGoOn
from tailwatch.threads import TURN_S, enough_threads, short_turns, thread_deaths
from tests.shell.helpers import MemoryLog


def die(error: BaseException) -> None:
    """A thread dies of *error*."""

    def target() -> None:
        raise error

    thread = threading.Thread(target=target, name="one")
    thread.start()
    thread.join()


def test_a_thread_that_dies_is_one_line() -> None:
    """Its name and the kind of error are said, nothing of the text, and all is as before then."""
    log, before = MemoryLog(), (threading.excepthook, sys.unraisablehook)
    with thread_deaths(log, lambda: pytest.fail("there was memory")):
        die(ValueError("a secret"))

    assert log.lines == [("error", "thread_died", {"thread": "one", "error": "ValueError"})]
    assert before == (threading.excepthook, sys.unraisablehook)


def test_a_thread_that_dies_of_memory_ends_all() -> None:
    """Without memory nothing can be relied on any more: the process is to end."""
    asked: list[str] = []
    with thread_deaths(MemoryLog(), lambda: asked.append("end")):
        die(MemoryError())

    assert asked == ["end"]


def test_a_thread_that_cannot_start_is_said() -> None:
    """Of all errors at runtime, this one is the host's and not ours."""
    with pytest.raises(CannotGoOn, match="no thread can be started"), enough_threads():
        raise RuntimeError("can't start new thread")
    with pytest.raises(RuntimeError, match="else"), enough_threads():
        raise RuntimeError("something else")


def test_turns_are_short_while_it_runs() -> None:
    """A daemon's threads take shorter turns; what embeds it gets its own back."""
    before_s = sys.getswitchinterval()
    with short_turns():
        assert sys.getswitchinterval() == pytest.approx(TURN_S)
    assert sys.getswitchinterval() == before_s
