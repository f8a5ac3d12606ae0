"""Glob patterns for paths below a root."""

from __future__ import annotations

import re
from collections.abc import Iterable


def translate(pattern: str) -> str:
    r"""
    Turn a glob into a regular expression over a `/`-separated relative path.

    `**` is any number of directories, `*` and `?` stay within one name, `[...]` is a
    set. A pattern without `/` is for the file's name, wherever it is.

    >>> bool(re.match(translate("**/*.jsonl"), "a/b/m.jsonl"))
    True
    >>> bool(re.match(translate("logs/*.jsonl"), "logs/deep/m.jsonl"))
    False
    """
    if "/" not in pattern:
        pattern = f"**/{pattern}"
    out, i = "", 0
    while i < len(pattern):
        if pattern.startswith("**/", i):
            out, i = out + r"(?:[^/]+/)*", i + 3
        elif pattern.startswith("**", i):
            out, i = out + r".*", i + 2
        elif pattern[i] == "*":
            out, i = out + r"[^/]*", i + 1
        elif pattern[i] == "?":
            out, i = out + r"[^/]", i + 1
        elif pattern[i] == "[" and (end := _set_end(pattern, i)) > 0:
            out, i = out + _set(pattern[i + 1 : end]), end + 1
        else:
            out, i = out + re.escape(pattern[i]), i + 1
    return f"(?s:{out})\\Z"


def _set_end(pattern: str, start: int) -> int:
    # A `]` that comes first is a member of the set.
    return pattern.find("]", start + (3 if pattern.startswith("[!", start) else 2))


def _set(body: str) -> str:
    """The inside of a `[...]` as an expression for one character, which is never a `/`."""
    negated = body.startswith("!")
    out, i = "", int(negated)
    while i < len(body):
        if i + 2 < len(body) and body[i + 1] == "-":
            low, high, i = body[i], body[i + 2], i + 3
            # A range that runs backwards holds nothing; `re` would call it an error.
            out += f"{re.escape(low)}-{re.escape(high)}" if low <= high else ""
        else:
            out, i = out + re.escape(body[i]), i + 1
    if not out:
        return "[^/]" if negated else "(?!)"
    return f"(?!/)[{'^' if negated else ''}{out}]"


class PathFilter:
    """
    Which relative paths are wanted.

    >>> wanted = PathFilter(["**/*.jsonl"], ["**/data/**"])
    >>> wanted("exp1/metrics.jsonl"), wanted("exp1/data/train.jsonl"), wanted("a.txt")
    (True, False, False)
    """

    def __init__(self, include: Iterable[str], exclude: Iterable[str] = ()) -> None:
        self._include = self._compile(include)
        self._exclude = self._compile(exclude)

    @staticmethod
    def _compile(patterns: Iterable[str]) -> re.Pattern[str] | None:
        joined = "|".join(f"(?:{translate(p)})" for p in patterns)
        return re.compile(joined) if joined else None

    def __call__(self, relative: str) -> bool:
        """Whether *relative*, a path below the root, is wanted."""
        if self._include is None or not self._include.match(relative):
            return False
        return self._exclude is None or not self._exclude.match(relative)
