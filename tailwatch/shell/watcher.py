"""watchdog's observer: hints that a path may have changed, and nothing more."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterable, Mapping
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

# Without a filter our own reads would come back as events, and wake us for ever.
EVENTS: list[type[FileSystemEvent]] = [
    FileCreatedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileDeletedEvent,
    DirCreatedEvent,
    DirMovedEvent,
]


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


@dataclass(slots=True)
class _Watch:
    watch: ObservedWatch
    identity: tuple[int, int]


class DirectoryWatcher:
    """
    Watches roots, as far as the system lets it.

    Args:
        roots: Absolute paths; for a file its directory is watched.
        hints: Where hints go.
    """

    def __init__(self, roots: Iterable[str], hints: Hints) -> None:
        self._roots = list(roots)
        self._hints = hints
        self._handler = _Handler(hints)
        self._overflow = _OverflowHandler(hints)
        logging.getLogger("watchdog.observers.inotify_c").addHandler(self._overflow)
        self._observer: BaseObserver | None = None
        self._watches: dict[str, _Watch] = {}

    def overflows(self) -> int:
        """How often the kernel's queue overflowed."""
        return self._overflow.overflows

    def tend(self, missing: set[str]) -> Mapping[str, str]:
        """Watch what can be watched; return root -> mode. Called at every sweep."""
        if self._observer is not None and not self._alive(self._observer):
            self.stop()
        if self._observer is None:
            self._start()
        return {
            root: "missing" if root in missing else "events" if self._tend(root) else "sweep"
            for root in self._roots
        }

    @staticmethod
    def _alive(observer: BaseObserver) -> bool:
        return observer.is_alive()

    def _start(self) -> None:
        # A race of watchdog's own with directories that are made quickly, and harmless;
        # raised as an error (`python -W error`) it would kill its reading thread unseen.
        warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning)
        try:
            self._observer = Observer()
            self._observer.start()
        except (OSError, RuntimeError):  # No inotify instance, no thread: the sweep must do.
            self._observer = None

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
        except (OSError, KeyError, RuntimeError):
            return False
        self._watches[root] = _Watch(watch, identity)
        self._hints.sweep()  # What came before the watch stood has made no event.
        return True

    def _emits(self, watch: ObservedWatch) -> bool:
        assert self._observer is not None
        return any(e.watch == watch and e.is_alive() for e in list(self._observer.emitters))

    def stop(self) -> None:
        """Stop watching."""
        if self._observer is not None:
            self._observer.stop()
            if self._observer.is_alive():
                self._observer.join(timeout=5)
        self._observer = None
        self._watches.clear()

    def close(self) -> None:
        """Stop for good."""
        self.stop()
        logging.getLogger("watchdog.observers.inotify_c").removeHandler(self._overflow)
