"""A real terminal for the tests: a pseudo-terminal of a given size, and a command in it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Callable
from types import TracebackType

from tests.e2e.daemon import command, environment
from tests.shell.helpers import wait_until


class Terminal:
    """
    A command at a terminal.

    Attributes:
        process: The command.
    """

    def __init__(
        self, *args: str, columns: int = 80, stdout: int | None = None, **env: str
    ) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.set_blocking(self._ours, False)
        wanted = {"TERM": "xterm-256color", "LANG": "C.UTF-8", **env}
        self.process = subprocess.Popen(
            command(*args), stdin=theirs, stdout=stdout or theirs, stderr=theirs,
            env=_without_wishes() | wanted, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(theirs)
        self._seen = b""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)

    @property
    def seen(self) -> str:
        """All that the terminal was sent until now."""
        # EIO is the end of it on Linux: nobody has the other side.
        with contextlib.suppress(BlockingIOError, OSError):
            while more := os.read(self._ours, 65536):
                self._seen += more
        return self._seen.decode(errors="replace").replace("\r\n", "\n")

    def waits_for(self, condition: Callable[[str], object], what: str) -> None:
        """Wait until what was sent fulfils a condition."""
        wait_until(lambda: condition(self.seen), what)

    def press(self, key: bytes) -> None:
        """Type."""
        os.write(self._ours, key)

    def end(self) -> tuple[int, str]:
        """The exit code and all that was sent."""
        # Read on meanwhile: a terminal whose buffer is full stops who writes.
        wait_until(lambda: (self.seen, self.process.poll() is not None)[1], "the end")
        assert self.process.returncode is not None
        return self.process.returncode, self.seen


def _without_wishes() -> dict[str, str]:
    """The environment without what would decide on colours and widths."""
    decides = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TERM")
    return {name: value for name, value in environment().items() if name not in decides}


def shown(*args: str, **how: int | str) -> str:
    """All that a command writes to a terminal."""
    with Terminal(*args, **how) as terminal:  # type: ignore[arg-type]
        return terminal.end()[1]
