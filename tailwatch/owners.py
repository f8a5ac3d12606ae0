"""Which run a file on disk belongs to: each file is read by one run, whatever its names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .core.cursor import Cursor, Identity
from .messages import FoundFile
from .ports import Follower
from .tracked import Tracked

Inode = tuple[int, int]


@dataclass(slots=True)
class Owners:
    """
    The runs by the files that they were in.

    Args:
        follower: The files.
        files: The followed files, by path.
    """

    follower: Follower
    files: dict[str, Tracked]
    # An inode number is used again after a delete: more than one run may have had it.
    _runs: dict[Inode, list[Tracked]] = field(default_factory=dict)

    def note(self, inode: Inode, run: Tracked) -> None:
        """The run is, or was, in a file of this device and inode."""
        runs = self._runs.setdefault(inode, [])
        if all(each is not run for each in runs):
            runs.append(run)

    def note_all(self, run: Tracked) -> None:
        """The same for all files that the run knows."""
        for cursor in run.cursors():
            self.note(cursor.identity[:2], run)

    def forget(self, ended: Iterable[Tracked]) -> None:
        """These runs are over."""
        over = {id(run) for run in ended}
        # Once for all of them: a whole tree may end at the same time.
        kept = {k: [run for run in v if id(run) not in over] for k, v in self._runs.items()}
        self._runs = {k: v for k, v in kept.items() if v}

    def tidy(self, there: set[Inode]) -> None:
        """Forget that a run had an inode that is not *there*, and which it does not know."""
        for inode in self._runs.keys() - there:
            kept = [
                run
                for run in self._runs[inode]
                if any(cursor.identity[:2] == inode for cursor in run.cursors())
            ]
            if kept:
                self._runs[inode] = kept
            else:
                del self._runs[inode]

    def was_in(self, run: Tracked, found: FoundFile) -> bool:
        """Whether the run, which need not be followed, was in this file."""
        return self._place(run, found.path, found.inode) is not None

    def owner(self, found: FoundFile) -> tuple[Tracked, Cursor | None] | None:
        """
        The run that a file at a path that nobody follows is of already.

        And where it was in it, unless the file is at the run's own path too.
        """
        for run in self._runs.get(found.inode, ()):
            if run.path == found.path:
                continue
            if self.follower.inode(run.path) == found.inode:
                return run, None
            if cursor := self._place(run, found.path, found.inode):
                return run, cursor
        if found.links > 1:  # It may be at a path of which we do not know that it is there.
            for run in self.files.values():
                if self.follower.inode(run.path) == found.inode:
                    return run, None
        return None

    def holder(self, tracked: Tracked, identity: Identity) -> Tracked | None:
        """The run that is or was in the file now at the path of *tracked*; it may be its own."""
        runs = sorted(self._runs.get(identity[:2], ()), key=lambda run: run is not tracked)
        for run in runs:  # Two followed paths may be names of one file: one run reads it.
            reads = run is not tracked and run.cursor.identity == identity
            if reads and self.follower.inode(run.path) == identity[:2]:
                return run
        for run in runs:
            if run.name is not None and self.place(run, tracked.path, identity):
                return run
        return None

    def is_of_another(self, tracked: Tracked, identity: Identity) -> bool:
        """Whether another run is or was in this file."""
        return any(
            cursor.identity == identity
            for run in self._runs.get(identity[:2], ())
            if run is not tracked
            for cursor in run.cursors()
        )

    def place(self, run: Tracked, path: str, identity: Identity) -> Cursor | None:
        """Where the run was in the file at *path*."""
        cursor = self._place(run, path, identity[:2])
        return cursor if cursor is not None and cursor.received else None

    def _place(self, run: Tracked, path: str, inode: Inode) -> Cursor | None:
        for cursor in run.cursors():
            if cursor.identity[:2] == inode and self.follower.is_same(path, cursor):
                return cursor
        return None
