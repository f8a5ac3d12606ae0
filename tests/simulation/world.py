"""
A world made of dicts: the engine, whole and real, with nothing outside the process.

Disk, store, receiver and clock are fakes. Every call that would leave the process is
numbered, and the process can be made to die at any of them: what survives is the
disk, the store, and what the receiver has seen.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any

import msgspec

from tailwatch.checks import CHECKS
from tailwatch.core.check import RunConfig
from tailwatch.core.cursor import MARKER_BYTES, Cursor, FileSeen, FileStat, Identity
from tailwatch.core.notices import Notice
from tailwatch.core.outbox import Outcome
from tailwatch.dispatch import Dispatch
from tailwatch.engine import Engine, Options
from tailwatch.errors import StateWriteError
from tailwatch.messages import (
    Commit,
    FoundFile,
    Incoming,
    OutboxRow,
    ReceiverPolicy,
    Restored,
    RunRecord,
    Settled,
    Snapshot,
    Stop,
    Unreadable,
)
from tailwatch.ports import World
from tests.model.harness import NoWatcher

ROOT = "/runs"


class Crash(BaseException):
    """The process is gone."""


class SimFile:
    def __init__(self, data: bytes, inode: int, mtime_s: float) -> None:
        self.data, self.inode, self.mtime_s = data, inode, mtime_s


class SimWorld:
    """What survives a crash, and the ports that reach it."""

    def __init__(self, *, chunk: Callable[[int], int] = lambda size: size) -> None:
        self.files: dict[str, SimFile] = {}
        self.configs: dict[str, RunConfig] = {}
        self.chunk = chunk
        self.calls = 0
        self.die_at: int | None = None
        self.now_s, self.monotonic_s = 1_800_000_000.0, 1000.0
        self.stored: dict[str, bytes] = {}
        self.meta: dict[str, Any] = {}
        self.ended: dict[str, bytes] = {}
        self.outbox: dict[tuple[str, str], tuple[Notice, str | None, str]] = {}
        self.findings: list[tuple[str, Any, float]] = []
        self.disk_full = False
        self.received: list[tuple[str, str, tuple[str, ...]]] = []
        self.answer: Callable[[str, int], Outcome] = lambda key, n: Outcome("delivered", "")
        self.published: list[Snapshot] = []
        self._inode = 10

    # The disk, as a trainer sees it.

    def write(self, path: str, data: bytes) -> None:
        if path not in self.files:
            self._inode += 1
            self.files[path] = SimFile(b"", self._inode, self.now_s)
        file = self.files[path]
        file.data += data
        file.mtime_s = self.now_s

    def replace(self, path: str, data: bytes) -> None:
        self._inode += 1
        self.files[path] = SimFile(data, self._inode, self.now_s)

    def truncate(self, path: str, data: bytes = b"") -> None:
        self.files[path].data = data
        self.files[path].mtime_s = self.now_s

    def point(self) -> None:
        """One call that leaves the process."""
        self.calls += 1
        if self.calls == self.die_at:
            raise Crash


class _Scanner:
    def __init__(self, world: SimWorld) -> None:
        self.world = world

    def roots(self) -> list[str]:
        return [ROOT]

    def missing(self) -> set[str]:
        return set()

    def directories(self) -> Mapping[str, set[int]]:
        return {}

    def stir(self, path: str) -> None:
        pass

    def sweep(self, trusted: Set[str] = frozenset()) -> Mapping[str, FoundFile]:
        self.world.point()
        return {path: self._found(path) for path in sorted(self.world.files)}

    def find(self, path: str) -> Iterable[FoundFile]:
        return [self._found(p) for p in sorted(self.world.files) if p.startswith(path)]

    def _found(self, path: str) -> FoundFile:
        file = self.world.files[path]
        changed = (len(file.data), zlib.crc32(file.data), file.inode)
        return FoundFile(path, ROOT, len(file.data), file.mtime_s, (1, file.inode), changed)


class _Open:
    def __init__(self, world: SimWorld, file: SimFile, cursor: Cursor) -> None:
        self.world, self.data = world, file.data
        stat = FileStat(1, file.inode, 0, len(self.data), file.mtime_s)
        same = stat.identity == cursor.identity
        prefix = self.data[: cursor.offset]
        offset_same = len(prefix) == cursor.offset and (
            self._before(cursor.offset) == cursor.offset_marker
            if same
            else zlib.crc32(prefix) == cursor.offset_crc
        )
        head = self.data[cursor.offset : cursor.offset + len(cursor.received_head)]
        received_same = (
            same
            and head == cursor.received_head
            and self._before(cursor.received) == cursor.received_marker
        )
        self.seen = FileSeen(stat, received_same, offset_same)

    def _before(self, offset: int) -> bytes:
        return self.data[max(0, offset - MARKER_BYTES) : offset]

    def read(self, offset: int, size: int) -> bytes:
        self.world.point()
        return self.data[offset : offset + min(size, self.world.chunk(size))]

    def hole(self, offset: int) -> int:
        return 0

    def holds(self, marker: bytes, offset: int) -> bool:
        return marker == self._before(offset)

    def close(self) -> None:
        pass


class _Follower:
    def __init__(self, world: SimWorld) -> None:
        self.world = world

    def open(self, path: str, cursor: Cursor) -> _Open | Unreadable:
        self.world.point()
        if path not in self.world.files:
            return Unreadable("not there", gone=True)
        return _Open(self.world, self.world.files[path], cursor)

    def remainder(
        self,
        path: str,
        cursor: Cursor,
        names: Sequence[str],
        others: Sequence[Cursor],
        foreign: Callable[[Identity], bool],
    ) -> None:
        return None

    def is_same(self, path: str, cursor: Cursor) -> bool:
        return False

    def pass_known(
        self, path: str, cursor: Cursor, others: Sequence[Cursor], beside: str
    ) -> Cursor:
        return cursor

    def inode(self, path: str) -> tuple[int, int] | None:
        file = self.world.files.get(path)
        return file and (1, file.inode)

    def leave(self, path: str) -> None:
        pass

    def release(self, path: str) -> None:
        pass

    def run_config(self, path: str) -> RunConfig | None:
        return self.world.configs.get(path)


class _Watcher(NoWatcher):
    def tend(self, missing: set[str], directories: Mapping[str, set[int]]) -> Mapping[str, str]:
        return {ROOT: "events"}


class _Store:
    def __init__(self, world: SimWorld) -> None:
        self.world = world

    def load(self) -> Restored:
        world = self.world
        runs = [RunRecord(*msgspec.msgpack.decode(raw)) for _, raw in sorted(world.stored.items())]
        outbox = [
            OutboxRow(receiver, notice, digest)
            for (receiver, _), (notice, digest, state) in world.outbox.items()
            if state == "pending"
        ]
        ended = [RunRecord(*msgspec.msgpack.decode(raw)) for raw in world.ended.values()]
        return Restored(not world.meta, runs, outbox, copy.deepcopy(world.meta), ended)

    def recall(self, path: str) -> RunRecord | None:
        raw = self.world.ended.get(path)
        return RunRecord(*msgspec.msgpack.decode(raw)) if raw else None

    def named(self, name: str) -> bool:
        records = (*self.world.stored.values(), *self.world.ended.values())
        return any(msgspec.msgpack.decode(raw)[1] == name for raw in records)

    def commit(self, commit: Commit) -> int:
        world = self.world
        world.point()  # Before: nothing of it is kept.
        if world.disk_full:
            raise StateWriteError("disk full")
        for r in commit.ended.values():
            world.ended[r.path] = msgspec.msgpack.encode([r.path, r.name, r.root, r.state])
            world.stored.pop(r.path, None)
        for path, r in commit.runs.items():
            world.stored[path] = msgspec.msgpack.encode([r.path, r.name, r.root, r.state])
            world.ended.pop(path, None)
        world.meta.update(copy.deepcopy(commit.meta))
        world.findings += commit.findings
        for receiver, notice in commit.notices:
            world.outbox.setdefault((receiver, notice.key), (notice, None, "pending"))
        for receiver, digest, keys in commit.digests:
            for key in keys:
                notice, _, state = world.outbox[receiver, key]
                world.outbox[receiver, key] = (notice, digest, state)
        for receiver, keys, outcome in commit.settled:
            for key in keys:
                notice, digest, _ = world.outbox[receiver, key]
                world.outbox[receiver, key] = (notice, digest, outcome)
        world.point()  # After: all of it is.
        return 0


class _Publisher:
    def __init__(self, world: SimWorld) -> None:
        self.world = world

    def publish(self, snapshot: Snapshot) -> None:
        self.world.published.append(snapshot)

    def beat(self, monotonic_s: float) -> None:
        pass


class _Inbox:
    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.messages: list[Settled | Stop] = []

    def take(self, timeout_s: float) -> Incoming:
        paths, messages = self.paths, self.messages
        self.paths, self.messages = set(), []
        return Incoming(paths, False, messages)


class _Courier:
    def __init__(self, world: SimWorld, inbox: _Inbox, name: str) -> None:
        self.world, self.inbox, self.name = world, inbox, name
        self.attempts = 0

    def post(self, key: str, notices: Sequence[Notice]) -> None:
        self.world.point()  # The receiver never had it.
        self.attempts += 1
        outcome = self.world.answer(key, self.attempts)
        if outcome.kind == "delivered":
            self.world.received.append((self.name, key, tuple(n.key for n in notices)))
        self.world.point()  # The receiver has it; we never learn that.
        self.inbox.messages.append(Settled(self.name, outcome))


class _Clock:
    def __init__(self, world: SimWorld) -> None:
        self.world = world

    def wall(self) -> float:
        return self.world.now_s

    def monotonic(self) -> float:
        return self.world.monotonic_s


class _Silent:
    def _say(self, event: str, **facts: Any) -> None:
        pass

    debug = info = warning = error = _say


class Process:
    """One life of the daemon in a world."""

    def __init__(
        self,
        world: SimWorld,
        *,
        checks: Any = CHECKS,
        receivers: Sequence[str] = ("hook",),
        send_resolved: bool = False,
    ) -> None:
        self.world = world
        self.inbox = _Inbox()
        couriers = {name: _Courier(world, self.inbox, name) for name in receivers}
        policies = [
            ReceiverPolicy(name, frozenset({"critical"}), send_resolved) for name in receivers
        ]
        outside = World(
            inbox=self.inbox,
            scanner=_Scanner(world),
            follower=_Follower(world),
            watcher=_Watcher(),
            store=_Store(world),
            publisher=_Publisher(world),
            clock=_Clock(world),
            log=_Silent(),
        )
        self.engine = Engine(checks, Options(), outside, Dispatch(policies, couriers))
        self.engine.restore()

    def turn(self, *hints: str, seconds: float = 0.05) -> None:
        """One turn, *seconds* after the last one."""
        self.world.now_s += seconds
        self.world.monotonic_s += seconds
        self.inbox.paths.update(hints)
        self.engine.turn(0.0)

    def settle(self, turns: int = 12, seconds: float = 3.0) -> None:
        """Turn until all is read and told."""
        for _ in range(turns):
            self.turn(seconds=seconds)
