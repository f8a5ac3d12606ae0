"""The files of a directory that no pattern lets in: perhaps the run is among them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from .config import Settings
from .core.globs import PathFilter
from .core.reader import SKIP_BYTES, RunReader
from .shell.scanner import DirectoryScanner

EXAMPLES_MAX = 8
LOOKED_AT_MAX = 200
"""Of so many files the beginning is read: 64 KiB of each."""
_TEXT = frozenset({"", ".json", ".jsonl", ".ndjson", ".log", ".txt", ".out", ".err"})


@dataclass(slots=True)
class Unmatched:
    """
    The files below a directory that `include` and `exclude` leave out.

    Attributes:
        directory: As the caller gave it.
        count: How many there are.
        examples: The first of them.
        metric: Those that begin like a metric file, of the `LOOKED_AT_MAX` first that may.
    """

    directory: str
    count: int = 0
    examples: list[str] = field(default_factory=list)
    metric: list[str] = field(default_factory=list)


def unmatched(directory: str, settings: Settings) -> Unmatched:
    """Look at what the patterns leave out below *directory*."""
    found, looked = Unmatched(directory), 0
    root = os.path.abspath(directory)
    wanted = settings.wanted
    for each in DirectoryScanner([root], PathFilter(["**"])).sweep().values():
        relative = os.path.relpath(each.path, root)
        if wanted(relative):
            continue
        found.count += 1
        if len(found.examples) < EXAMPLES_MAX:
            found.examples.append(relative)
        may = os.path.splitext(relative)[1] in _TEXT and each.size > 0
        if may and looked < LOOKED_AT_MAX:
            looked += 1
            if _begins_like_one(each.path, root, settings):
                found.metric.append(relative)
    return found


def _begins_like_one(path: str, root: str, settings: Settings) -> bool:
    reader = RunReader((), fields=settings.fields.of(path, root))
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:
        return False
    try:
        reader.feed(os.pread(descriptor, SKIP_BYTES, 0))
    except OSError:
        return False
    finally:
        os.close(descriptor)
    reader.end_tail()
    return reader.is_metric
