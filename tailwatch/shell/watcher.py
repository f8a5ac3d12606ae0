"""watchdog's observer: hints that a path may have changed, and nothing more."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Protocol

from watchdog.events import (
    DirCreatedEvent,
    DirMovedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch

from .inotify import InotifyWatches

# Without a filter our own reads would come back as events, and wake us for ever.
EVENTS: list[type[FileSystemEvent]] = [
    FileCreatedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileDeletedEvent,
    DirCreatedEvent,
    DirMovedEvent,
]

SILENCES_MAX = 2
"""So many sweeps without hearing our own file, and the watcher is not believed."""


class Hints(Protocol):
    """Where hints go."""

    def hint(self, path: str) -> None:
        """*path* may have changed."""

    def sweep(self) -> None:
        """Hints may have been lost."""


class _Handler(FileSystemEventHandler):
    """Runs on watchdog's thread, which an exception would kill: marks paths, nothing else."""

    def __init__(self, hints: Hints) -> None:
        self._hints = hints

    def dispatch(self, event: FileSystemEvent) -> None:
        for path in (event.src_path, event.dest_path):
            if path:
                self._hints.hint(os.fsdecode(path))


class _OverflowHandler(logging.Handler):
    """watchdog tells of a queue overflow only by a line in its log."""

    def __init__(self, hints: Hints) -> None:
        super().__init__(logging.WARNING)
        self._hints = hints
        self.overflows = 0

    def emit(self, record: logging.LogRecord) -> None:
        if "overflow" in record.getMessage().lower():
            self.overflows += 1
            self._hints.sweep()


class _Canary(FileSystemEventHandler):
    """Hears the file that we touch ourselves."""

    def __init__(self) -> None:
        self.heard = False

    def dispatch(self, event: FileSystemEvent) -> None:
        self.heard = True


@dataclass(slots=True)
class _Watch:
    watch: ObservedWatch
    identity: tuple[int, int]
    gaps: int = 0
    unwatched: Set[int] = frozenset()


class DirectoryWatcher:
    """
    Watches roots, as far as the system lets it.

    A watcher may be alive and yet say nothing: a thread of watchdog's has died, the
    limit of watches was reached below a root, the file system makes no events. So a
    file of our own is touched at each sweep, and must be heard until the next.

    Args:
        roots: Absolute paths; for a file its directory is watched.
        hints: Where hints go.
        own: A directory for the file that is touched, and for nothing else, since it is watched:
            made if it is not there; None: trust what is alive.
        remote: Whether a path is on a network file system, which is not watched at all.
    """

    def __init__(
        self,
        roots: Iterable[str],
        hints: Hints,
        own: str | None = None,
        remote: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._roots = list(roots)
        self._hints = hints
        self._own, self._remote = own, remote
        self._canary = _Canary()
        self._touched = False
        self._silences = 0
        self._restarts = 0
        self._handler = _Handler(hints)
        self._overflow = _OverflowHandler(hints)
        logging.getLogger("watchdog.observers.inotify_c").addHandler(self._overflow)
        self._observer: BaseObserver | None = None
        self._watches: dict[str, _Watch] = {}
        self._inotify = InotifyWatches()

    def overflows(self) -> int:
        """How often the kernel's queue overflowed."""
        return self._overflow.overflows

    def restarts(self) -> int:
        """How often watching was begun anew because it had died or fallen silent."""
        return self._restarts

    def alive(self) -> bool:
        """Whether everything that should run does. Cheap: asked at every turn."""
        observer = self._observer
        if observer is None:
            return True
        running = {emitter.watch for emitter in list(observer.emitters) if emitter.is_alive()}
        return self._alive(observer) and all(
            known.watch in running for known in self._watches.values()
        )

    def tend(
        self, missing: set[str], directories: Mapping[str, Set[int]] | None = None
    ) -> Mapping[str, str]:
        """
        Watch what can be watched; return root -> mode. Called at every sweep.

        Args:
            missing: Roots that are not there.
            directories: Root -> inodes of all directories below it, as the sweep saw them.
        """
        self._listen()
        if self._observer is not None and not self._alive(self._observer):
            self._begin_anew()
        if self._observer is None:
            self._start()
        unwatched = self._inotify.unwatched(directories or {})
        modes = {}
        for root in self._roots:
            if root in missing:
                modes[root] = "missing"
                continue
            events = not self._remote(root) and self._tend(root)
            whole = not directories or self._whole(root, unwatched.get(root, set()))
            # One silence may be a busy machine.
            heard = self._silences < SILENCES_MAX
            modes[root] = "events" if events and whole and heard else "sweep"
        self._touch()
        return modes

    def _listen(self) -> None:
        """Was the last touch heard? After some silence, begin anew, at 2, 4, 8, ... of them."""
        self._silences = self._silences + 1 if self._touched and not self._canary.heard else 0
        if self._silences >= SILENCES_MAX and not self._silences & (self._silences - 1):
            self._begin_anew()

    def _begin_anew(self) -> None:
        self._restarts += 1
        self.stop(join_s=0.1)  # What has died may never end, and the engine waits.

    def _touch(self) -> None:
        self._canary.heard = self._touched = False
        if self._own is None or self._observer is None:
            return
        with contextlib.suppress(OSError):
            # Not truncated: that would be one event more.
            path, flags = os.path.join(self._own, "canary"), os.O_WRONLY | os.O_CREAT
            with open(os.open(path, flags, 0o600), "wb") as file:
                file.write(b".")
            self._touched = True

    def _whole(self, root: str, unwatched: Set[int]) -> bool:
        """Whether every directory below *root* is watched; if not for long, watch it anew."""
        # A new one may be seen before it is watched: a gap is one in two sweeps running.
        known = self._watches.get(root)
        if known is None:
            return not unwatched
        gap, known.unwatched = unwatched & known.unwatched, unwatched
        if not gap:
            known.gaps = 0
            return True
        known.gaps += 1
        if known.gaps >= 2 and not known.gaps & (known.gaps - 1):
            self._watches.pop(root)
            with contextlib.suppress(Exception):
                assert self._observer is not None
                self._observer.unschedule(known.watch)
            if self._tend(root) and root in self._watches:
                self._watches[root].gaps, self._watches[root].unwatched = known.gaps, unwatched
        return False

    @staticmethod
    def _alive(observer: BaseObserver) -> bool:
        # Its reading thread can die of a race of its own, and nothing else would tell.
        reader = getattr(observer, "_inotify_fd", None)
        return observer.is_alive() and (reader is None or reader.is_alive())

    def _start(self) -> None:
        # A race of watchdog's own with directories that are made quickly, and harmless;
        # raised as an error (`python -W error`) it would kill its reading thread unseen.
        warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning)
        self._inotify = InotifyWatches()
        try:
            self._observer = Observer()
            self._observer.start()
            if self._own is not None:
                os.makedirs(self._own, exist_ok=True)
                self._observer.schedule(self._canary, self._own, event_filter=[FileModifiedEvent])
        except (OSError, RuntimeError):  # No inotify, no watch, no thread: the sweep must do.
            self.stop(join_s=0.1)

    def _tend(self, root: str) -> bool:
        if self._observer is None:
            return False
        directory = root if os.path.isdir(root) else os.path.dirname(root)
        try:
            info = os.stat(directory)
        except OSError:
            return False
        identity = (info.st_dev, info.st_ino)
        known = self._watches.get(root)
        if known and known.identity == identity and self._emits(known.watch):
            return True
        try:
            if known:  # Deleted and made anew, or renamed: the old watch is dead.
                self._watches.pop(root)
                self._observer.unschedule(known.watch)
            watch = self._observer.schedule(
                self._handler, directory, recursive=directory == root, event_filter=EVENTS
            )
        except Exception:  # No watch to be had, or watchdog's books are wrong: the sweep must do.
            return False
        self._watches[root] = _Watch(watch, identity)
        self._hints.sweep()  # What came before the watch stood has made no event.
        return True

    def _emits(self, watch: ObservedWatch) -> bool:
        assert self._observer is not None
        return any(e.watch == watch and e.is_alive() for e in list(self._observer.emitters))

    def stop(self, join_s: float = 5.0) -> None:
        """Stop watching; wait so long for it to end."""
        observer, self._observer = self._observer, None
        self._touched = False
        self._watches.clear()
        if observer is None:
            return
        # When one of its threads has died, taking the rest down may raise, and may hang.
        reaper = threading.Thread(target=_take_down, args=(observer,), daemon=True)
        reaper.start()
        reaper.join(join_s)

    def close(self) -> None:
        """Stop for good."""
        self.stop()
        logging.getLogger("watchdog.observers.inotify_c").removeHandler(self._overflow)


def _take_down(observer: BaseObserver) -> None:
    # The last one gives the inotify instance back, of which there are few.
    threads = [*list(observer.emitters), observer, getattr(observer, "_inotify_fd", observer)]
    for each in [*(t.stop for t in threads), *(t.join for t in threads)]:
        with contextlib.suppress(Exception):
            each()
