"""Text for a person at a terminal: its colours, and lines that are no wider than it is."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence

import click

from .core.findings import Severity

COLUMNS_USUAL = 80
COLUMNS_MIN = 40
"""A narrower terminal gets lines as for this one."""
_LAST_CELLS_MIN = 24
_FIRST_CELLS_MIN = 12
_CODE = re.compile(r"\x1b\[[\d;]*m")
_WORD = re.compile(r"( *)([^ ]+)")
_PIECE = re.compile(rf"{_CODE.pattern}|.", re.DOTALL)
_VARIATION = "\ufe0f"
_OVER, _BACK = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
"""To the screen that leaves no trace, without a cursor, as editors do; and back."""


def colour() -> bool | None:
    """Whether to write escape codes, as click wants it: None is where the stream is a terminal."""
    unwanted = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return False if unwanted else None


def columns() -> int | None:
    """How many cells a line of the terminal has; None where standard output is none."""
    size = _size()
    return None if size is None else max(size.columns or COLUMNS_USUAL, COLUMNS_MIN)


def _size() -> os.terminal_size | None:
    if not sys.stdout.isatty():
        return None
    with contextlib.suppress(OSError):
        return os.get_terminal_size(sys.stdout.fileno())
    return os.terminal_size((0, 0))


def severity_text(severity: Severity) -> str:
    """The severity in its colour, which `click.echo` drops where nobody sees it."""
    critical = severity is Severity.CRITICAL
    fg = {Severity.CRITICAL: "red", Severity.WARNING: "yellow"}.get(severity)
    return click.style(severity.value, fg=fg, bold=critical or None, dim=fg is None or None)


def cells(text: str) -> int:
    """
    How many cells of a terminal a text takes, codes of colour aside; rather too many.

    >>> cells("loss"), cells("損失"), cells("e\u0301")
    (4, 4, 1)
    """
    text = _CODE.sub("", text)
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(char: str) -> int:
    if char == _VARIATION:  # Makes a sign of one cell a picture of two.
        return 1
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def shortened(text: str, width: int) -> str:
    """
    A text without codes, or its two ends: names of runs differ at both.

    >>> shortened("experiment/metrics", 11), shortened("exp/m", 11)
    ('exp…metrics', 'exp/m')
    """
    if cells(text) <= width:
        return text
    head = (width - 1) // 3
    tail = _beginning(text[::-1], width - 1 - head)[::-1]
    return f"{_beginning(text, head)}…{tail}"


def _beginning(text: str, width: int) -> str:
    used = 0
    for place, char in enumerate(text):
        used += _cells(char)
        if used > width:
            return text[:place]
    return text


def wrapped(line: str, width: int | None, indent: int | None = None) -> list[str]:
    """
    One line as lines of at most *width* cells, broken at spaces, else within a word.

    *indent* is that of the second and later ones; by default two more than the first has.

    >>> wrapped("  a loss of 3", 12)
    ['  a loss of', '    3']
    """
    if width is None or cells(line) <= width:
        return [line]
    if indent is None:
        indent = len(line) - len(line.lstrip(" ")) + 2
    indent = min(indent, max(4, width - _LAST_CELLS_MIN // 2))
    lines, current, used = [], "", 0
    for gap, word in _WORD.findall(line):
        if current and used + len(gap) + cells(word) > width:
            lines.append(current)
            current, used, gap = " " * indent, indent, ""
        current, used = current + gap, used + len(gap)
        for piece in _PIECE.findall(word):
            size = cells(piece)
            if used + size > width:
                lines.append(current)
                current, used = " " * indent, indent
            current, used = current + piece, used + size
    return [*lines, current]


def fitted(text: str, width: int | None) -> str:
    """All lines of a text, each no wider than *width*."""
    return "\n".join(each for line in text.split("\n") for each in wrapped(line, width))


def table(rows: Sequence[Sequence[str]], width: int | None) -> list[str]:
    """
    Columns under each other; in *width* cells the first is shortened and the last is wrapped.

    Each row is one text, which may have several lines.

    >>> table([("RUN", "LOSS", "FINDINGS"), ("a", "0.5", "nothing")], None)
    ['RUN  LOSS  FINDINGS', 'a    0.5   nothing']
    """
    widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    if width is not None:
        left = width - sum(widths[1:-1]) - 2 * (len(widths) - 1)
        last = min(widths[-1], max(_LAST_CELLS_MIN, left - widths[0], left // 2))
        widths[0] = min(widths[0], max(_FIRST_CELLS_MIN, left - last))
    start = sum(widths[:-1]) + 2 * (len(widths) - 1)
    lines = []
    for first, *others in rows:
        row = [shortened(first, widths[0]), *others[:-1]]
        row = [cell + " " * (w - cells(cell)) for cell, w in zip(row, widths, strict=False)]
        line = "  ".join([*row, others[-1]]).rstrip()
        lines.append("\n".join(wrapped(line, width, start)))
    return lines


@contextlib.contextmanager
def screen(write: Callable[[str], object]) -> Iterator[Callable[[str], object]]:
    """
    Give a function that shows a text in the place of the one before.

    At the end the terminal is as it was, with the last text on it. Where no codes
    are wanted, the texts are written one after the other.
    """
    if colour() is False:
        yield lambda text: write(f"{text}\n\n")
        return
    last = ""

    def show(text: str) -> None:
        nonlocal last
        last = text
        size = _size()
        high = size.lines if size else 0
        lines = text.split("\n")
        if 1 < high <= len(lines):
            lines = [*lines[: high - 2], f"... and {len(lines) - high + 2} lines more"]
        write("\x1b[H" + "".join(f"{line}\x1b[K\n" for line in lines) + "\x1b[J")

    write(_OVER)
    try:
        yield show
    finally:
        write(f"{_BACK}{last}\n" if last else _BACK)
