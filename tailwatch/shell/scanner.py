"""Directories: which files match, below which root."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Set

from ..core.globs import PathFilter
from ..messages import FoundFile

QUIET_S = 3600.0
QUIET_SWEEPS = 6
"""A file that was not written to for an hour is looked at in every sixth sweep."""


class DirectoryScanner:
    """
    Finds the files to follow.

    Symbolic links below a root are not followed: what they point at is found by
    itself if it is below a root, and is none of our business if it is not.

    Args:
        paths: Directories to search, and files that are followed whatever their name.
        wanted: Which paths, relative to a directory.
        own: A directory that is left out wherever it is: where our state is kept.
    """

    def __init__(self, paths: Iterable[str], wanted: PathFilter, own: str = "") -> None:
        self._own = own
        self._roots = [os.path.abspath(path) for path in paths]
        self._wanted = wanted
        self._missing: set[str] = set()
        self._directories: dict[str, set[int]] = {}
        self._sweeps = 0
        self._quiet: dict[str, FoundFile] = {}

    def roots(self) -> list[str]:
        """The paths to watch, as absolute paths."""
        return list(self._roots)

    def missing(self) -> set[str]:
        """Roots that could not be read at the last sweep."""
        return set(self._missing)

    def directories(self) -> Mapping[str, Set[int]]:
        """Root -> the inodes of all directories that the last sweep saw below it."""
        return self._directories

    def sweep(self) -> Iterator[FoundFile]:
        """Every file that matches, under every root, each once."""
        self._missing, self._directories = set(), {}
        self._sweeps += 1
        seen: set[str] = set()
        quiet: dict[str, FoundFile] = {}
        now_s = time.time()
        for root in self._roots:
            for found in self._under(root):
                if found.path not in seen:
                    seen.add(found.path)
                    if now_s - found.mtime_s > QUIET_S:
                        quiet[found.path] = found
                    yield found
        self._quiet = quiet

    def find(self, path: str) -> Iterator[FoundFile]:
        """The matching files at or below *path*, which is a hint from the watcher."""
        for root in self._roots:
            below = path == root or path.startswith(root.rstrip("/") + "/")
            # A file may be no match below one root and be named itself as another.
            if below and (found := list(self._at(path, root))):
                yield from found
                return

    def _under(self, root: str) -> Iterator[FoundFile]:
        try:
            info = os.stat(root)
            if stat.S_ISDIR(info.st_mode):
                os.scandir(root).close()
        except OSError:
            self._missing.add(root)
            return
        if stat.S_ISDIR(info.st_mode):
            below = self._directories[root] = {info.st_ino}
            yield from self._walk(root, root, below)
        else:
            yield _found(root, None, info)

    def _at(self, path: str, root: str) -> Iterator[FoundFile]:
        try:
            info = os.stat(path) if path == root else os.lstat(path)
        except OSError:
            return
        if stat.S_ISDIR(info.st_mode):
            yield from self._walk(path, root, set())
        elif path == root:
            yield _found(path, None, info)
        elif self._wanted(os.path.relpath(path, root)) and stat.S_ISREG(info.st_mode):
            yield _found(path, root, info)

    def _walk(self, top: str, root: str, inodes: set[int]) -> Iterator[FoundFile]:
        stack = [top]
        prefix = len(root.rstrip("/")) + 1
        while stack:
            directory = stack.pop()
            try:
                entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
            except OSError:
                continue  # Unreadable or just removed: the others are not its business.
            below: list[str] = []
            for entry in entries:
                try:
                    if entry.is_dir(follow_symlinks=False):
                        if entry.path == self._own:
                            continue
                        below.append(entry.path)
                        inodes.add(entry.inode())
                    elif self._wanted(entry.path[prefix:]) and entry.is_file(
                        follow_symlinks=False
                    ):
                        yield self._known_quiet(entry) or _found(
                            entry.path, root, entry.stat(follow_symlinks=False)
                        )
                except OSError:
                    continue
            stack.extend(reversed(below))

    def _known_quiet(self, entry: os.DirEntry[str]) -> FoundFile | None:
        """A file that has been quiet for long, as it was: it is looked at less often."""
        known = self._quiet.get(entry.path)
        if known is None or known.inode[1] != entry.inode():
            return None
        return known if (self._sweeps + known.inode[1]) % QUIET_SWEEPS else None


def _found(path: str, root: str | None, info: os.stat_result) -> FoundFile:
    changed = (info.st_size, info.st_mtime_ns, info.st_ino)
    inode = (info.st_dev, info.st_ino)
    return FoundFile(path, root, info.st_size, info.st_mtime, inode, changed, info.st_nlink)
