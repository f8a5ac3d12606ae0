"""Whoever looks on while a file is read."""

from __future__ import annotations

from typing import Any, Protocol

from .lines import Line
from .rows import Row


class Observer(Protocol):
    """Whoever wants to know more of a file than its checks do: `tailwatch inspect`."""

    def line(self, line: Line) -> None:
        """The next line, before anything is made of it."""

    def bad_line(self, reason: str) -> None:
        """The line was, or ended, something that is no row."""

    def row(self, record: dict[str, Any], row: Row) -> None:
        """What was made of an object of the line."""
