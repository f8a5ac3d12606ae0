"""The saves of a trainer's state, to the engine: one file for each run."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set

from ..core.check import RunConfig
from ..core.cursor import Cursor, Identity
from ..core.trainer_state import STATE_NAME, home, is_state
from ..messages import SIZE_UNKNOWN, FoundFile, Unreadable
from ..ports import Follower, OpenFile, Scanner
from ..saves import Saves, directory_inode


def wanted_by(scanner: Scanner) -> Callable[[str], bool]:
    """Whether *scanner* would find a file."""
    return lambda path: any(True for _ in scanner.find(path))


class SavesFollower:
    """
    A follower that reads trainer states by `Saves`, and all else by another follower.

    Args:
        inner: Follows every other file.
        scanner: Says which saves are wanted.
    """

    def __init__(self, inner: Follower, scanner: Scanner) -> None:
        self._inner = inner
        self._saves = Saves(wanted_by(scanner))

    def open(self, path: str, cursor: Cursor) -> OpenFile | Unreadable:
        """Open *path* and compare it with what was read of it."""
        return (self._saves if is_state(path) else self._inner).open(path, cursor)

    def remainder(
        self,
        path: str,
        cursor: Cursor,
        names: Sequence[str],
        others: Sequence[Cursor],
        foreign: Callable[[Identity], bool],
    ) -> OpenFile | None:
        """The file that *cursor* was in; of saves that are gone, nothing remains."""
        if is_state(path):
            return None
        return self._inner.remainder(path, cursor, names, others, foreign)

    def pass_known(
        self, path: str, cursor: Cursor, others: Sequence[Cursor], beside: str
    ) -> Cursor:
        """*cursor*, behind what was or will be read of a copy of its file at *path*."""
        if is_state(path):
            return cursor
        return self._inner.pass_known(path, cursor, others, beside)

    def is_same(self, path: str, cursor: Cursor) -> bool:
        """Whether what is at *path* is the very file that *cursor* was in."""
        if is_state(path):
            return self._saves.continues(path, cursor)
        return self._inner.is_same(path, cursor)

    def inode(self, path: str) -> tuple[int, int] | None:
        """Device and inode of what is at *path*; None if nothing is."""
        return (self._saves if is_state(path) else self._inner).inode(path)

    def leave(self, path: str) -> None:
        """Keep the file that was at *path* before open no longer."""
        self._inner.leave(path)

    def release(self, path: str) -> None:
        """Keep *path* open no longer."""
        (self._saves if is_state(path) else self._inner).release(path)

    def run_config(self, path: str) -> RunConfig | None:
        """The configuration beside the metric file *path*, if there is a readable one."""
        return self._inner.run_config(path)


class SavesScanner:
    """A scanner that shows all saves of a run as one file, whose inode is their directory's."""

    def __init__(self, inner: Scanner) -> None:
        self._inner = inner

    def roots(self) -> list[str]:
        """The paths to watch, as absolute paths."""
        return self._inner.roots()

    def missing(self) -> set[str]:
        """Roots that could not be read at the last sweep."""
        return self._inner.missing()

    def directories(self) -> Mapping[str, Set[int]]:
        """Root -> the inodes of all directories that the last sweep saw below it."""
        return self._inner.directories()

    def sweep(self, trusted: Set[str] = frozenset()) -> Mapping[str, FoundFile]:
        """Every file that matches, under every root, by path."""
        there = self._inner.sweep(trusted)
        saves = [found for path, found in there.items() if is_state(path)]
        if not saves:
            return there
        others = {path: found for path, found in there.items() if not is_state(path)}
        return others | {found.path: found for found in _gathered(saves)}

    def stir(self, path: str) -> None:
        """There was an event at *path*."""
        self._inner.stir(path)

    def find(self, path: str) -> Iterator[FoundFile]:
        """The matching files at or below *path*, which is a hint from the watcher."""
        return _gathered(self._inner.find(path))


def _gathered(files: Iterable[FoundFile]) -> Iterator[FoundFile]:
    runs: dict[str, list[FoundFile]] = {}
    for found in files:
        if os.path.basename(found.path) == STATE_NAME:
            if (path := home(found.path, found.root)) is not None:
                runs.setdefault(path, []).append(found)
        else:
            yield found._replace(size=SIZE_UNKNOWN) if is_state(found.path) else found
    for path, saves in runs.items():
        if inode := directory_inode(path):
            newest_s = max(each.mtime_s for each in saves)
            newest_ns = max(each.changed[1] for each in saves)
            checksum = zlib.crc32(repr(sorted(each.changed for each in saves)).encode())
            changed = (checksum, newest_ns, len(saves))
            yield FoundFile(path, saves[0].root, SIZE_UNKNOWN, newest_s, inode, changed)
