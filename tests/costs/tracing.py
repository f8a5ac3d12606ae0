"""A real daemon under strace, and what it called between two moments."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.deploy.tools import debian_tool
from tests.e2e.daemon import Daemon, command, wait_for

_CALL = re.compile(r"^(\d+) +(\d+\.\d+) (\w+)\((.*)", re.M)
_LEFT_OUT = re.compile(r" +\d+\.\d+(?= \+\+\+)")
WAITS = {"futex"}
"""Left out: how often a lock has to be waited for is a matter of timing."""


class Trace:
    """The system calls of a daemon, each with its thread, its time (Unix seconds) and its text."""

    def __init__(self, path: Path, engine: int) -> None:
        text = path.read_text(errors="replace")
        found = _CALL.findall(text)
        self._calls = [
            (int(tid) == engine, float(at), name, rest) for tid, at, name, rest in found
        ]
        self.ended = f"{engine} +++ exited" in _LEFT_OUT.sub("", text[-4000:])

    def between(self, begin_s: float, end_s: float) -> tuple[Counter[str], Counter[str]]:
        """The calls in this time by name: those of the engine, and those of all other threads."""
        engine, others = Counter[str](), Counter[str]()
        for of_engine, at_s, name, _ in self._calls:
            if begin_s <= at_s < end_s and name not in WAITS:
                (engine if of_engine else others)[name] += 1
        return engine, others

    def times(self, call: str, text: str) -> list[float]:
        """When the engine made a *call* with *text* in its arguments."""
        return [
            at_s
            for ours, at_s, name, rest in self._calls
            if ours and name == call and text in rest
        ]


class Traced:
    """A daemon that is being traced."""

    def __init__(self, daemon: Daemon, path: Path) -> None:
        assert daemon.process is not None
        self.daemon, self._path, self._engine = daemon, path, daemon.process.pid

    def so_far(self) -> Trace:
        """What it called until now; the newest may be missing."""
        return Trace(self._path, self._engine)

    def end(self) -> Trace:
        """Stop the daemon; what it called."""
        assert self.daemon.stop() == 0
        wait_for(lambda: self.so_far().ended, message="strace has written it all")
        return self.so_far()


@contextlib.contextmanager
def traced(directory: Path, *args: str) -> Iterator[Traced]:
    """A running daemon under strace; whatever happens, both are gone afterwards."""
    made, path = Daemon(directory, *args), directory / "trace"
    # As a grandchild, so that the process that we started, and stop, is the daemon.
    strace = [debian_tool("strace", "strace"), "-D", "-f", "-q", "-ttt", "-s", "400"]
    made.command = [*strace, "-o", str(path), *command("run"), *made.args]
    try:
        yield Traced(made.start(), path)
    finally:
        if made.process is not None and made.process.poll() is None:
            made.kill()
