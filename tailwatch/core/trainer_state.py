"""Hugging Face's `trainer_state.json`: one JSON document, as the lines that its rows would be."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

STATE_NAME = "trainer_state.json"
SAVE_PREFIX = "checkpoint-"
# Some versions write a save under this name first, and then rename its directory.
UNFINISHED_PREFIX = "tmp-checkpoint-"
DOCUMENT_BYTES_MAX = 64 * 1024 * 1024
_SPACE = re.compile(r"[ \t\r\n]*")
_decoder = json.JSONDecoder()
_encoder = json.JSONEncoder(separators=(",", ":"), sort_keys=True)


class Unfit(NamedTuple):
    """A document without rows that can be read now, and why."""

    reason: str


NOT_WHOLE = Unfit("not a whole JSON document")
NO_HISTORY = Unfit("no log_history list in it")
TOO_LONG = Unfit(f"longer than {DOCUMENT_BYTES_MAX >> 20} MiB")
OF_CONTENT = (NOT_WHOLE, NO_HISTORY, TOO_LONG)


def is_state(path: str) -> bool:
    """Whether a file of this name is read as a trainer state, not line by line."""
    return path.endswith(STATE_NAME)


def home(path: str, root: str | None) -> str | None:
    """
    The path of the run whose state is saved in *path*, found under *root*.

    A trainer writes it anew into a directory for each save, and at the end perhaps
    beside them. None for a save whose directory is still under its first name.

    >>> home("/runs/a/checkpoint-500/trainer_state.json", "/runs")
    '/runs/a/trainer_state.json'
    >>> home("/runs/a/checkpoint-500/trainer_state.json", "/runs/a/checkpoint-500")
    '/runs/a/checkpoint-500/trainer_state.json'
    """
    directory = posixpath.dirname(path)
    name = posixpath.basename(directory)
    if root is None or directory == root.rstrip("/"):
        return path
    if name.startswith(UNFINISHED_PREFIX):
        return None
    if name.startswith(SAVE_PREFIX):
        return posixpath.join(posixpath.dirname(directory), STATE_NAME)
    return path


def beside(path: str, other: str) -> bool:
    """Whether two files are in the same directory."""
    return posixpath.dirname(path) == posixpath.dirname(other)


def same_training(run: str) -> str:
    """Why a state is not read beside whose saves *run* has the same rows, each as it came."""
    return f"same training as {run}"


def state_lines(data: bytes) -> bytes | Unfit:
    r"""
    One compact JSON line for each entry of `log_history`.

    The same entries always give the same bytes, so that the lines of a later
    save begin with those of an earlier one.

    >>> state_lines(b'{"log_history": [{"loss": NaN, "step": 1}, {"step": 2}], "epoch": 1}')
    b'{"loss":NaN,"step":1}\n{"step":2}\n'
    >>> state_lines(b'{"log_history": [{"loss": 0.5')
    Unfit(reason='not a whole JSON document')
    """
    if len(data) > DOCUMENT_BYTES_MAX:
        return TOO_LONG
    try:
        lines = _log_history(_Walk(data.decode("utf-8-sig")))
    except (ValueError, RecursionError):
        return NOT_WHOLE
    return NO_HISTORY if lines is None else b"".join(lines)


def _log_history(walk: _Walk) -> list[bytes] | None:
    # Entry by entry: the objects of a whole document would take ten times its size.
    lines = None
    walk.expect("{")
    for _ in walk.items("}"):
        key = walk.value()
        walk.expect(":")
        if key == "log_history" and walk.take("["):
            lines = [_line(walk.value()) for _ in walk.items("]")]
        else:
            walk.value()
    if walk.next():
        raise ValueError
    return lines


def _line(entry: Any) -> bytes:
    return _encoder.encode(entry).encode() + b"\n"


class _Walk:
    """A place in a JSON text. What is not as expected is a ValueError."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def next(self) -> str:
        """The next character that is no space; empty at the end."""
        space = _SPACE.match(self._text, self._at)
        assert space is not None
        self._at = space.end()
        return self._text[self._at : self._at + 1]

    def take(self, mark: str) -> bool:
        """Pass *mark* if it comes next."""
        found = self.next() == mark
        self._at += found
        return found

    def expect(self, mark: str) -> None:
        if not self.take(mark):
            raise ValueError

    def value(self) -> Any:
        self.next()
        value, self._at = _decoder.raw_decode(self._text, self._at)
        return value

    def items(self, close: str) -> Iterator[None]:
        """Stop before each item of an object or list, which the caller then takes."""
        if self.take(close):
            return
        yield
        while not self.take(close):
            self.expect(",")
            yield
