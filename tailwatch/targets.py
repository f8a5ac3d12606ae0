"""The files that the paths of a command mean."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .config import Settings
from .messages import SIZE_UNKNOWN
from .shell.saves import SavesScanner
from .shell.scanner import DirectoryScanner

STDIN = "-"
NO_FILE = "has no file with the name of a metric file; see --include"


class Target(NamedTuple):
    """A file to read. *named*: the caller gave it by name. *root*: the directory searched."""

    path: str
    root: str | None
    size: int
    named: bool


class Trouble(NamedTuple):
    """A path that could not be read, or held nothing to read."""

    path: str
    reason: str


def targets(paths: Sequence[str], settings: Settings) -> Iterator[Target | Trouble]:
    """The files that *paths* mean: themselves, or what matches below a directory."""
    for path in paths:
        if path == STDIN:
            yield Target(STDIN, None, 0, True)
            continue
        try:
            info = os.stat(path)
            if stat.S_ISDIR(info.st_mode):
                os.scandir(path).close()
        except OSError as error:
            yield Trouble(path, error.strerror or "cannot be read")
            continue
        except ValueError:
            yield Trouble(path, "is no path")
            continue
        if not stat.S_ISDIR(info.st_mode):
            yield Target(path, None, info.st_size, True)
            continue
        root, empty = os.path.abspath(path), True
        for found in SavesScanner(DirectoryScanner([root], settings.wanted)).sweep().values():
            empty = False
            shown = os.path.join(path, os.path.relpath(found.path, root))
            yield Target(shown, path, found.size % SIZE_UNKNOWN, False)
        if empty:
            yield Trouble(path, NO_FILE)
