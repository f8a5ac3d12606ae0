"""Directories: which files match, below which root."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field

from ..core.globs import PathFilter
from ..messages import FoundFile

QUIET_S = 3600.0
QUIET_SWEEPS = 6
"""A file that was not written to for an hour is looked at in every sixth sweep."""
CALM_S = 120.0
CALM_SWEEPS = 12
"""A directory of which no event told, and in which nothing was written for two minutes, is looked
at in every twelfth sweep, where its events come at all."""
STEADY_S = 2.0
"""So long after its last change a directory's time tells of every change: clocks are coarse."""


@dataclass(slots=True)
class _Directory:
    """
    A directory as it was when it was last looked at.

    Attributes:
        mtime_ns: When something came or went in it; None if that was too short ago to tell.
        files: Its matching files, by path.
        below: The directories in it -> their inodes.
        written_s: When it or one of its files was last written to, Unix seconds.
    """

    mtime_ns: int | None = None
    files: dict[str, FoundFile] = field(default_factory=dict)
    below: dict[str, int] = field(default_factory=dict)
    written_s: float = 0.0


@dataclass(slots=True)
class _Tree:
    """
    All that is below one root.

    Attributes:
        directories: By path.
        files: The matching files of all of them, by path.
        restless: Directories that are looked at in each sweep -> when they were last written
            to, or an event was told of, Unix seconds.
        turns: All directories, in the groups that take turns in being looked at.
        inodes: Those of all directories.
    """

    directories: dict[str, _Directory] = field(default_factory=dict)
    files: dict[str, FoundFile] = field(default_factory=dict)
    restless: dict[str, float] = field(default_factory=dict)
    turns: list[set[str]] = field(default_factory=lambda: [set() for _ in range(CALM_SWEEPS)])
    inodes: Set[int] = frozenset()

    def put(self, path: str, now: _Directory) -> None:
        """The directory *path* is like this now."""
        old = self.directories.get(path)
        if old is now:
            return
        if old is None:
            self.turns[len(self.directories) % CALM_SWEEPS].add(path)
        else:
            for name in old.files.keys() - now.files.keys():
                self.files.pop(name, None)
            for name, inode in old.below.items():
                if now.below.get(name) != inode:
                    self.remove(name)
        self.directories[path] = now
        self.files.update(now.files)
        if old is None or old.below != now.below:
            self.inodes = frozenset()

    def remove(self, path: str) -> None:
        """The directory *path* is there no more, or is another one."""
        paths = [path]
        while paths:
            path = paths.pop()
            gone = self.directories.pop(path, _Directory())
            self.restless.pop(path, None)
            for turn in self.turns:
                turn.discard(path)
            for name in gone.files:
                self.files.pop(name, None)
            paths.extend(gone.below)

    def nearest(self, path: str, root: str) -> str:
        """The directory *path*, or the nearest above it that is known."""
        while path not in self.directories and len(path) > len(root):
            path = os.path.dirname(path)
        return path


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
        self._sweeps = 0
        self._trees: dict[str, _Tree] = {}
        self._stirred: set[str] = set()
        self._told: set[str] = set()

    def roots(self) -> list[str]:
        """The paths to watch, as absolute paths."""
        return list(self._roots)

    def missing(self) -> set[str]:
        """Roots that could not be read at the last sweep."""
        return set(self._missing)

    def directories(self) -> Mapping[str, Set[int]]:
        """Root -> the inodes of all directories that the last sweep saw below it."""
        return {root: tree.inodes for root, tree in self._trees.items() if tree.directories}

    def sweep(self, trusted: Set[str] = frozenset()) -> dict[str, FoundFile]:
        """
        Every file that matches, under every root, by path.

        Below *trusted* roots all events were told by `stir`: what is calm there is given as it
        was, the very same object, and is looked at less often.
        """
        self._missing = set()
        self._sweeps += 1
        self._told, self._stirred = self._stirred, set()
        now_s = time.time()
        there: dict[str, FoundFile] = {}
        for root in self._roots:
            old = self._trees.pop(root, _Tree())
            try:
                tree = self._under(root, old, root in trusted, now_s)
            except OSError:
                self._missing.add(root)
                continue
            self._trees[root] = tree
            # Of two roots with the same file the first counts.
            more = {k: v for k, v in tree.files.items() if k not in there} if there else tree.files
            there.update(more)
        return there

    def stir(self, path: str) -> None:
        """There was an event at *path*: the next sweep looks at it, and at what is around it."""
        self._stirred.update((path, os.path.dirname(path)))

    def find(self, path: str) -> Iterator[FoundFile]:
        """The matching files at or below *path*, which is a hint from the watcher."""
        for root in self._roots:
            below = path == root or path.startswith(root.rstrip("/") + "/")
            # A file may be no match below one root and be named itself as another.
            if below and (found := list(self._at(path, root))):
                yield from found
                return

    def _under(self, root: str, old: _Tree, trusted: bool, now_s: float) -> _Tree:
        info = os.stat(root)
        if not stat.S_ISDIR(info.st_mode):
            return _Tree(files={root: _found(root, None, info)})
        os.scandir(root).close()
        tree, fresh, due = _Tree(), {root}, [root]
        if trusted and old.directories:
            tree, fresh = old, set()
            due = self._due(root, tree, now_s)
        while due:
            path = due.pop()
            if path not in tree.directories and path not in fresh:
                continue  # It went with the directory that it was in.
            rare = trusted and path not in tree.restless
            now = self._look(path, root, old.directories.get(path), now_s, trusted, rare)
            tree.put(path, now)
            below = [each for each in now.below if each not in tree.directories]
            fresh.update(below)
            due.extend(reversed(below))
            if now_s - now.written_s <= CALM_S:
                tree.restless[path] = max(now.written_s, tree.restless.get(path, 0.0))
        if not tree.inodes:
            below_it = (each.below.values() for each in tree.directories.values())
            tree.inodes = frozenset([info.st_ino]).union(*below_it)
        return tree

    def _due(self, root: str, tree: _Tree, now_s: float) -> list[str]:
        """Which known directories to look at in this sweep, the last first."""
        inside = root.rstrip("/") + "/"
        for path in self._told:
            if path == root or path.startswith(inside):
                tree.restless[tree.nearest(path, root)] = now_s
        tree.restless = {k: s for k, s in tree.restless.items() if now_s - s <= CALM_S}
        return sorted(tree.turns[self._sweeps % CALM_SWEEPS].union(tree.restless), reverse=True)

    def _at(self, path: str, root: str) -> Iterator[FoundFile]:
        try:
            info = os.stat(path) if path == root else os.lstat(path)
        except OSError:
            return
        if stat.S_ISDIR(info.st_mode):
            stack = [path]
            while stack:
                directory = self._look(stack.pop(), root)
                yield from directory.files.values()
                stack.extend(reversed(directory.below))
        elif path == root:
            yield _found(path, None, info)
        elif self._wanted(os.path.relpath(path, root)) and stat.S_ISREG(info.st_mode):
            yield _found(path, root, info)

    def _look(
        self,
        path: str,
        root: str,
        known: _Directory | None = None,
        now_s: float = 0.0,
        trusted: bool = False,
        rare: bool = False,
    ) -> _Directory:
        """What is in the directory *path* now; *known*: what was; *rare*: not in each sweep."""
        known = known or _Directory()
        directory = _Directory()
        try:
            info = os.stat(path)
            if trusted and known.mtime_ns == info.st_mtime_ns:
                return self._look_again(known, now_s, rare)
            with os.scandir(path) as entries:
                ordered = sorted(entries, key=_name)
        except OSError:
            return directory  # Unreadable or just removed: the others are not its business.
        directory.written_s = info.st_mtime
        if now_s - info.st_mtime > STEADY_S:
            directory.mtime_ns = info.st_mtime_ns
        prefix = len(root.rstrip("/")) + 1
        for entry in ordered:
            try:
                if entry.is_dir(follow_symlinks=False):
                    if entry.path != self._own:
                        directory.below[entry.path] = entry.inode()
                elif self._wanted(entry.path[prefix:]) and entry.is_file(follow_symlinks=False):
                    old = known.files.get(entry.path)
                    same = old is not None and old.inode[1] == entry.inode()
                    if old is None or not same or rare or not self._waits(old, now_s):
                        found = _found(entry.path, root, entry.stat(follow_symlinks=False))
                        old = found if found != old else old
                    directory.files[entry.path] = old
                    directory.written_s = max(directory.written_s, old.mtime_s)
            except OSError:
                continue
        return directory

    def _look_again(self, known: _Directory, now_s: float, rare: bool) -> _Directory:
        """The same where no name came or went; *known* itself if its files are as they were."""
        changed = {}
        for path, old in known.files.items():
            if rare or not self._waits(old, now_s):
                info = os.lstat(path)
                seen = (info.st_size, info.st_mtime_ns, info.st_ino)
                place = (info.st_dev, info.st_nlink)
                if seen != old.changed or place != (old.inode[0], old.links):
                    changed[path] = _found(path, old.root, info)
        if not changed:
            return known
        written_s = max(each.mtime_s for each in changed.values())
        return _Directory(
            known.mtime_ns, known.files | changed, known.below, max(written_s, known.written_s)
        )

    def _waits(self, old: FoundFile, now_s: float) -> bool:
        """Whether a file that has been quiet for long need not be looked at in this sweep."""
        due = (self._sweeps + old.inode[1]) % QUIET_SWEEPS == 0
        return not due and now_s - old.mtime_s > QUIET_S and old.path not in self._told


def _name(entry: os.DirEntry[str]) -> str:
    return entry.name


def _found(path: str, root: str | None, info: os.stat_result) -> FoundFile:
    changed = (info.st_size, info.st_mtime_ns, info.st_ino)
    inode = (info.st_dev, info.st_ino)
    return FoundFile(path, root, info.st_size, info.st_mtime, inode, changed, info.st_nlink)
