"""A pretty-printed object before the rows: some trainers begin a log with their configuration."""

from __future__ import annotations

from typing import Any

from .decoding import objects

HEADER_BYTES_MAX = 32 * 1024


class Header:
    r"""
    Collect the lines of one object that is spread over many.

    It begins with a line of one brace and ends with another at the line's start.

    >>> header = Header()
    >>> [header.feed(line) for line in (b"{", b'    "lr": 0.1', b"}")]
    [True, True, True]
    >>> header.take()
    {'lr': 0.1}

    Attributes:
        text: What was collected; empty before it began and after it was taken.
        lines: How many lines that was.
    """

    def __init__(self, text: bytes = b"", lines: int = 0) -> None:
        self.text, self.lines = text, lines

    @staticmethod
    def begins(data: bytes) -> bool:
        """Whether a file that begins with this line may begin with a header."""
        return data.rstrip() == b"{"

    @property
    def complete(self) -> bool:
        """Whether its last line has come."""
        return self.text.endswith(b"\n}")

    def feed(self, data: bytes) -> bool:
        """Take in a line; False if it cannot be one of a header."""
        inside = data[:1] in (b" ", b"\t") or data.rstrip() == b"}" or not self.text
        if not inside or len(self.text) + len(data) > HEADER_BYTES_MAX:
            return False
        self.text += (b"\n" if self.text else b"") + data.rstrip()
        self.lines += 1
        return True

    def take(self) -> dict[str, Any] | None:
        """The object that was collected; None if it is none."""
        found, broken = objects(self.text)
        self.text, self.lines = b"", 0
        return found[0] if found and not broken else None
