"""The progress bar: for people only, and only when there is time to see it."""

from __future__ import annotations

import os
import pty
import sys
from typing import TextIO

import pytest

from tailwatch.shell.progress import BYTES_MIN, progress


def drawn(monkeypatch: pytest.MonkeyPatch, stream: TextIO, total: int) -> None:
    """Read *total* bytes with a bar on *stream*."""
    monkeypatch.setattr(sys, "stderr", stream)
    with progress(total) as advance:
        advance(total)


def test_nothing_is_drawn_into_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Where standard error is no terminal there is no bar."""
    path = tmp_path_factory.mktemp("p") / "err"
    with path.open("w") as stream:
        drawn(monkeypatch, stream, BYTES_MIN)

    assert path.read_text() == ""


@pytest.mark.parametrize(("total", "bar"), [(BYTES_MIN, True), (BYTES_MIN - 1, False)])
def test_a_terminal_sees_long_work(monkeypatch: pytest.MonkeyPatch, total: int, bar: bool) -> None:
    """On a terminal long work has a bar, short work none."""
    monkeypatch.setenv("TERM", "xterm")
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as stream:
        drawn(monkeypatch, stream, total)
        stream.write("end")
        stream.flush()
        seen = b""
        while b"end" not in seen:
            seen += os.read(master, 65536)
    os.close(master)

    assert bar == (b"100" in seen or "━".encode() in seen)
