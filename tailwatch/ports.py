"""What the engine needs of the world, as protocols."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Protocol

from .core.check import RunConfig
from .core.cursor import Cursor, FileSeen, Identity
from .core.findings import Edge
from .core.notices import Notice
from .messages import (
    Commit,
    FoundFile,
    Incoming,
    Restored,
    RunRecord,
    Snapshot,
    Unreadable,
)


class Archive(Protocol):
    """What is kept of the runs, for those who show it: on any thread, as of the last commit."""

    def states(self, names: Sequence[str]) -> Mapping[str, dict[str, Any]]:
        """The states of these runs, as far as they are kept and can be read now."""

    def edges(self, name: str) -> Sequence[Edge]:
        """The newest findings of a run that fired or resolved, in the order of time."""


class Clock(Protocol):
    """Wall and monotonic time, in seconds."""

    def wall(self) -> float:
        """Unix seconds."""

    def monotonic(self) -> float:
        """Seconds that never jump."""


class Log(Protocol):
    """Structured log lines: an event's name and its facts."""

    def debug(self, event: str, **facts: Any) -> Any:
        """For those who look for a fault."""

    def info(self, event: str, **facts: Any) -> Any:
        """A change of state."""

    def warning(self, event: str, **facts: Any) -> Any:
        """Something is wrong, and we go on."""

    def error(self, event: str, **facts: Any) -> Any:
        """Something is lost, or will be."""


class OpenFile(Protocol):
    """A file held open, so that what was seen of it and what is read belong together."""

    seen: FileSeen

    def read(self, offset: int, size: int) -> bytes:
        """At most *size* bytes at *offset*. May be short."""

    def hole(self, offset: int) -> int:
        """How many bytes at *offset* were never written, and read as NULs."""

    def holds(self, marker: bytes, offset: int) -> bool:
        """Whether the bytes before *offset* are still those of *marker*."""

    def close(self) -> None:
        """Let go of it."""


class Follower(Protocol):
    """Files, as the engine sees them."""

    def open(self, path: str, cursor: Cursor) -> OpenFile | Unreadable:
        """Open *path* and compare it with what was read of it."""

    def remainder(
        self,
        path: str,
        cursor: Cursor,
        names: Sequence[str],
        others: Sequence[Cursor],
        foreign: Callable[[Identity], bool],
    ) -> OpenFile | None:
        """
        The file that *cursor* was in, now that *path* is another one, or none.

        Not a copy of a file in which one of the *others* was further on, nor a *foreign* one.
        """

    def is_same(self, path: str, cursor: Cursor) -> bool:
        """Whether what is at *path* is the very file that *cursor* was in."""

    def pass_known(
        self, path: str, cursor: Cursor, others: Sequence[Cursor], beside: str
    ) -> Cursor:
        """*cursor*, behind what was or will be read of a copy of its file at *path*."""

    def inode(self, path: str) -> tuple[int, int] | None:
        """Device and inode of what is at *path*; None if nothing is."""

    def leave(self, path: str) -> None:
        """Keep the file that was at *path* before open no longer."""

    def release(self, path: str) -> None:
        """Keep *path* open no longer."""

    def run_config(self, path: str) -> RunConfig | None:
        """The configuration beside the metric file *path*, if there is a readable one."""


class Scanner(Protocol):
    """Directories, as the engine sees them."""

    def roots(self) -> list[str]:
        """The paths to watch, as absolute paths."""

    def sweep(self, trusted: Set[str] = frozenset()) -> Mapping[str, FoundFile]:
        """
        Every file that matches, under every root, by path.

        Below *trusted* roots nothing changed of which `stir` did not tell, as far as we know.
        """

    def stir(self, path: str) -> None:
        """There was an event at *path*."""

    def find(self, path: str) -> Iterable[FoundFile]:
        """The matching files at or below *path*, which is a hint from the watcher."""

    def directories(self) -> Mapping[str, Set[int]]:
        """Root -> the inodes of all directories that the last sweep saw below it."""

    def missing(self) -> set[str]:
        """Roots that could not be read at the last sweep."""


class Watcher(Protocol):
    """The source of hints."""

    def tend(self, missing: set[str], directories: Mapping[str, Set[int]]) -> Mapping[str, str]:
        """Keep watching what can be watched; return root -> one of `WATCH_MODES`."""

    def alive(self) -> bool:
        """Whether everything that should run does."""

    def overflows(self) -> int:
        """How often hints were lost since the start."""

    def restarts(self) -> int:
        """How often watching was begun anew because it had died or fallen silent."""


class Inbox(Protocol):
    """Where hints and messages wait for the engine."""

    def take(self, timeout_s: float) -> Incoming:
        """Wait for at most *timeout_s*; return what came in."""


class Store(Protocol):
    """The state on disk."""

    def load(self) -> Restored:
        """All of it."""

    def recall(self, path: str) -> RunRecord | None:
        """The record of a run that ended in *path*."""

    def named(self, name: str) -> bool:
        """Whether a run that is kept has this name."""

    def commit(self, commit: Commit) -> int:
        """Keep all of *commit* or, with StateWriteError, nothing; how many records it let go."""


class Publisher(Protocol):
    """Where the newest snapshot is left for those who read it."""

    def publish(self, snapshot: Snapshot) -> None:
        """Replace the snapshot."""

    def beat(self, monotonic_s: float) -> None:
        """The engine turns."""


class Courier(Protocol):
    """Sends to one receiver; answers with `Settled`."""

    def post(self, key: str, notices: Sequence[Notice]) -> None:
        """Begin one attempt; returns at once."""


@dataclass(slots=True)
class World:
    """Everything outside that the engine works with."""

    inbox: Inbox
    scanner: Scanner
    follower: Follower
    watcher: Watcher
    store: Store
    publisher: Publisher
    clock: Clock
    log: Log
    writers: Callable[[Iterable[str]], Mapping[str, int]] = lambda _: {}
