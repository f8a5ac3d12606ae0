"""
Lives of a daemon that dies at a numbered call: real engine, real disk, real SQLite.

Each life is a forked process. Its calls that leave the process are numbered, and at the
chosen one it ends as by SIGKILL; the next life takes up what is on the disk. The trainers'
work is done between turns, so a death is always the daemon's alone.

A program of its own, since only a process without threads may fork: prints the calm life,
then one line of JSON for each series of deaths.
"""

from __future__ import annotations

import gc
import itertools
import json
import math
import mmap
import os
import random
import shutil
import sqlite3
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from tailwatch.board import Board
from tailwatch.checks import CHECKS
from tailwatch.core.check import mark
from tailwatch.core.check_bases import SilenceCheck
from tailwatch.core.findings import Evidence
from tailwatch.core.globs import PathFilter
from tailwatch.core.notices import Notice
from tailwatch.core.outbox import Outcome
from tailwatch.core.rows import Row
from tailwatch.dispatch import Dispatch
from tailwatch.engine import Engine, Options
from tailwatch.messages import ReceiverPolicy, Settled
from tailwatch.ports import World
from tailwatch.shell import follower, scanner, store
from tailwatch.shell.inbox import ThreadInbox

from .harness import Ledger, Machine, ManualClock, NoWatcher, Silent

KILLED = 137
BUDGET_S = 40.0
OS_CALLS = (
    "open", "close", "pread", "stat", "lstat", "fstat", "lseek", "scandir", "memfd_create",
    "makedirs", "replace",
)  # fmt: skip


# Those that judge silences depend on when rows came, and a death takes its time.
ROW_CHECKS = tuple(check for check in CHECKS if not issubclass(check, SilenceCheck))


class Diary(Ledger):
    """Every row is an edge, so that the table of findings is a record of the rows too."""

    category: ClassVar[str] = "diary"

    def update(self, row: Row) -> Evidence | None:
        super().update(row)
        return Evidence(f"row {row.values['loss']}", {}, mark(row)) if len(self.ids) % 2 else None


class Script:
    """What the trainers do, step by step, and what the daemon does after each step."""

    def __init__(self) -> None:
        self.steps: list[tuple[Callable[[Path], None], str]] = []
        self.written: Counter[str] = Counter()
        self._ids = itertools.count(1)
        self._write()

    def _write(self) -> None:
        a, b, c = "a/m.jsonl", "b/m.jsonl", "c/m.jsonl"
        self.append(a, self.rows(3), then="hint")
        self.append(b, self.rows(2), then="hint")
        self.append(a, (torn := self.rows(1))[:17], then="hint")
        self.append(b, self.rows(1) + b"garbage\n", then="sweep")
        self.append(a, torn[17:] + self.rows(1) + self.nan(), then="hint")
        self.append(b, (torn := self.rows(1))[:9], then="sweep")
        # A rename with unread rows; the trainer opens the new file late, and the old one's
        # last row is torn meanwhile.
        self.append(a, self.rows(2), then="nothing")
        self.step(lambda root: (root / a).rename(root / f"{a}.1"), then="sweep")
        self.append(f"{a}.1", self.rows(1) + (torn_a := self.rows(1))[:20], then="sweep")
        self.append(a, self.rows(2), then="sweep")
        self.append(f"{a}.1", torn_a[20:], then="sweep")
        self.append(f"{a}.1", self.rows(1), then="settle")
        # A copytruncate with unread rows, one of them torn until just now.
        self.append(b, torn[9:] + self.rows(2), then="nothing")
        self.step(lambda root: _copytruncate(root / b), then="sweep")
        self.append(b, self.rows(2), then="settle")
        # Truncated and filled again: longer than it was, so that size tells nothing.
        self.append(c, self.rows(3), then="settle")
        refill = self.rows(5)
        self.step(lambda root: (root / c).write_bytes(refill), then="settle")
        # The steps fall: the trainer resumed, and its NaN is a new one.
        self.append(a, self.rows(2, step=5) + self.nan(step=7), then="settle")
        # Gone, and made anew.
        self.step(lambda root: (root / c).unlink(), then="settle")
        self.append(c, self.rows(2), then="settle")
        # More at once than are told one by one: a digest.
        many = [self.nan() for _ in range(6)]
        self.step(lambda root: _move_in(root, many), then="settle")
        # A last row without its newline counts once the run is quiet, and once only.
        self.append(b, (last := self.rows(1))[:-1], then="sweep")
        self.step(lambda root: None, then="rest")
        self.append(b, last[-1:] + self.rows(1), then="settle")

    def step(self, act: Callable[[Path], None], then: str) -> None:
        self.steps.append((act, then))

    def append(self, name: str, data: bytes, then: str) -> None:
        def act(root: Path) -> None:
            (root / name).parent.mkdir(exist_ok=True)
            with (root / name).open("ab") as file:
                file.write(data)

        self.step(act, f"hint {name}" if then == "hint" else then)

    def rows(self, count: int, step: int | None = None) -> bytes:
        ids = list(itertools.islice(self._ids, count))
        self.written.update(str(float(n)) for n in ids)
        steps = ids if step is None else range(step, step + count)
        return b"".join(_line(s, float(n)) for s, n in zip(steps, ids, strict=True))

    def nan(self, step: int | None = None) -> bytes:
        self.written["nan"] += 1
        return _line(next(self._ids) if step is None else step, math.nan)


def _line(step: int, loss: float) -> bytes:
    return json.dumps({"step": step, "loss": loss, "note": "x" * 20}).encode() + b"\n"


def _copytruncate(path: Path) -> None:
    shutil.copyfile(path, f"{path}.1")
    os.truncate(path, 0)


def _move_in(root: Path, files: Sequence[bytes]) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    for number, data in enumerate(files):
        (outside / f"{number}.jsonl").write_bytes(data)
    outside.rename(root / "many")


class Trial:
    """A directory, and what outlives a life besides it: memory that its forks share."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="tailwatch-crash-"))
        self.root = self.directory / "runs"
        self.root.mkdir()
        self.began_s = time.time()
        self._shared = memoryview(mmap.mmap(-1, 16)).cast("d")

    @property
    def step(self) -> int:
        """How many of the trainers' steps are done."""
        return int(self._shared[0])

    @step.setter
    def step(self, value: int) -> None:
        self._shared[0] = value

    @property
    def seconds(self) -> float:
        """How far the clocks are."""
        return self._shared[1]

    @seconds.setter
    def seconds(self, value: float) -> None:
        self._shared[1] = value

    def close(self) -> None:
        shutil.rmtree(self.directory)


class Calls:
    """Counts the calls that leave the process, and ends it at one of them."""

    def __init__(self, die_at: int | None) -> None:
        self.made, self.die_at = 0, die_at
        self.betweens: list[int] = []

    def point(self) -> None:
        self.made += 1
        if self.made == self.die_at:
            os._exit(KILLED)

    def between(self) -> None:
        """A point too: all is done, and the trainers have not gone on yet."""
        self.betweens.append(self.made + 1)
        self.point()

    def numbered(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def numbered(*args: Any, **kwargs: Any) -> Any:
            self.point()
            return call(*args, **kwargs)

        return numbered

    def install(self) -> None:
        """In place of what the shell calls; for good, since this process is one life."""
        fake_os = Stand(os, {name: self.numbered(getattr(os, name)) for name in OS_CALLS})
        follower.os = scanner.os = store.os = fake_os
        numbered = self.numbered

        class Connection(sqlite3.Connection):
            execute = numbered(sqlite3.Connection.execute)
            executemany = numbered(sqlite3.Connection.executemany)

        def connect(*args: Any, **kwargs: Any) -> sqlite3.Connection:
            self.point()
            return sqlite3.connect(*args, **kwargs, factory=Connection)

        store.sqlite3 = Stand(sqlite3, {"connect": connect})


class Stand:
    """A module, some of whose functions are others."""

    def __init__(self, module: Any, others: dict[str, Any]) -> None:
        self._module = module
        self.__dict__.update(others)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


class FileCourier:
    """Delivers at once; what was received is on the disk."""

    def __init__(self, path: Path, inbox: ThreadInbox, calls: Calls) -> None:
        self._path, self._inbox, self._calls = path, inbox, calls

    def post(self, key: str, notices: Sequence[Notice]) -> None:
        self._calls.point()  # The receiver never had it.
        with self._path.open("a") as file:
            file.write(json.dumps([key, [notice.key for notice in notices]]) + "\n")
        self._calls.point()  # The receiver has it; we never learn that.
        self._inbox.post(Settled("hook", Outcome("delivered", "")))


class Life(Machine):
    """One life of the daemon, in a directory that may have seen others."""

    def __init__(self, trial: Trial, calls: Calls) -> None:
        self.trial, self.calls = trial, calls
        self.directory, self.root = trial.directory, trial.root
        self.clock = ManualClock()
        self._advance(0.0)
        self.start()

    def start(self) -> None:
        self.inbox = ThreadInbox()
        self.store = store.SqliteStore(str(self.directory / "state"), Silent())
        world = World(
            inbox=self.inbox,
            scanner=scanner.DirectoryScanner([str(self.root)], PathFilter(["**/*.jsonl"])),
            follower=follower.LocalFollower(),
            watcher=NoWatcher(),
            store=self.store,
            publisher=Board(),
            clock=self.clock,
            log=Silent(),
        )
        courier = FileCourier(self.directory / "told", self.inbox, self.calls)
        policy = ReceiverPolicy("hook", frozenset({"critical"}), send_resolved=True)
        self.engine = Engine(
            (*ROW_CHECKS, Diary), Options(), world, Dispatch([policy], {"hook": courier})
        )
        self.engine.restore()
        self.turn()

    def turn(self, seconds: float = 0.2) -> None:
        assert self.engine is not None
        self._advance(seconds)
        self.engine.turn(0.0)

    def _advance(self, seconds: float) -> None:
        trial = self.trial
        trial.seconds += seconds
        self.clock.wall_s = trial.began_s + trial.seconds
        self.clock.monotonic_s = 5000.0 + trial.seconds

    def live(self, script: Script) -> None:
        """Do what is left of *script*, beginning with the answer to its last step."""
        if self.trial.step:
            self.answer(script.steps[self.trial.step - 1][1])
        for act, then in script.steps[self.trial.step :]:
            act(self.root)
            self.trial.step += 1
            self.answer(then)
            self.calls.between()
        self.settle()

    def answer(self, then: str) -> None:
        what, _, name = then.partition(" ")
        if what == "hint":
            self.inbox.hint(str(self.root / name))
            self.turn()
        elif what == "sweep":
            self.turn(11.0)
        elif what == "rest":
            self.turn(700.0)
        elif what == "settle":
            self.settle(2)
        else:
            assert what == "nothing"

    def outcome(self) -> dict[str, Any]:
        """What must not depend on deaths, and what was told."""
        assert self.engine is not None
        files = [t for t in self.engine._files.all() if t.name is not None]
        query = self.store._connection.execute
        findings: dict[str, list[list[Any]]] = {}
        for run, *rest in query(
            "SELECT run, segment, category, severity, transition, continues, row, step, offset,"
            " message, suggestion FROM findings ORDER BY id"
        ):
            findings.setdefault(run, []).append(rest)
        totals = self.store.load().meta["totals"]
        told = (self.directory / "told").read_text().splitlines()
        return {
            "rows": sorted(str(loss) for loss in self.evaluated().elements()),
            "runs": {t.name: [t.reader.rows, t.reader.monitor.segment] for t in files},
            "tallies": {t.name: {c: n.total for c, n in t.tallies.items()} for t in files},
            "findings": findings,
            "totals": sorted(totals),
            "outbox": sorted(query("SELECT key, state FROM outbox").fetchall()),
            "told": [json.loads(line) for line in told],
        }


def live(trial: Trial, script: Script, die_at: int | None) -> bool:
    """One life, in a fork; whether it came to its end."""
    child = os.fork()
    if child == 0:
        try:
            calls = Calls(die_at)
            calls.install()
            life = Life(trial, calls)
            life.live(script)
            calls.die_at = None
            last = {"calls": calls.made, "betweens": calls.betweens, "outcome": life.outcome()}
            (trial.directory / "last").write_text(json.dumps(last))
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in (0, KILLED):
        raise SystemExit(f"a life that was to die at call {die_at} ended with {code}")
    return code == 0


def lives(script: Script, deaths: Sequence[int]) -> dict[str, Any]:
    """As many lives as there are deaths, and one to the end: its outcome and its calls."""
    trial = Trial()
    try:
        for die_at in (*deaths, None):
            if live(trial, script, die_at):
                break
        return {"deaths": deaths, **json.loads((trial.directory / "last").read_text())}
    finally:
        trial.close()


def series(calm: dict[str, Any], life_s: float) -> Iterator[tuple[int, ...]]:
    """
    Each call by itself, or as many as there is time for; then many deaths in a row.

    A death between two steps of the trainers is always among them.
    """
    calls = calm["calls"]
    everything = bool(os.environ.get("TAILWATCH_TEST_ALL_POINTS"))
    each = 1 if everything else math.ceil(calls * life_s / BUDGET_S)
    points = sorted({*range(1, calls + 1, each), *calm["betweens"]})
    print(f"{calls} calls, k = {each}: {len(points)} points", file=sys.stderr)
    for point in points:
        yield (point,)
    rng = random.Random(1)
    for _ in range(20):
        yield tuple(rng.randint(1, 150) for _ in range(25))


def main() -> None:
    """Print what `lives` gives, a line of JSON each: first of the calm life, then of others."""
    script = Script()
    gc.freeze()
    began_s = time.monotonic()
    calm = lives(script, ())
    lives(script, (calm["calls"] // 2,))
    life_s = (time.monotonic() - began_s) / 2
    print(json.dumps(calm | {"written": sorted(script.written.elements())}))
    for deaths in series(calm, life_s):
        print(json.dumps(lives(script, deaths)))


if __name__ == "__main__":
    main()
