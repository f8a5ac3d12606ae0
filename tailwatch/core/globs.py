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
        elif pattern[i] == "[" and (end := pattern.find("]", i + 2)) > 0:
            body = pattern[i + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            body = f"^{body[1:]}" if body[0] == "!" else body
            out, i = out + f"[{body}]", end + 1
        else:
            out, i = out + re.escape(pattern[i]), i + 1
    return f"(?s:{out})\\Z"


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
