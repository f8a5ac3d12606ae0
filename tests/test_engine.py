"""The engine in a world of fakes: what is told, to whom, when, and what is shown."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tailwatch.checks import CHECKS
from tailwatch.core.check import Check, RunConfig
from tailwatch.core.findings import Evidence, Hold, Severity
from tailwatch.core.outbox import Outcome
from tailwatch.core.rows import Row
from tailwatch.messages import RunRecord, Stop

from .model.harness import Machine, Silent
from .simulation.world import Process, SimWorld

FILE = "/runs/a/m.jsonl"


def rows(first: int, last: int, loss: object = 2.0) -> bytes:
    """Rows of the steps from *first* to *last*."""
    return b"".join(
        b'{"step": %d, "loss": %s}\n' % (n, str(loss).encode()) for n in range(first, last + 1)
    )


@pytest.fixture
def world() -> SimWorld:
    return SimWorld()


@pytest.fixture
def process(world: SimWorld) -> Process:
    """A daemon that has seen that there is nothing yet."""
    made = Process(world)
    made.turn()
    return made


def told(world: SimWorld) -> list[tuple[str, str]]:
    """(run, category) of every notice that was delivered."""
    notices = {key: notice for (_, key), (notice, _, _) in world.outbox.items()}
    return [
        (notices[key].data["run"], notices[key].data["category"])
        for _, _, keys in world.received
        for key in keys
    ]


def test_zero_before_the_first_finding(world: SimWorld, process: Process) -> None:
    """A run is shown as soon as it is known, with nothing counted."""
    world.write(FILE, rows(1, 1))
    process.turn(FILE)
    view = world.published[-1].runs["a/m"]

    assert (view.rows, view.last_step, view.state, dict(view.tallies)) == (1, 1, "active", {})


def test_a_second_nan_within_the_hour_is_not_told(world: SimWorld, process: Process) -> None:
    """A new finding in the same run and category is counted, but pages once an hour."""
    for first in (1, 101, 201):
        world.write(FILE, rows(first, first, "NaN") + rows(first + 1, first + 99))
        process.turn(FILE, seconds=60)
        process.settle(3)

    assert world.published[-1].runs["a/m"].tallies["nan_loss"].total == 3
    assert told(world) == [("a/m", "nan_loss")]

    world.write(FILE, rows(301, 301, "NaN"))
    process.turn(FILE, seconds=3600)
    process.settle(3)

    assert len(told(world)) == 2


def test_a_resume_is_told_within_the_hour(world: SimWorld, process: Process) -> None:
    """A NaN after the trainer has resumed is news, at once."""
    world.write(FILE, rows(1, 50) + rows(51, 51, "NaN"))
    process.turn(FILE)
    process.settle(3)
    world.write(FILE, rows(31, 50) + rows(51, 51, "NaN"))
    process.turn(FILE)
    process.settle(3)

    assert len(told(world)) == 2


def test_a_new_segment_is_told_within_the_hour(world: SimWorld, process: Process) -> None:
    """So is one in a new segment, whose findings start afresh."""
    for _ in range(2):
        world.write(FILE, rows(1, 20) + rows(21, 21, "NaN"))
        process.turn(FILE)
        process.settle(3)
    view = world.published[-1].runs["a/m"]

    assert len(told(world)) == 2
    assert (view.segment, view.rows, view.tallies["nan_loss"].total) == (2, 42, 2)


def test_truncation_with_steps_that_go_on_is_a_resume(world: SimWorld, process: Process) -> None:
    """A file that is truncated at a resume keeps its segment and its count of rows."""
    world.write(FILE, rows(1, 30))
    process.turn(FILE)
    world.truncate(FILE, rows(31, 32))
    process.turn(FILE)
    view = world.published[-1].runs["a/m"]

    assert (view.segment, view.rows) == (1, 32)
    assert world.published[-1].totals["restarts", "truncated"] == 1


def test_replacement_with_the_same_head_goes_on(world: SimWorld, process: Process) -> None:
    """A file that is written anew whole for each row, and renamed, is read on and not again."""
    for last in range(1, 20):
        world.replace(FILE, rows(1, last))
        process.turn(FILE)
    view = world.published[-1].runs["a/m"]

    assert (view.segment, view.rows) == (1, 19)
    assert world.published[-1].totals.get(("restarts", "replaced"), 0) == 0


def test_the_pending_fires_when_the_run_goes_quiet(world: SimWorld, process: Process) -> None:
    """A loss that has diverged for two rows only is told once the run has gone quiet."""
    world.write(FILE, rows(1, 9) + rows(10, 11, 9.0))
    process.turn(FILE)
    process.settle(3)
    before = told(world)
    process.turn(seconds=700)
    process.settle(3)

    assert before == []
    assert told(world) == [("a/m", "loss_diverged")]
    assert world.published[-1].runs["a/m"].state == "quiet"


def test_too_few_rows_is_said_at_rest_and_taken_back(world: SimWorld, process: Process) -> None:
    """too_few_steps stands while a young run rests, and resolves with its next row."""
    world.write(FILE, rows(1, 3))
    process.turn(FILE)
    process.turn(seconds=700)
    at_rest = [s.category for s in world.published[-1].runs["a/m"].standing]
    world.write(FILE, rows(4, 4))
    process.turn(FILE)

    assert at_rest == ["too_few_steps"]
    assert list(world.published[-1].runs["a/m"].standing) == []


def test_a_slow_run_is_given_its_time(world: SimWorld, process: Process) -> None:
    """A trainer that logs every half hour is not at rest after ten minutes."""
    for step in range(1, 4):
        world.write(FILE, rows(step, step))
        process.turn(FILE, seconds=1800)
    process.turn(seconds=3600)

    assert world.published[-1].runs["a/m"].state == "active"


def test_a_last_line_without_newline_counts_once(world: SimWorld, process: Process) -> None:
    """At rest a whole object without its newline is a row, once; a torn one never."""
    world.write(FILE, rows(1, 12) + b'{"step": 13, "loss": NaN}')
    world.write("/runs/b/m.jsonl", rows(1, 12) + b'{"step": 13, "loss": Na')
    process.turn(FILE, "/runs/b/m.jsonl")
    process.turn(seconds=700)
    process.settle(3)
    world.write(FILE, b"\n" + rows(14, 14))
    process.turn(FILE)

    assert told(world) == [("a/m", "nan_loss")]
    assert world.published[-1].runs["a/m"].rows == 14
    assert world.published[-1].runs["b/m"].rows == 12


def test_history_is_counted_under_its_own_time(world: SimWorld) -> None:
    """A NaN from before the first start has the file's time, and pages nobody."""
    then = world.now_s - 50_000
    world.now_s = then
    world.write(FILE, rows(1, 5) + rows(6, 6, "NaN"))
    world.now_s += 50_000
    process = Process(world)
    process.settle(4)
    process.turn(seconds=700)
    process.settle(4)
    tally = world.published[-1].runs["a/m"].tallies["nan_loss"]

    assert (1, then) == tuple(tally)
    assert told(world) == []


def test_what_was_written_while_the_daemon_was_down_is_told(
    world: SimWorld, process: Process
) -> None:
    """A NaN in a new file, written between two lives of the daemon, is no history."""
    world.write("/runs/b/m.jsonl", rows(1, 1, "NaN") + rows(2, 40))
    world.now_s += 10_000
    Process(world).settle(4)

    assert told(world) == [("b/m", "nan_loss")]


def test_a_late_configuration_is_seen(world: SimWorld, process: Process) -> None:
    """A config file that comes after the rows is taken in when the run goes quiet."""
    world.write(FILE, rows(1, 40))
    process.turn(FILE)
    world.configs[FILE] = RunConfig(0.5, "/runs/a/config.json")
    process.turn(seconds=700)

    standing = [s.category for s in world.published[-1].runs["a/m"].standing]
    assert "lr_too_high" in standing


class Exploding(Check):
    """Raises at the third row."""

    category = "exploding"
    severity = Severity.WARNING
    suggestion = "mend it"
    check_set = "user"
    hold = Hold(1, 1)

    def __init__(self) -> None:
        self.rows = 0

    def update(self, row: Row) -> Evidence | None:
        self.rows += 1
        assert self.rows < 3
        return None

    def diagnose(self) -> Evidence | None:
        return None

    def to_state(self) -> dict[str, int]:
        return {"rows": self.rows}


def test_a_check_that_raises_is_taken_out(world: SimWorld) -> None:
    """The run goes on without it, the others speak, and it is counted."""
    process = Process(world, checks=(*CHECKS, Exploding))
    process.turn()
    world.write(FILE, rows(1, 5) + rows(6, 6, "NaN"))
    process.turn(FILE)
    process.settle(3)

    assert world.published[-1].totals["check_errors", "exploding"] == 1
    assert world.published[-1].runs["a/m"].rows == 6
    assert told(world) == [("a/m", "nan_loss")]


def test_other_checks_than_before_read_the_run_again(world: SimWorld, process: Process) -> None:
    """After an upgrade the run is read from byte 0, and nothing is counted or told twice."""
    world.write(FILE, rows(1, 5) + rows(6, 6, "NaN"))
    process.turn(FILE)
    process.settle(3)
    process = Process(world, checks=CHECKS[:3])
    process.settle(4)
    world.write(FILE, rows(7, 30) + rows(100, 100, "NaN"))
    process.turn(FILE)
    view = world.published[-1].runs["a/m"]

    assert (view.rows, view.tallies["nan_loss"].total) == (31, 1)
    assert len(told(world)) == 1


def test_resolved_is_told_to_those_who_asked(world: SimWorld) -> None:
    """With send_resolved a notice that was told is followed by its end."""
    process = Process(world, send_resolved=True)
    process.turn()
    world.write(FILE, rows(1, 1, "NaN") + rows(2, 40))
    process.turn(FILE)
    process.settle(6)
    kinds = [notice.type for notice, _, _ in world.outbox.values()]

    assert kinds == ["finding.firing", "finding.resolved"]


def test_a_storm_is_a_digest(world: SimWorld, process: Process) -> None:
    """200 runs that go NaN at once are told in a few messages, each finding once."""
    paths = [f"/runs/r{number}/m.jsonl" for number in range(200)]
    for path in paths:
        world.write(path, rows(1, 1, "NaN"))
    process.turn(*paths)
    process.settle(8)

    assert 200 == len(set(told(world))) == len(told(world))
    assert len(world.received) <= 4


def test_a_digest_keeps_its_members_over_a_crash(world: SimWorld, process: Process) -> None:
    """A digest that failed is sent again whole, under its key, by the next process too."""
    attempts: list[str] = []

    def answer(key: str, number: int) -> Outcome:
        attempts.append(key)
        return Outcome("delivered" if len(attempts) > 4 else "retried", "HTTP 500")

    world.answer = answer
    paths = [f"/runs/r{number}/m.jsonl" for number in range(20)]
    for path in paths:
        world.write(path, rows(1, 1, "NaN"))
    process.turn(*paths)
    process.settle(2)
    process = Process(world)
    for number in range(20, 40):
        world.write(f"/runs/r{number}/m.jsonl", rows(1, 1, "NaN"))
    process.settle(8, seconds=30)

    assert len(set(attempts[:4])) == 1
    assert attempts[0] == world.received[0][1]
    assert len(world.received[0][2]) == 20
    assert len(set(told(world))) == 40


def test_a_file_that_is_gone_ends_its_run(world: SimWorld, process: Process) -> None:
    """A deleted file's run is shown as ended, its counts kept."""
    world.write(FILE, rows(1, 5) + rows(6, 6, "NaN"))
    process.turn(FILE)
    del world.files[FILE]
    process.turn(seconds=20)
    view = world.published[-1].runs["a/m"]

    assert (view.state, view.tallies["nan_loss"].total) == ("ended", 1)


def test_a_data_set_beside_the_metrics_is_left_alone(world: SimWorld, process: Process) -> None:
    """A large file without training fields is read for 64 KiB and no more."""
    world.write("/runs/a/data.jsonl", b'{"text": "hello"}\n' * 100_000)
    world.write(FILE, rows(1, 3))
    process.settle(4)
    reads = world.calls
    world.write("/runs/a/data.jsonl", b'{"text": "more"}\n' * 1000)
    process.settle(4)

    assert list(world.published[-1].runs) == ["a/m"]
    assert world.calls - reads < 30
    assert list(world.stored) == [FILE]


def test_rows_before_the_first_training_field_count(world: SimWorld, process: Process) -> None:
    """Rows before the first loss are rows of the run, and what they said is not lost."""
    world.configs[FILE] = RunConfig(0.5, None)
    world.write(FILE, b'{"event": "config"}\n')
    process.turn(FILE)
    before = dict(world.published[-1].runs)
    world.write(FILE, rows(1, 2))
    process.turn(FILE)
    view = world.published[-1].runs["a/m"]

    assert before == {}
    assert (view.rows, view.tallies["lr_too_high"].total) == (3, 1)


def test_stop_drains(world: SimWorld, process: Process) -> None:
    """Told to stop, it reads once more, keeps it, and tells it."""
    world.write(FILE, rows(1, 1, "NaN"))
    process.inbox.messages.append(Stop("test"))
    process.engine.run()

    assert told(world) == [("a/m", "nan_loss")]
    assert world.published[-1].runs["a/m"].rows == 1


def test_a_row_timestamp_is_the_findings_time(world: SimWorld, process: Process) -> None:
    """A credible time in the row is the finding's time; one in the future is not credible."""
    past, future = int(world.now_s - 90), int(world.now_s + 90_000)
    world.write(FILE, b'{"step": 1, "loss": NaN, "_timestamp": %d}\n' % past)
    world.write("/runs/b/m.jsonl", b'{"step": 1, "loss": NaN, "_timestamp": %d}\n' % future)
    process.turn(FILE, "/runs/b/m.jsonl")
    runs = world.published[-1].runs

    assert past == runs["a/m"].tallies["nan_loss"].last_s
    assert world.now_s == runs["b/m"].tallies["nan_loss"].last_s


def test_two_runs_of_one_name_are_told_apart(world: SimWorld, process: Process) -> None:
    """Files that would give one name get two, and keep them after a restart."""
    world.write("/runs/a/m.jsonl", rows(1, 1))
    world.write("/runs/a/m.json", rows(1, 1))
    process.settle(5)
    names = set(world.published[-1].runs)
    again = Process(world)
    again.settle(3)

    assert {"a/m", "runs/a/m"} == names
    assert names == set(world.published[-1].runs)


def test_a_run_that_ended_is_shown_and_not_held(world: SimWorld, process: Process) -> None:
    """Minutes after its file is gone a run is on disk and shown; after a day on disk alone."""
    world.write(FILE, rows(1, 5) + rows(6, 6, "NaN"))
    process.turn(FILE)
    del world.files[FILE]
    process.settle(15, seconds=10)
    minutes_later = world.published[-1].runs["a/m"]

    assert list(process.engine._files.all()) == []
    assert (world.stored, list(world.ended)) == ({}, [FILE])
    assert (minutes_later.state, minutes_later.tallies["nan_loss"].total) == ("ended", 1)

    process = Process(world)
    process.settle(15, seconds=10)

    assert world.published[-1].runs["a/m"].tallies["nan_loss"].total == 1

    process.turn(seconds=100_000)
    process.turn(seconds=20)

    assert dict(world.published[-1].runs) == {}

    world.write(FILE, rows(1, 5, 3.0) + rows(6, 6, "NaN"))
    process.turn(FILE)
    process.settle(3)
    view = world.published[-1].runs["a/m"]

    assert (view.rows, view.segment, view.tallies["nan_loss"].total) == (12, 2, 2)
    assert len(told(world)) == 2


def test_what_ended_long_before_the_start_is_not_shown(world: SimWorld, process: Process) -> None:
    """A restart does not bring back the runs whose retention is over."""
    world.write(FILE, rows(1, 5))
    process.turn(FILE)
    del world.files[FILE]
    process.settle(15, seconds=10)
    world.now_s += 100_000
    process = Process(world)
    process.settle(2)

    assert dict(world.published[-1].runs) == {}
    assert list(world.ended) == [FILE]


def test_a_run_that_ends_while_nothing_can_be_kept(world: SimWorld, process: Process) -> None:
    """With the disk full a run ends later, and its file may come back before that."""
    world.write(FILE, rows(1, 5) + rows(6, 6, "NaN"))
    process.turn(FILE)
    away = world.files.pop(FILE)
    process.settle(3, seconds=10)
    world.disk_full = True
    process.settle(15, seconds=10)
    shown = world.published[-1].runs["a/m"]
    world.files[FILE] = away
    world.write(FILE, rows(7, 8))
    process.turn(FILE, seconds=2)
    world.write("/runs/a/m.json", rows(1, 1))
    process.turn("/runs/a/m.json", seconds=2)
    world.disk_full = False
    process.settle(5, seconds=10)
    runs = world.published[-1].runs

    assert shown.tallies["nan_loss"].total == 1
    assert set(runs) == {"a/m", "runs/a/m"}
    assert (runs["a/m"].rows, runs["a/m"].tallies["nan_loss"].total) == (8, 1)
    assert (set(world.stored), world.ended) == ({FILE, "/runs/a/m.json"}, {})


def test_a_name_that_could_not_be_kept_yet_is_taken(world: SimWorld, process: Process) -> None:
    """A run that came and ended while the disk was full has its name to itself all the same."""
    process.turn()
    world.disk_full = True
    world.write(FILE, rows(1, 5))
    process.turn(FILE)
    del world.files[FILE]
    process.settle(15, seconds=10)
    world.write("/runs/a/m.json", rows(1, 1))
    process.turn("/runs/a/m.json", seconds=2)
    world.disk_full = False
    process.turn(seconds=2)

    assert set(world.published[-1].runs) == {"a/m", "runs/a/m"}


def test_while_nothing_can_be_kept_nothing_is_read(world: SimWorld, process: Process) -> None:
    """With the disk full the rows wait in their file, and the disk is tried once a second."""
    process.turn()
    world.disk_full = True
    world.write(FILE, rows(1, 5))
    process.turn(FILE)
    calls = world.calls
    for step in range(10):
        world.write(FILE, rows(6 + step, 6 + step))
        process.turn(FILE)

    assert world.calls == calls

    world.disk_full = False
    process.turn(seconds=1)

    assert world.published[-1].runs["a/m"].rows == 15


def test_the_name_of_an_ended_run_stays_taken(world: SimWorld, process: Process) -> None:
    """Another file that would get the name of a run that has ended gets another one."""
    world.write(FILE, rows(1, 5))
    process.turn(FILE)
    del world.files[FILE]
    process.settle(15, seconds=10)
    world.write("/runs/a/m.json", rows(1, 1))
    process.turn("/runs/a/m.json")

    assert set(world.published[-1].runs) == {"a/m", "runs/a/m"}


def shrink(world: SimWorld) -> None:
    """Time passes, and so many runs end that of this one only the counts are kept."""
    record = RunRecord(*msgspec.msgpack.decode(world.ended[FILE])).small()
    assert record is not None
    fields = [record.path, record.name, record.root, record.state]
    world.ended[FILE] = msgspec.msgpack.encode(fields)


@pytest.mark.parametrize("small", [False, True])
def test_the_same_file_that_comes_back_is_not_counted_again(
    world: SimWorld, process: Process, small: bool
) -> None:
    """A file that was away for days, and is the same, is read again without counting again."""
    world.write(FILE, rows(1, 5) + rows(6, 6, "NaN"))
    process.turn(FILE)
    away = world.files.pop(FILE)
    process.settle(15, seconds=10)
    if small:
        shrink(world)
    process.turn(seconds=100_000)
    world.files[FILE] = away
    process.turn(FILE)
    world.write(FILE, rows(7, 7))
    process.turn(FILE)
    view = world.published[-1].runs["a/m"]

    assert (view.rows, view.tallies["nan_loss"].total) == (7, 1)
    assert len(told(world)) == 1


def test_another_file_where_a_run_ended_counts_from_its_start(
    world: SimWorld, process: Process
) -> None:
    """What only the counts are kept of is not taken for another file in its place."""
    world.write(FILE, rows(1, 5) + rows(6, 6, "NaN"))
    process.turn(FILE)
    del world.files[FILE]
    process.settle(15, seconds=10)
    shrink(world)
    world.write(FILE, rows(1, 3, 3.0) + rows(4, 4, "NaN"))
    process.turn(FILE)
    process.settle(3)
    view = world.published[-1].runs["a/m"]

    assert (view.rows, view.tallies["nan_loss"].total) == (4, 2)
    assert len(told(world)) == 2


def test_a_root_that_cannot_be_read_is_said_once() -> None:
    """A root that goes away is named, once; and once more when it is back."""
    machine, said = Machine("none"), []

    class Noted(Silent):
        def _say(self, event: str, **facts: Any) -> None:
            said.append(event)

        debug = info = warning = error = _say

    assert machine.engine is not None
    machine.engine._world.log = Noted()
    away = machine.root.with_name("away")
    for move in (lambda: machine.root.rename(away), lambda: away.rename(machine.root)):
        machine.settle(2)
        move()
        machine.settle(2)
    machine.close()
    assert [event for event in said if event.startswith("root_")] == [
        "root_unreadable",
        "root_readable",
    ]
