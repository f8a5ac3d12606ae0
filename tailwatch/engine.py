"""The engine: one thread that owns all state. Read, evaluate, commit, publish, then deliver."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass

from .core.check import Check
from .core.field_rules import FieldRules
from .core.findings import Transition
from .core.names import escape
from .dispatch import Dispatch
from .errors import StateWriteError
from .files import Files
from .messages import Commit, RunRecord, Settled
from .ports import World
from .records import record_of
from .shown import Shown
from .telling import Telling
from .tracked import Tracked

TURN_S_MAX = 5.0
STORE_RETRY_S = 1.0
DRAIN_S = 5.0


@dataclass(frozen=True, slots=True)
class Options:
    """The engine's settings; times in seconds."""

    sweep_interval_s: float = 10.0
    backfill_page_max_age_s: float = 3600.0
    run_retention_s: float = 86400.0
    runs_max: int = 500
    run_pattern: re.Pattern[str] | None = None
    fields: FieldRules = dataclasses.field(default_factory=FieldRules)


class Engine:
    """
    The single writer.

    `run` turns until it is told to stop; each `turn` reads what changed, keeps
    it in one transaction, and only then shows and tells it.
    """

    def __init__(
        self, checks: Sequence[type[Check]], options: Options, world: World, dispatch: Dispatch
    ) -> None:
        self._options = options
        self._world = world
        self._dispatch = dispatch
        self._files = Files(
            checks,
            world.scanner,
            world.follower,
            world.log,
            take=self._take,
            restarted=self._restarted,
            moved=self._moved,
            ended=self._ended,
            recall=self._recall,
            named=self._named,
            old_s=options.backfill_page_max_age_s,
            keep_s=options.run_retention_s,
            run_pattern=options.run_pattern,
            fields=options.fields,
            writers=world.writers,
        )
        self._commit = Commit()
        self._changed: dict[str, Tracked] = {}
        self._over: list[Tracked] = []
        self._shown = Shown(world.publisher, options.run_retention_s, options.runs_max)
        self._telling = Telling(
            dispatch, self._shown.totals, world.log, options.backfill_page_max_age_s
        )
        self._watcher_counts: dict[str, int] = {}
        self._sweep_due_s = 0.0
        self._store_retry_s: float | None = None
        self._stopping = False
        self._missing: set[str] = set()
        self._trusted: frozenset[str] = frozenset()
        self._hints_lost = True

    def restore(self) -> None:
        """Take up what the store holds, and show it."""
        clock = self._world.clock
        restored = self._world.store.load()
        runs = self._files.restore(restored.runs, clock.wall(), clock.monotonic(), restored.ended)
        self._files.known_roots = set(restored.meta.get("roots", []))
        for key, value in restored.meta.get("totals", []):
            self._shown.totals[tuple(key)] = value
        if unknown := self._dispatch.restore(restored.outbox):
            self._world.log.warning("notices_for_unknown_receivers", notices=unknown)
        unsent = len(restored.outbox)
        self._world.log.info(
            "state_restored", first_start=restored.fresh, runs=runs, unsent=unsent
        )
        self._shown.look(self._files.all(), {})
        self._publish()

    def run(self) -> None:
        """Turn until told to stop, then drain."""
        while not self._stopping:
            self.turn()
        self._drain()

    def turn(self, wait_s: float | None = None) -> None:
        """One pass: wait for something to do, do it, keep it, show it, tell it."""
        clock = self._world.clock
        if wait_s is None:
            wait_s = self._wait_s(clock.monotonic())
        incoming = self._world.inbox.take(wait_s)
        now_s, monotonic_s = clock.wall(), clock.monotonic()
        self._world.publisher.beat(monotonic_s)
        for message in incoming.messages:
            if isinstance(message, Settled):
                self._settle(message, monotonic_s)
            else:
                self._stopping = True
                self._world.log.info("stopping", reason=message.reason)
        self._files.hint(incoming.paths)
        self._hints_lost = self._hints_lost or incoming.sweep
        # While nothing can be kept, nothing more is read: the rows wait on disk.
        if self._store_retry_s is not None and monotonic_s < self._store_retry_s:
            return
        due = monotonic_s >= self._sweep_due_s
        sweep = self._hints_lost or due or not self._world.watcher.alive()
        if sweep:
            self._sweep(now_s, monotonic_s)
        self._files.read(now_s, monotonic_s)
        if sweep:
            self._files.rest(now_s, monotonic_s)
        self._keep(monotonic_s, everything=sweep)

    def _wait_s(self, monotonic_s: float) -> float:
        if self._store_retry_s is not None:
            return max(0.0, self._store_retry_s - monotonic_s)
        if self._files.waiting():
            return 0.0
        due_s = self._dispatch.next_due_s()
        due_s = self._sweep_due_s if due_s is None else min(self._sweep_due_s, due_s)
        return min(TURN_S_MAX, max(0.0, due_s - monotonic_s))

    def _drain(self) -> None:
        """The last turns: read every file once more, keep it, try the outbox for a while."""
        clock = self._world.clock
        end_s = clock.monotonic() + DRAIN_S
        self._store_retry_s = None
        self._hints_lost = True
        self.turn(0.0)
        while self._files.waiting() and clock.monotonic() < end_s:
            self.turn(0.0)
        while self._dispatch.unsettled() and clock.monotonic() < end_s:
            self.turn(0.05)
        self._world.log.info("stopped", unsent=self._dispatch.pending())

    def _sweep(self, now_s: float, monotonic_s: float) -> None:
        files, world, first = self._files, self._world, not self._files.swept
        roots = set(files.known_roots)
        files.sweep(now_s, monotonic_s, frozenset() if self._hints_lost else self._trusted)
        self._hints_lost = False
        if files.known_roots != roots:
            self._commit.meta["roots"] = sorted(files.known_roots)
        if first and not any(True for _ in files.all()):
            world.log.info("no_metric_file_yet", hint="waiting for one to appear")
        scanner = world.scanner
        self._say_missing(scanner.missing())
        modes = world.watcher.tend(scanner.missing(), scanner.directories())
        self._trusted = frozenset(root for root, mode in modes.items() if mode == "events")
        for root, mode in modes.items():
            self._shown.watch_mode(root, mode)
        for name, now in (
            ("watch_overflows", world.watcher.overflows()),
            ("watcher_restarts", world.watcher.restarts()),
        ):
            self._shown.totals[name,] += now - self._watcher_counts.get(name, 0)
            self._watcher_counts[name] = now
        done_s = world.clock.monotonic()
        self._shown.expire(now_s, monotonic_s)
        self._sweep_due_s = done_s + self._options.sweep_interval_s
        self._shown.took("sweep", done_s - monotonic_s)

    def _say_missing(self, missing: set[str]) -> None:
        """A root that cannot be read, or can be again, is said once."""
        for root in sorted(missing - self._missing):
            self._world.log.warning("root_unreadable", root=escape(root))
        for root in sorted(self._missing - missing):
            self._world.log.info("root_readable", root=escape(root))
        self._missing = missing

    def _restarted(self, reason: str) -> None:
        self._shown.totals["restarts", reason] += 1

    def _moved(self, tracked: Tracked, old: str) -> None:
        if tracked.name is None:
            return
        self._commit.moved.append((old, tracked.path))
        for records in (self._commit.runs, self._commit.ended):
            records.pop(old, None)
        self._changed.pop(old, None)
        self._changed[tracked.path] = tracked

    def _ended(self, tracked: Tracked) -> None:
        if tracked.name is not None:
            self._changed.pop(tracked.path, None)
            self._commit.runs.pop(tracked.path, None)
            self._commit.ended[tracked.path] = record_of(tracked)
            self._over.append(tracked)

    def _recall(self, path: str) -> RunRecord | None:
        return self._commit.ended.get(path) or self._world.store.recall(path)

    def _named(self, name: str) -> bool:
        ending = any(record.name == name for record in self._commit.ended.values())
        return ending or self._world.store.named(name)

    def _take(self, tracked: Tracked, transitions: list[Transition], now_s: float) -> None:
        """What a read or a rest gave: count it, and see who is to be told."""
        if self._telling.take(tracked, transitions, now_s, self._commit):
            self._changed[tracked.path] = tracked

    def _settle(self, settled: Settled, monotonic_s: float) -> None:
        outcome = settled.outcome
        delivery = self._dispatch.settle(settled, monotonic_s, self._commit)
        if delivery is None:
            return
        self._shown.totals["deliveries", settled.receiver, outcome.kind] += 1
        delivered = outcome.kind == "delivered"
        if delivered and delivery.reminder:  # Every minute, for days.
            return
        log = self._world.log.info if delivered else self._world.log.warning
        facts = {"receiver": settled.receiver, "key": delivery.key, "detail": outcome.detail}
        log(f"notice_{outcome.kind}", **facts, attempt=delivery.attempts)

    # Disk, then page, then post.

    def _keep(self, monotonic_s: float, *, everything: bool) -> None:
        self._dispatch.plan(monotonic_s, self._commit, self._files.all())
        for path, tracked in self._changed.items():
            self._commit.runs[path] = record_of(tracked)
        kept = bool(self._commit)
        if kept and not self._write(monotonic_s):
            return
        self._telling.say()
        for tracked in self._over:
            self._shown.end(tracked, monotonic_s)
        self._over = []
        files = self._files.all() if everything else self._changed.values()
        self._shown.look(files, self._changed)
        if everything:
            self._shown.skip(files)
        changed = (each.kept for each in self._changed.values())
        self._files.readers.put_away(changed, monotonic_s)
        self._changed = {}
        if kept or everything:
            self._publish()
        self._dispatch.send(monotonic_s)

    def _write(self, monotonic_s: float) -> bool:
        clock = self._world.clock
        self._commit.meta["totals"] = [[list(k), v] for k, v in self._shown.totals.items()]
        began_s = clock.monotonic()
        try:
            dropped = self._world.store.commit(self._commit)
        except StateWriteError as error:
            self._shown.totals["state_errors",] += 1
            if self._store_retry_s is None:
                self._world.log.error("state_not_written", error=str(error))
            self._store_retry_s = monotonic_s + STORE_RETRY_S
            self._publish()  # The runs as last kept; only the count of errors is new.
            return False
        self._shown.totals["ended_runs_dropped", "record"] += dropped
        self._shown.took("commit", clock.monotonic() - began_s)
        self._commit = Commit()
        if self._store_retry_s is not None:
            self._world.log.info("state_written_again")
            self._store_retry_s = None
        return True

    def _publish(self) -> None:
        self._shown.publish(
            ready=self._files.swept,
            pending=self._dispatch.pending(),
            oldest_s=self._dispatch.oldest_s(),
        )
