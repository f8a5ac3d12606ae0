"""Silences: a hang, an end, a slow log, blocks, an evaluation; told rightly, with our clock."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tailwatch import quiet
from tailwatch.checks import CHECKS
from tailwatch.core.findings import Severity
from tailwatch.dispatch import Dispatch
from tailwatch.engine import Engine, Options
from tailwatch.tracked import REST_S

from .model.harness import Machine


class Host:
    """A machine whose checks are the real ones; rows come when the clock says."""

    def __init__(self) -> None:
        self.machine = Machine("none")
        self.writers: dict[str, int] = {}
        self.asked = 0
        self.begin()

    def begin(self) -> None:
        machine = self.machine
        assert machine.engine is not None
        world = machine.engine._world
        world.writers = self._who
        self.engine = machine.engine = Engine(CHECKS, Options(), world, Dispatch([], {}))
        self.engine.restore()
        machine.settle(1)

    def _who(self, paths: Any) -> dict[str, int]:
        self.asked += 1
        return {path: self.writers[path] for path in paths if path in self.writers}

    def path(self, name: str) -> Path:
        return self.machine.root / name

    def write(self, name: str, *records: dict[str, Any]) -> None:
        with self.path(name).open("a") as file:
            file.write("".join(json.dumps(record) + "\n" for record in records))
        self.wait(0.0)

    def train(self, name: str, rows: int, every_s: float, start: int = 1, **more: Any) -> None:
        for step in range(start, start + rows):
            self.wait(every_s)
            self.write(name, {"step": step, "loss": 2.0, **more})

    def wait(self, seconds: float) -> None:
        """Let time go by, with a sweep each ten seconds."""
        while seconds > 10.0:
            self.machine.turn(10.0)
            seconds -= 10.0
        self.machine.turn(seconds)
        self.machine.settle(1)

    def standing(self, name: str) -> dict[str, str]:
        tracked = next(t for t in self.engine._files.all() if t.path == str(self.path(name)))
        return {t.category: t.evidence.message for t in tracked.reader.monitor.firing()}

    def count(self, name: str, category: str) -> int:
        tracked = next(t for t in self.engine._files.all() if t.path == str(self.path(name)))
        return tracked.tallies[category].total if category in tracked.tallies else 0


@pytest.fixture
def host() -> Iterator[Host]:
    made = Host()
    yield made
    made.machine.close()


def test_a_process_that_hangs_is_told(host: Host) -> None:
    """It holds its file open and writes nothing for ten minutes: stalled, and over with a row."""
    host.train("m.jsonl", 10, 30.0)
    host.writers[str(host.path("m.jsonl"))] = 4711
    host.wait(500.0)
    assert "run_stalled" not in host.standing("m.jsonl")
    host.wait(200.0)

    assert "process 4711 holds its file open" in host.standing("m.jsonl")["run_stalled"]
    host.write("m.jsonl", {"step": 11, "loss": 2.0})
    assert "run_stalled" not in host.standing("m.jsonl")
    assert host.count("m.jsonl", "run_stalled") == 1


def test_a_run_below_its_planned_steps_is_told(host: Host) -> None:
    """Whoever writes it opens the file for each row, or has died: the plan says that more is due."""
    host.train("m.jsonl", 10, 20.0, max_steps=100)
    host.wait(700.0)
    assert "it is at step 10 of 100" in host.standing("m.jsonl")["run_stalled"]
    assert "run_quiet" not in host.standing("m.jsonl")


@pytest.mark.parametrize(
    "last",
    [
        {"train_runtime": 90.0, "train_loss": 1.0, "step": 10},
        {"step": 100, "loss": 1.0, "max_steps": 100},
        {"step": 10, "loss": 1.0, "percentage": 100.0},
    ],
)
def test_a_finished_run_never_stalls(host: Host, last: dict[str, Any]) -> None:
    """A summary, the planned steps, a full percentage: whoever still holds the file open."""
    host.train("m.jsonl", 10, 20.0)
    host.write("m.jsonl", last)
    host.writers[str(host.path("m.jsonl"))] = 1
    host.wait(3600.0)
    assert not {"run_stalled", "run_quiet"} & set(host.standing("m.jsonl"))


def test_of_an_end_that_nobody_told_only_the_fact_is_said(host: Host) -> None:
    """No plan, no summary, no process: quiet, and no alarm; processes are looked through once."""
    host.train("m.jsonl", 10, 20.0)
    host.wait(7200.0)
    standing = host.standing("m.jsonl")
    assert "whether it has ended is not known" in standing["run_quiet"]
    assert "run_stalled" not in standing
    assert host.asked == 1


def test_a_slow_log_is_given_its_time(host: Host) -> None:
    """A row each 33 minutes: three hours without one are no stall, six are."""
    host.train("m.jsonl", 5, 1980.0, max_steps=2000)
    host.wait(5 * 1980.0)
    assert "run_stalled" not in host.standing("m.jsonl")
    host.wait(6 * 1980.0)
    assert "run_stalled" in host.standing("m.jsonl")


def test_a_writer_of_blocks_is_given_its_time(host: Host) -> None:
    """A hundred rows at once each five minutes: the silence between the blocks is the usual one."""
    for block in range(5):
        host.wait(300.0)
        rows = [{"step": 100 * block + n, "loss": 2.0, "max_steps": 9999} for n in range(100)]
        host.write("m.jsonl", *rows)
    host.wait(2500.0)
    assert "run_stalled" not in host.standing("m.jsonl")
    host.wait(1000.0)
    assert "run_stalled" in host.standing("m.jsonl")


def test_a_long_evaluation_is_remembered_as_one(host: Host) -> None:
    """An evaluation of ten minutes, many rows ago, is still the measure of the next one."""
    host.train("m.jsonl", 5, 10.0, max_steps=9999)
    host.wait(600.0)
    host.write("m.jsonl", {"step": 5, "eval_loss": 2.0})
    host.train("m.jsonl", 60, 10.0, start=6, max_steps=9999)
    host.wait(3000.0)
    assert "run_stalled" not in host.standing("m.jsonl")


def test_history_has_no_silences(host: Host) -> None:
    """A file that was there before says nothing of how often rows come: no stall from it."""
    rows = [{"step": n, "loss": 2.0, "max_steps": 100} for n in range(50)]
    host.write("old.jsonl", *rows)
    host.machine.kill()
    host.machine.start()
    host.begin()
    host.wait(7200.0)
    assert "run_stalled" not in host.standing("old.jsonl")


def test_runs_that_fall_silent_together_are_one_page(host: Host) -> None:
    """A file system that hangs: each run counts, the first one's page names the others."""
    names = [f"{n}.jsonl" for n in range(4)]
    for step in range(1, 8):
        host.wait(20.0)
        for name in names:
            host.write(name, {"step": step, "loss": 2.0, "max_steps": 100})
    told = []
    tell = host.engine._dispatch.tell

    def spy(tracked: Any, transition: Any, *rest: Any) -> None:
        if transition.severity is Severity.CRITICAL and not transition.told_elsewhere:
            told.append(transition.evidence.message)
        tell(tracked, transition, *rest)

    host.engine._telling.dispatch.tell = spy  # type: ignore[method-assign]
    host.wait(1500.0)

    assert [host.count(name, "run_stalled") for name in names] == [1, 1, 1, 1]
    assert len(told) == 1
    assert "3 other runs on this host fell silent at the same time" in told[0]


def test_a_stall_outlives_a_restart_and_is_told_once(host: Host) -> None:
    """The finding stands after a restart, and does not count again."""
    host.train("m.jsonl", 10, 20.0, max_steps=100)
    host.wait(700.0)
    host.machine.kill()
    host.machine.start()
    host.begin()
    host.wait(700.0)
    assert "run_stalled" in host.standing("m.jsonl")
    assert host.count("m.jsonl", "run_stalled") == 1


def test_a_silence_that_says_nothing_is_not_looked_at(host: Host) -> None:
    """Thousands of runs that ended or rest are passed over, until they write again."""
    host.train("m.jsonl", 10, 20.0, max_steps=10)
    host.wait(7200.0)
    tracked = next(iter(host.engine._files.all()))
    assert (tracked.at_rest, tracked.look_s) == (True, math.inf)
    host.train("m.jsonl", 1, 20.0, start=11)
    assert tracked.look_s <= tracked.read_at_s + REST_S


def test_hundreds_that_rest_at_once_hold_up_no_row(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some of them are let rest in each sweep, and in the end all are."""
    monkeypatch.setattr(quiet, "RESTS_MAX", 3)
    for n in range(10):
        host.path(f"{n}.jsonl").write_text('{"step": 1, "loss": 2.0}\n')
    host.wait(REST_S - 100.0)
    resting = []
    for _ in range(20):
        host.wait(0.0)
        resting.append(sum(t.at_rest for t in host.engine._files.all()))

    assert resting[-1] == 10
    assert max(b - a for a, b in itertools.pairwise(resting)) == 3
