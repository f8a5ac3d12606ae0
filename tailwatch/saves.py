"""The saves of a trainer's state, read as one file that only grows."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from .core.cursor import Cursor, FileSeen, FileStat
from .core.names import escape
from .core.trail import SaveEnd, Trail
from .core.trainer_state import (
    DOCUMENT_BYTES_MAX,
    OF_CONTENT,
    SAVE_PREFIX,
    STATE_NAME,
    TOO_LONG,
    Unfit,
    state_lines,
)
from .messages import Unreadable

UNFINISHED_S = 60.0
"""A document that is not whole, and has not changed for so long, will not become so."""
LINES_KEPT_BYTES = 64 * 1024 * 1024

_Key = tuple[str, int, int, int]


class Save(NamedTuple):
    """One save. *name*: its directory, relative to the run's. Sizes are of the document."""

    name: str
    path: str
    inode: int
    mtime_ns: int
    size: int

    @property
    def key(self) -> _Key:
        """Differs from what it was if the save was written again."""
        return self.path, self.inode, self.mtime_ns, self.size

    @property
    def order(self) -> tuple[int, int, str]:
        """By time; of the same moment, by the step in the name, the run's own file last."""
        return self.mtime_ns, _step(self.name), self.name

    def is_before(self, trail: Trail) -> bool:
        """Whether it was passed long ago; a clock that was set back hides no later step."""
        return self.mtime_ns < trail.written_ns and _step(self.name) <= _step(trail.name)


def _step(name: str) -> int:
    step = name.removeprefix(SAVE_PREFIX)
    if name and step.isascii() and step.isdigit() and len(step) < 20:
        return int(step)
    return 0 if name else 1 << 80


class SaveStream:
    """What there is to read of one save, at the offsets of the run's stream. An `OpenFile`."""

    def __init__(self, seen: FileSeen, lines: bytes) -> None:
        self.seen, self._lines = seen, lines

    def read(self, offset: int, size: int) -> bytes:
        """At most *size* bytes at *offset*."""
        assert self.seen.trail is not None
        start = self.seen.trail.at(offset)
        return self._lines[start : start + size]

    def hole(self, offset: int) -> int:
        """Lines have no holes."""
        return 0

    def holds(self, marker: bytes, offset: int) -> bool:
        """Nobody changes lines in memory."""
        return True

    def close(self) -> None:
        """There is nothing to let go of."""


class Saves:
    """
    The saves of runs, by the path of the run's state.

    Args:
        wanted: Which of the files, by absolute path.
    """

    def __init__(self, wanted: Callable[[str], bool] = lambda _: True) -> None:
        self._wanted = wanted
        self._known: dict[str, dict[_Key, SaveEnd | Unfit]] = {}
        # The lines of saves that are not yet read to their end.
        self._lines: OrderedDict[_Key, bytes] = OrderedDict()

    def open(self, path: str, cursor: Cursor) -> SaveStream | Unreadable:
        """The first save, in the order in which they were written, that has more to read."""
        saves = self._list(path)
        if not saves:
            return Unreadable("not there", gone=True)
        trail, trouble = cursor.trail or Trail(), None
        for save in saves:
            if save.is_before(trail):
                continue
            end = self._end(path, save)
            if isinstance(end, SaveEnd) and trail.done(end, cursor.offset):
                self._lines.pop(save.key, None)
                continue
            lines = end if isinstance(end, Unfit) else self._read(save)
            if isinstance(lines, Unfit):
                trouble = _unreadable(save, lines)
                continue
            end = SaveEnd.of(lines)
            known, goes_on = self._compare(saves, save, lines, trail, cursor.offset)
            if known < len(lines):
                if save.mtime_ns > trail.until_ns:
                    trail = trail._replace(until_ns=0)
                trail = trail.onto(save.name, save.mtime_ns, end, known, cursor.offset)
                return _stream(path, lines, trail, cursor, goes_on=goes_on)
            trail = trail.with_end(end)
        if trouble is not None:
            return trouble
        return _stream(path, b"", trail._replace(until_ns=0), cursor, goes_on=True)

    def continues(self, path: str, cursor: Cursor) -> bool:
        """Whether a save of *path* goes on from where *cursor* is."""
        if cursor.trail is None:
            return False
        with contextlib.suppress(OSError):
            for save in reversed(self._list(path)):
                lines = self._read(save)
                if isinstance(lines, bytes) and cursor.trail.known(lines, cursor.offset)[1]:
                    return True
        return False

    def inode(self, path: str) -> tuple[int, int] | None:
        """What stands for the run of *path* as its inode; None if it has no save."""
        with contextlib.suppress(OSError):
            return directory_inode(path) if self._list(path) else None
        return None

    def unfit(self, path: str) -> dict[str, str]:
        """The saves of *path* that could not be read when they were last looked at, and why."""
        known = self._known.get(path, {})
        return {key[0]: end.reason for key, end in known.items() if isinstance(end, Unfit)}

    def release(self, path: str) -> None:
        """Keep nothing in memory of *path*."""
        for key in self._known.pop(path, {}):
            self._lines.pop(key, None)

    def _list(self, path: str) -> list[Save]:
        """The saves that are there, oldest first."""
        places = {"": path}
        directory, base = os.path.split(path)
        if base == STATE_NAME:
            try:
                with os.scandir(directory) as entries:
                    for entry in entries:
                        if entry.name.startswith(SAVE_PREFIX) and not entry.is_symlink():
                            places[entry.name] = os.path.join(entry.path, STATE_NAME)
            except (FileNotFoundError, NotADirectoryError):
                return []
        saves = []
        for name, place in places.items():
            try:
                # A link is followed if it is what was asked for, and never below a run.
                info = os.lstat(place) if name else os.stat(place)
            except OSError:
                continue  # Not there, or just deleted.
            if stat.S_ISREG(info.st_mode) and self._wanted(place):
                saves.append(Save(name, place, info.st_ino, info.st_mtime_ns, info.st_size))
        known = self._known.get(path, {})
        for gone in known.keys() - {save.key for save in saves}:
            del known[gone]
            self._lines.pop(gone, None)
        return sorted(saves, key=lambda save: save.order)

    def _end(self, path: str, save: Save) -> SaveEnd | Unfit:
        known = self._known.setdefault(path, {})
        if save.key not in known:
            lines = self._read(save)
            if isinstance(lines, Unfit) and lines not in OF_CONTENT:
                return lines  # Permissions may change, and the file not.
            known[save.key] = lines if isinstance(lines, Unfit) else SaveEnd.of(lines)
        return known[save.key]

    def _read(self, save: Save) -> bytes | Unfit:
        """The lines of a save, which are kept for a while."""
        lines: bytes | Unfit
        if save.key in self._lines:
            lines = self._lines.pop(save.key)
        else:
            document = _document(save)
            lines = document if isinstance(document, Unfit) else state_lines(document)
        if isinstance(lines, Unfit):
            return lines
        self._lines[save.key] = lines
        while len(self._lines) > 1 and sum(map(len, self._lines.values())) > LINES_KEPT_BYTES:
            self._lines.popitem(last=False)
        return lines

    def _compare(
        self, saves: list[Save], save: Save, lines: bytes, trail: Trail, offset: int
    ) -> tuple[int, bool]:
        """How much of a save is known, and whether it goes on from the one that was read last."""
        known, goes_on = trail.known(lines, offset)
        if not goes_on and known < len(lines):
            # Saves that are copied may come in any order: it may be older than what was read.
            for last in saves:
                if last.name == trail.name and last is not save:
                    longer = self._read(last)
                    if isinstance(longer, bytes) and longer.startswith(lines):
                        return len(lines), False
        return known, goes_on


def _stream(
    path: str, lines: bytes, trail: Trail, cursor: Cursor, *, goes_on: bool
) -> SaveStream | Unreadable:
    inode = directory_inode(path)
    if inode is None:
        return Unreadable("not there", gone=True)
    more = len(lines) - trail.at(cursor.offset) if lines else 0
    size = cursor.offset + more if more else cursor.received
    info = FileStat(*inode, 0, size, trail.written_ns / 1e9)
    return SaveStream(FileSeen(info, goes_on, True, trail), lines)


def directory_inode(path: str) -> tuple[int, int] | None:
    """The saves come and go: it is their directory that stays."""
    directory, base = os.path.split(path)
    try:
        info = os.stat(directory if base == STATE_NAME else path)
    except OSError:
        return None
    return info.st_dev, info.st_ino


def _document(save: Save) -> bytes | Unfit:
    if save.size > DOCUMENT_BYTES_MAX:
        return TOO_LONG
    try:
        descriptor = os.open(save.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(DOCUMENT_BYTES_MAX + 1)
    except OSError as error:
        return Unfit(error.strerror or "cannot be read")


def _unreadable(save: Save, unfit: Unfit) -> Unreadable:
    reason = f"{escape(save.name)}: {unfit.reason}" if save.name else unfit.reason
    return Unreadable(reason, unfinished=time.time() - save.mtime_ns / 1e9 < UNFINISHED_S)


class StateFile:
    """
    The saves of one run, from the first to the last, as a file to read.

    Args:
        path: The run's, absolute. wanted: See `Saves`.

    Attributes:
        unread: Why saves could not be read, by path.
    """

    def __init__(self, path: str, wanted: Callable[[str], bool]) -> None:
        self._path, self._saves, self._cursor = path, Saves(wanted), Cursor()
        self.unread: dict[str, str] = {}

    def read(self, size: int) -> bytes:
        """The next bytes, at most *size*; none at the end."""
        opened = self._saves.open(self._path, self._cursor)
        self.unread |= self._saves.unfit(self._path)
        if isinstance(opened, Unreadable):
            self.unread = self.unread or {self._path: opened.reason}
            return b""
        self._cursor.trail = opened.seen.trail
        chunk = opened.read(self._cursor.received, size)
        self._cursor.advance(chunk)
        return chunk
