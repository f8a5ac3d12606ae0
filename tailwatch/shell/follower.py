"""Files: open one, see whether it is the one we knew, read from it."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import stat
from collections import OrderedDict
from collections.abc import Callable, Sequence

from ..content import OPEN_FLAGS, begins_with, bytes_before, compare, opened, pass_common, unzipped
from ..core.check import RunConfig
from ..core.cursor import Cursor, FileSeen, Identity
from ..messages import Unreadable
from ..run_configs import find_run_config

SIBLINGS_MAX = 32
_LEADS_OUT = "a symbolic link leads out of the watched directories"

_IsNoCopy = Callable[[FileSeen, int], bool]


class LocalFile:
    """An open regular file. See `ports.OpenFile`."""

    def __init__(self, descriptor: int, seen: FileSeen, *, kept: bool) -> None:
        self._descriptor, self._kept, self.seen = descriptor, kept, seen

    def read(self, offset: int, size: int) -> bytes:
        """At most *size* bytes at *offset*."""
        return os.pread(self._descriptor, size, offset)

    def hole(self, offset: int) -> int:
        """How many bytes at *offset* were never written, and read as NULs."""
        try:
            data = os.lseek(self._descriptor, offset, os.SEEK_DATA)
        except OSError as error:  # ENXIO: nothing but a hole up to the end.
            return max(0, self.seen.stat.size - offset) if error.errno == errno.ENXIO else 0
        return max(0, min(data, self.seen.stat.size) - offset)

    def holds(self, marker: bytes, offset: int) -> bool:
        """Whether the bytes before *offset* are still those of *marker*."""
        return bytes_before(self._descriptor, offset) == marker

    def close(self) -> None:
        """Let go of it; the follower may keep it open."""
        if not self._kept:
            os.close(self._descriptor)


class LocalFollower:
    """
    Regular files of this host's file systems.

    Files that are being written to are kept open, so that what was renamed or
    deleted while we were behind can be read to its end.

    Args:
        remote: Whether a path is on a network file system.
        open_max: At most so many files are kept open; the ones longest unread go first.
        roots: Where files may lie, whatever link leads to them; empty: anywhere.
    """

    def __init__(
        self,
        remote: Callable[[str], bool] = lambda _: False,
        open_max: int = 256,
        roots: Sequence[str] = (),
    ):
        self._remote, self._roots = remote, roots
        # Half of what the process may have open: the rest is for all else.
        self._open_max = min(open_max, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
        self._kept: OrderedDict[str, int] = OrderedDict()
        self._left: dict[str, int] = {}

    def open(self, path: str, cursor: Cursor) -> LocalFile | Unreadable:
        """Open what is at *path* now and compare it with what was read of it."""
        try:
            info = os.stat(path)
            descriptor = self._descriptor(path, info)
        except (FileNotFoundError, NotADirectoryError):
            return Unreadable("not there", gone=True)
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                self.close()  # What we keep open may be what is missing.
            return Unreadable(error.strerror or "cannot be opened")
        if isinstance(descriptor, Unreadable):
            return descriptor
        try:
            return LocalFile(descriptor, self._compare(path, descriptor, cursor), kept=True)
        except OSError as error:
            self.release(path)
            return Unreadable(error.strerror or "cannot be read")

    def _descriptor(self, path: str, info: os.stat_result) -> int | Unreadable:
        kept = self._kept.get(path)
        if kept is not None:
            held = os.fstat(kept)
            if (held.st_dev, held.st_ino) == (info.st_dev, info.st_ino):
                self._kept.move_to_end(path)
                return kept
        descriptor = os.open(path, OPEN_FLAGS)
        regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        if not regular or not self._inside(path, descriptor):
            os.close(descriptor)
            return Unreadable(_LEADS_OUT if regular else "not a regular file")
        if kept is not None:
            self.let_go(self._left.pop(path, None))
            self._left[path] = self._kept.pop(path)
        self._kept[path] = descriptor
        while len(self._kept) > self._open_max:
            self.let_go(self._kept.popitem(last=False)[1])
        while len(self._left) > self._open_max // 4:
            self.leave(next(iter(self._left)))
        return descriptor

    def _inside(self, path: str, descriptor: int) -> bool:
        """Whether it was asked for: by name, or with the directory that it really is in."""
        if not self._roots or path in self._roots:
            return True
        # Of what is open: what stands at *path* may be another file by now.
        real = os.readlink(f"/proc/self/fd/{descriptor}")
        roots = (os.path.realpath(root).rstrip("/") + "/" for root in self._roots)
        return any(real.startswith(root) for root in roots)

    def _compare(self, path: str, descriptor: int, cursor: Cursor) -> FileSeen:
        return compare(descriptor, os.fstat(descriptor), cursor, self._remote(path))

    def remainder(
        self,
        path: str,
        cursor: Cursor,
        names: Sequence[str],
        others: Sequence[Cursor],
        foreign: Callable[[Identity], bool],
    ) -> LocalFile | None:
        """
        The file that *cursor* was in, now that *path* is another one, or none.

        Found by the descriptor that was kept, under another of its *names*, or as a sibling: what
        rename rotation and copytruncate leave beside the file, gzipped or not. What
        holds more of what was read at one of the *others* is a copy of that one; what
        is *foreign* is another run's.
        """

        def is_no_copy(seen: FileSeen, descriptor: int) -> bool:
            # With nothing evaluated yet, any file begins with all that was.
            return (
                not cursor.offset
                or foreign(seen.stat.identity)
                or any(
                    each.offset > cursor.offset and begins_with(descriptor, seen.stat.size, each)
                    for each in others
                )
            )

        for kept in (self._left.get(path), self._kept.get(path)):
            if kept is None:
                continue
            if found := self._continues(path, kept, cursor, is_no_copy, kept=True):
                return found
        candidates = _siblings(path, cursor)
        beside = [sibling for name in names for sibling in _siblings(name, cursor)]
        candidates = [*reversed(names), *candidates, *beside]
        for candidate in dict.fromkeys(candidates):
            with contextlib.suppress(OSError):
                if found := self._candidate(path, candidate, cursor, is_no_copy):
                    return found
        return None

    def _candidate(
        self, path: str, candidate: str, cursor: Cursor, is_no_copy: _IsNoCopy
    ) -> LocalFile | None:
        packed = candidate.endswith(".gz")
        descriptor = unzipped(candidate, cursor) if packed else os.open(candidate, OPEN_FLAGS)
        if descriptor is None:
            return None
        found = None
        try:
            found = self._continues(path, descriptor, cursor, is_no_copy, kept=packed)
        finally:  # It may raise, and then nobody else would close it.
            if found is None:
                os.close(descriptor)
        if packed and found is not None:  # Not to be unzipped for each read.
            self.leave(path)
            self._left[path] = descriptor
        return found

    def is_same(self, path: str, cursor: Cursor) -> bool:
        """Whether what is at *path* is the very file that *cursor* was in."""
        with contextlib.suppress(OSError), opened(path) as descriptor:
            seen = self._compare(path, descriptor, cursor)
            return seen.stat.identity == cursor.identity and seen.offset_same
        return False

    def pass_known(
        self, path: str, cursor: Cursor, others: Sequence[Cursor], beside: str
    ) -> Cursor:
        """
        *cursor*, behind what was or will be read of a copy of its file at *path*.

        That is what was read at one of the *others*, and what stands in the file at
        *beside* too, up to where the two differ.
        """
        with contextlib.suppress(OSError), opened(path) as descriptor:
            size = os.fstat(descriptor).st_size
            for each in others:
                if each.offset > cursor.offset and begins_with(descriptor, size, each):
                    cursor = each.taken_over(cursor.identity)
            with contextlib.suppress(OSError), opened(beside) as copy:
                if begins_with(copy, os.fstat(copy).st_size, cursor):
                    cursor = cursor.taken_over(cursor.identity)
                    pass_common(descriptor, copy, cursor)
        return cursor

    def _continues(
        self, path: str, descriptor: int, cursor: Cursor, is_no_copy: _IsNoCopy, *, kept: bool
    ) -> LocalFile | None:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode) or info.st_size < cursor.offset:
            return None
        seen = self._compare(path, descriptor, cursor)
        if not (seen.received_same or seen.offset_same):
            return None
        if seen.stat.identity != cursor.identity and is_no_copy(seen, descriptor):
            return None
        return LocalFile(descriptor, seen, kept=kept)

    def inode(self, path: str) -> tuple[int, int] | None:
        """Device and inode of what is at *path*; None if nothing is."""
        with contextlib.suppress(OSError):
            info = os.stat(path)
            return info.st_dev, info.st_ino
        return None

    def leave(self, path: str) -> None:
        """Keep the file that was at *path* before open no longer."""
        self.let_go(self._left.pop(path, None))

    def release(self, path: str) -> None:
        """Keep *path* open no longer."""
        for each in (self._left, self._kept):
            self.let_go(each.pop(path, None))

    def close(self) -> None:
        """Keep nothing open."""
        for path in [*self._kept, *self._left]:
            self.release(path)

    @staticmethod
    def let_go(descriptor: int | None) -> None:
        """Close a descriptor, if there is one."""
        if descriptor is not None:
            os.close(descriptor)

    def run_config(self, path: str) -> RunConfig | None:
        """The configuration beside the metric file *path*, if there is a readable one."""
        return find_run_config(path)


def _siblings(path: str, cursor: Cursor) -> list[str]:
    """Files beside *path* whose names say that they may be what became of it, newest first."""
    directory, base = os.path.split(path)
    stem = os.path.splitext(base)[0]
    found = []
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            named = entry.name.startswith((f"{base}.", f"{base}-", f"{stem}.", f"{stem}-"))
            same = entry.inode() == cursor.identity[1]
            if entry.name == base or not (named or same):
                continue
            with contextlib.suppress(OSError):
                info = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(info.st_mode):
                    found.append((not same, -info.st_mtime_ns, entry.path))
    return [path for _, _, path in sorted(found)[:SIBLINGS_MAX]]
