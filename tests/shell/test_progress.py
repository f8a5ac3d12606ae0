"""The progress bar: for people only, when there is time to see it, and in nobody's way."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import click
import pytest

from tailwatch.shell.progress import BYTES_MIN, Bar, progress
from tests.e2e.daemon import tailwatch
from tests.terminals import Terminal


class Tty(io.StringIO):
    """A terminal that remembers."""

    def isatty(self) -> bool:
        return True


def drawn(stream: io.StringIO, total: int, *sizes: int, seconds: float = 1.0) -> str:
    """What is seen when so many bytes are read, one part each so many seconds."""
    now_s = 100.0
    bar = Bar(total, stream, lambda: now_s)
    for size in sizes:
        now_s += seconds
        bar.advance(size)
    return stream.getvalue()


def test_it_tells_rate_and_time_left() -> None:
    """Of all bytes since the beginning."""
    last = drawn(Tty(), 200_000_000, 1_000_000, 1_000_000, 48_000_000).split("\r")[-1]

    assert last == "[#######.......................] 50.0 of 200.0 MB, 16.7 MB/s, 0:09 left"


def test_a_file_that_grows_is_never_more_than_read() -> None:
    """More bytes than were there at first are all of them."""
    assert drawn(Tty(), 1_000_000, 3_000_000).endswith("] 1.0 of 1.0 MB, 1.0 MB/s, 0:00 left")


def test_it_is_not_drawn_at_every_chunk() -> None:
    """Ten times a second are enough."""
    assert drawn(Tty(), 10**9, *[1000] * 100, seconds=0.015625).count("\r") == 14


@pytest.mark.parametrize(
    ("terminal", "total", "seen"),
    [(True, BYTES_MIN, True), (True, BYTES_MIN - 1, False), (False, BYTES_MIN, False)],
)
def test_who_sees_it(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, total: int, seen: bool
) -> None:
    """A terminal sees long work, and nothing of it afterwards; a file sees nothing."""
    stream = Tty() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr("tailwatch.shell.progress.REDRAW_S", 0.0)
    with progress(total) as bar:
        bar.advance(total)
    text = stream.getvalue()

    assert seen == ("0:00 left" in text)
    assert not seen or on_screen(text) == [""]


def on_screen(text: str) -> list[str]:
    """What a terminal shows that was sent this: a carriage return writes over."""
    lines = []
    for line in text.split("\n"):
        shown = ""
        for part in line.split("\r"):
            shown = part + shown[len(part) :]
        lines.append(shown.rstrip())
    return lines


@pytest.mark.parametrize("env", [{}, {"NO_COLOR": "1"}])
def test_results_are_not_drawn_into(tmp_path: Path, env: dict[str, str]) -> None:
    """At a terminal `replay` shows its bar, and its lines as if there were none."""
    file = tmp_path / "m.jsonl"
    rows = [
        f'{{"step": {n}, "loss": {"NaN" if n % 2500 == 0 else 2.5}, "pad": "{"x" * 400}"}}\n'
        for n in range(40_000)
    ]
    file.write_text("".join(rows))
    pipe = tailwatch("replay", "--checks", "seed", str(file))
    with Terminal("replay", "--checks", "seed", str(file), columns=200, **env) as terminal:
        code, seen = terminal.end()

    assert (code, pipe.stderr) == (0, "")
    assert " MB/s, 0:" in seen
    assert ("\x1b" in seen) == (not env)
    assert len(pipe.stdout.splitlines()) > 20
    assert on_screen(click.unstyle(seen)) == pipe.stdout.split("\n")
