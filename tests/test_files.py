"""The followed files: what is history, who is read first, and that none can hurt another."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import ClassVar

import pytest

from tailwatch import discovery
from tailwatch.core.check import Check, RunConfig
from tailwatch.core.findings import Hold, Severity
from tailwatch.core.rows import Row
from tailwatch.files import ENDS_S, TURN_BYTES
from tailwatch.messages import Unreadable
from tailwatch.reading import CHUNK_BYTES, CONFIG_LOOK_S
from tailwatch.records import record_of
from tailwatch.shell.scanner import QUIET_SWEEPS
from tailwatch.tracked import PAST_MAX, REST_S
from tests.files_kit import ROW, WIDE, Kit, after_its_end


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    return Kit(tmp_path)


# History.


def test_first_look_finds_history(kit: Kit) -> None:
    """What is there before the first start is history to its last byte, and later bytes are not."""
    kit.put("a.jsonl", ROW * 3)
    kit.sweep(1000.0)
    assert 3 * len(ROW) == kit.tracked("a.jsonl").history_end


def test_root_that_was_known_holds_news(kit: Kit) -> None:
    """A file that came while the daemon was down, below a root it had looked at, is no history."""
    kit.files.known_roots = {str(kit.root)}
    kit.put("a.jsonl", ROW)
    kit.sweep(1000.0)
    assert (0, len(ROW)) == (
        kit.tracked("a.jsonl").history_end,
        kit.tracked("a.jsonl").backlog_end,
    )


def test_file_that_appears_is_news_unless_it_is_old(kit: Kit) -> None:
    """A new file is live; one that is copied in with an old date is history."""
    kit.sweep(10_000.0)
    kit.put("new.jsonl", ROW, mtime_s=9_990.0)
    kit.put("old.jsonl", ROW, mtime_s=10_000.0 - 3601)
    kit.sweep(10_000.0)
    assert [0, len(ROW)] == [kit.tracked(f"{n}.jsonl").history_end for n in ("new", "old")]


def test_root_is_known_once_it_was_seen(tmp_path: Path) -> None:
    """Roots that could be looked at are remembered, missing ones are not."""
    kit = Kit(tmp_path / "there", tmp_path / "absent")
    kit.root.mkdir()
    kit.sweep(0.0)
    assert ({str(kit.root)}, True) == (kit.files.known_roots, kit.files.swept)


# Order.


def test_hinted_file_goes_before_a_backlog(kit: Kit) -> None:
    """A fresh row is read in the next turn, however much is still to be read of other files."""
    for name in ("a", "b", "c"):
        kit.put(f"{name}.jsonl", WIDE * 1_000)
    kit.put("live.jsonl", ROW)
    kit.sweep(1000.0)
    kit.read()
    kit.files.hint([kit.put("live.jsonl", ROW)])
    opened = kit.read()
    assert ("live.jsonl", {"a.jsonl", "b.jsonl", "c.jsonl"}) == (opened[0], set(opened[1:]))
    assert kit.tracked("live.jsonl").reader.rows == 2


def test_one_chunk_for_a_file_and_turn(kit: Kit) -> None:
    """A long file is read a chunk a turn, and so delays another by a chunk at most."""
    kit.put("long.jsonl", WIDE * 1_000)
    kit.put("short.jsonl", ROW)
    kit.sweep(1000.0)
    assert sorted(kit.read()) == ["long.jsonl", "short.jsonl"]
    assert kit.tracked("long.jsonl").cursor.received == CHUNK_BYTES
    assert kit.files.waiting()
    assert kit.read() == ["long.jsonl"]
    kit.drain()
    assert kit.tracked("long.jsonl").reader.rows == 1_000


def test_turn_is_bounded_and_fair(kit: Kit) -> None:
    """Many long files share the turns: each gets its chunk before any gets a third one more."""
    number = TURN_BYTES // CHUNK_BYTES * 2
    for n in range(number):
        kit.put(f"{n}.jsonl", WIDE * 500)
    kit.sweep(1000.0)
    assert number // 2 == len(kit.read())
    kit.read()
    received = [t.cursor.received for t in kit.files.all()]
    assert {CHUNK_BYTES} == set(received)


# Hints.


def test_hint_of_a_new_file_is_read(kit: Kit) -> None:
    """A file that a hint names first is found and read without waiting for a sweep."""
    kit.sweep(1000.0)
    kit.files.hint([kit.put("exp/new.jsonl", ROW)])
    kit.drain()
    assert kit.tracked("exp/new.jsonl").reader.rows == 1
    assert kit.tracked("exp/new.jsonl").name == "exp/new"


def test_hint_of_a_directory_reads_what_is_below(kit: Kit) -> None:
    """A directory that came whole is read whole."""
    kit.sweep(1000.0)
    for name in ("d/a.jsonl", "d/e/b.jsonl", "d/note.txt"):
        kit.put(name, ROW)
    kit.files.hint([str(kit.root / "d")])
    kit.drain()
    assert sorted(name for name, _ in kit.taken) == ["a.jsonl", "b.jsonl"]


def test_hint_of_nothing_is_passed_over(kit: Kit) -> None:
    """Hints of what is gone, does not match, or lies elsewhere cost nothing."""
    kit.sweep(1000.0)
    kit.files.hint([str(kit.root / "gone.jsonl"), kit.put("a.txt", ROW), "/etc/passwd"])
    kit.drain()
    assert (list(kit.files.all()), kit.taken) == ([], [])


def test_sweep_finds_what_no_hint_told(kit: Kit) -> None:
    """Every change is found by the sweep alone: an append, a rewrite, a replacement."""
    kit.put("a.jsonl", ROW)
    kit.sweep(1000.0)
    kit.drain()
    kit.put("a.jsonl", ROW)
    for _ in range(QUIET_SWEEPS):  # By its time stamp it is an old file.
        kit.sweep(1001.0)
    kit.drain()
    assert kit.tracked("a.jsonl").reader.rows == 2
    (kit.root / "a.jsonl").write_bytes(b'{"step": 1, "loss": 7.0}\n')
    for _ in range(QUIET_SWEEPS):
        kit.sweep(1002.0)
    kit.drain()
    assert (kit.restarts, kit.tracked("a.jsonl").reader.rows) == (["truncated"], 3)
    assert "file_restarted" in kit.log.events()


def test_unchanged_file_is_not_opened(kit: Kit) -> None:
    """A sweep over files that did not change opens none of them."""
    kit.put("a.jsonl", ROW)
    kit.sweep(1000.0)
    kit.drain()
    kit.sweep(1001.0)
    assert kit.read() == []


# Files that are in trouble.


def test_unreadable_file_is_logged_once_and_read_later(kit: Kit) -> None:
    """A file that cannot be read waits by itself, complains once a reason, and is tried again."""
    path = kit.put("bad.jsonl", ROW)
    kit.put("good.jsonl", ROW)
    kit.follower.refused[path] = Unreadable("Permission denied")
    for n in range(3):
        kit.sweep(1000.0 + n)
        kit.drain()
    kit.follower.refused[path] = OSError(5, "Input/output error")
    for n in range(3):
        kit.sweep(1010.0 + n)
        kit.drain()
    said = [facts["reason"] for _, event, facts in kit.log.lines if event == "file_unreadable"]
    assert said == ["Permission denied", "Input/output error"]
    assert kit.tracked("good.jsonl").reader.rows == 1
    del kit.follower.refused[path]
    kit.sweep(1020.0)
    kit.drain()
    assert kit.tracked("bad.jsonl").reader.rows == 1


def test_gone_file_comes_to_rest_once(kit: Kit) -> None:
    """The run of a deleted file ends: its last word is taken, once, and it is read if it returns."""
    path = kit.put("a.jsonl", b'{"step": 1, "loss": 2.0}\n{"step": 2, "loss": 1.0}')
    kit.sweep(1000.0)
    kit.drain()
    assert kit.tracked("a.jsonl").reader.rows == 1
    os.unlink(path)
    for n in range(3):
        kit.sweep(1001.0 + n)
        kit.drain()
    file = kit.tracked("a.jsonl")
    assert (file.gone, file.at_rest, file.reader.rows) == (True, True, 2)
    assert (kit.log.events().count("file_gone"), len(kit.taken)) == (1, 2)
    kit.put("a.jsonl", ROW)
    kit.sweep(1010.0)
    kit.drain()
    assert (file.gone, file.at_rest, file.reader.rows) == (False, False, 3)


def test_files_of_a_missing_root_are_not_gone(tmp_path: Path) -> None:
    """A root that cannot be read (a mount that is away) says nothing about its files."""
    kit = Kit(tmp_path / "root")
    kit.put("a.jsonl", ROW)
    kit.sweep(1000.0)
    kit.drain()
    kit.root.rename(tmp_path / "away")
    kit.sweep(1001.0)
    kit.drain()
    assert not kit.tracked("a.jsonl").gone


# Candidates and names.


def test_other_jsonl_is_no_run(kit: Kit) -> None:
    """A data set is read for 64 KiB and skipped; when a metric file replaces it, that is a run."""
    data = json.dumps({"prompt": "x" * 100}).encode() + b"\n"
    kit.put("data.jsonl", data * 5000)
    kit.sweep(1000.0)
    kit.drain()
    file = kit.tracked("data.jsonl")
    assert (file.name, file.skipped, file.lag_bytes) == (None, True, 0)
    assert file.cursor.received <= CHUNK_BYTES
    kit.put("new", ROW)
    os.replace(kit.root / "new", kit.root / "data.jsonl")
    kit.sweep(1001.0)
    kit.drain()
    assert (file.name, file.skipped) == ("data", False)


def test_names_are_distinct_and_stay(tmp_path: Path) -> None:
    """Two files that would have one name get two, and keep them after a restart."""
    kit = Kit(tmp_path / "one", tmp_path / "two")
    kit.put("m.jsonl", ROW)
    kit.put("../two/m.jsonl", ROW)
    kit.sweep(1000.0)
    kit.drain()
    names = {t.path: t.name for t in kit.files.all()}
    assert {"m", "two/m"} == set(names.values())
    again = Kit(tmp_path / "two", tmp_path / "one")
    again.files.restore([record_of(t) for t in kit.files.all()], 1000.0, 0.0)
    again.sweep(1001.0)
    again.drain()
    assert names == {t.path: t.name for t in again.files.all()}


def test_restored_file_goes_on_where_it_was(kit: Kit) -> None:
    """After a restart only new rows are read."""
    kit.put("a.jsonl", ROW * 5)
    kit.sweep(1000.0)
    kit.drain()
    again = Kit(kit.root)
    again.files.restore([record_of(t) for t in kit.files.all()], 1000.0, 0.0)
    again.put("a.jsonl", ROW)
    again.sweep(1001.0)
    again.drain()
    assert again.tracked("a.jsonl").reader.rows == 6


def test_restored_runs_are_counted_without_those_that_ended(kit: Kit) -> None:
    """The log line of a start says how many are followed."""
    for name in ("a.jsonl", "b.jsonl", "c.jsonl"):
        kit.put(name, ROW)
    kit.sweep(1000.0)
    kit.drain()
    *followed, ended = [record_of(t) for t in kit.files.all()]
    again = Kit(kit.root)
    assert again.files.restore(followed, 1000.0, 0.0, [ended]) == 2
    assert len(list(again.files.all())) == 3


@pytest.mark.parametrize(
    ("since", "opened"),
    [("nothing", []), ("row", ["m.jsonl"]), ("time", ["m.jsonl"]), ("other", ["m.jsonl"])],
)
def test_restored_file_is_opened_if_something_happened_to_it(
    kit: Kit, since: str, opened: list[str]
) -> None:
    """Of ten thousand runs at a start only those are read that were written to since."""
    path = Path(kit.put("m.jsonl", ROW))
    kit.sweep(1000.0)
    kit.drain()
    if since == "row":
        kit.put("m.jsonl", ROW)
    elif since == "time":
        os.utime(path, (1001.0, 1001.0))
    elif since == "other":
        path.rename(path.with_suffix(".tmp"))
        kit.put("m.jsonl", ROW)
    again = Kit(kit.root)
    again.files.restore([record_of(t) for t in kit.files.all()], 1000.0, 0.0)
    again.sweep(1001.0)
    assert (again.read(), again.files.waiting()) == (opened, False)


def test_restored_silence_counts_on(kit: Kit) -> None:
    """A run that was silent before the restart does not start its silence anew."""
    kit.put("a.jsonl", ROW)
    kit.sweep(1000.0)
    kit.drain(1000.0)
    again = Kit(kit.root)
    again.files.restore([record_of(t) for t in kit.files.all()], 1000.0 + REST_S, 50.0)
    assert again.tracked("a.jsonl").read_at_s == 50.0 - REST_S


# Rest and configuration.


def test_silent_run_comes_to_rest_once(kit: Kit) -> None:
    """After its silence a run rests, once; a new row wakes it."""
    kit.put("a.jsonl", ROW)
    kit.sweep(1000.0)
    kit.drain(1000.0, 0.0)
    taken = len(kit.taken)
    kit.files.rest(1000.0 + REST_S, REST_S - 1)
    assert taken == len(kit.taken)
    for _ in range(2):
        kit.files.rest(1000.0 + REST_S, REST_S)
    assert (taken + 1, True) == (len(kit.taken), kit.tracked("a.jsonl").at_rest)
    kit.files.hint([kit.put("a.jsonl", ROW)])
    kit.drain(2000.0, 1000.0)
    assert not kit.tracked("a.jsonl").at_rest


class FakeCheck(Check):
    """A check that finds nothing and remembers which configurations it was given, and when."""

    category = "fake"
    severity = Severity.INFO
    suggestion = ""
    reads = ("loss",)
    hold = Hold(rows=1, clear_rows=None)
    told: ClassVar[list[object]] = []

    def update(self, row: Row) -> None:
        self.told.append(row.number)

    def diagnose(self) -> None:
        return None

    def configure(self, config: RunConfig) -> None:
        self.told.append(config.learning_rate)

    def to_state(self) -> dict[str, object]:
        return {}


def test_configuration_reaches_the_checks(tmp_path: Path) -> None:
    """The configuration is taken before the rows, and looked for again, though not at each read."""
    FakeCheck.told.clear()
    kit = Kit(tmp_path, checks=[FakeCheck])
    path = kit.put("a.jsonl", ROW)
    kit.follower.configs[path] = RunConfig(0.5, "config.yaml")
    kit.sweep(1000.0)
    kit.drain()
    for monotonic_s, rate in ((1.0, 0.25), (CONFIG_LOOK_S, 0.125)):
        kit.follower.configs[path] = RunConfig(rate, "config.yaml")
        kit.files.hint([kit.put("a.jsonl", ROW)])
        kit.drain(1000.0, monotonic_s)
    assert FakeCheck.told == [None, 0.5, 1, 2, 0.125, 3]


# Runs that have ended.


def test_of_files_that_are_gone_nothing_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a thousand files that came and went, runs or not, no trace is left in memory."""
    monkeypatch.setattr(discovery, "ENDED_INODES_MAX", 100)
    kit = Kit(tmp_path)
    kit.sweep(1000.0)
    for number in range(1000):
        row = ROW if number % 2 else b'{"text": "no metric"}\n'
        kit.put(f"{number}.jsonl", row)
    kit.sweep(1000.0)
    kit.drain()
    for number in range(1000):
        (tmp_path / f"{number}.jsonl").unlink()
    after_its_end(kit)
    reading = kit.files._reading

    assert len(kit.ended) == 500
    held = (reading.files, reading.names, reading.owners._runs, reading.hinted, reading.behind)
    assert [len(each) for each in (*held, reading._config_looks)] == [0] * 6
    assert len(kit.files._discovery.ended) == 100


def test_a_file_that_is_only_away_for_a_moment_has_not_ended(tmp_path: Path) -> None:
    """A file that is there again before the time is up is the run that it was."""
    kit = Kit(tmp_path)
    path = kit.put("m.jsonl", ROW)
    kit.sweep(1000.0)
    kit.drain()
    Path(path).unlink()
    for monotonic_s in (10.0, 20.0, ENDS_S):
        kit.sweep(1000.0, monotonic_s)
        kit.drain(1000.0, monotonic_s)

    assert kit.ended == {}
    assert [tracked.path for tracked in kit.files.all()] == [path]


def test_a_run_with_a_rotated_file_has_not_ended(tmp_path: Path) -> None:
    """As long as a file is there that the run was in, it is not taken for a new run."""
    kit = Kit(tmp_path)
    path = kit.put("m.jsonl", ROW)
    kit.sweep(1000.0)
    kit.drain()
    Path(path).rename(tmp_path / "m-1.jsonl")
    kit.put("m.jsonl", WIDE)
    kit.sweep(1000.0, 10.0)
    kit.drain(1000.0, 10.0)
    Path(path).unlink()
    after_its_end(kit, 20.0)

    assert [tracked.name for tracked in kit.files.all()] == ["m"]
    assert kit.ended == {}

    (tmp_path / "m-1.jsonl").unlink()
    after_its_end(kit, 1000.0)

    assert list(kit.ended) == [path]


def test_a_run_whose_links_are_all_gone_ends(tmp_path: Path) -> None:
    """A file that had two names, and has none, is not looked for under the other for ever."""
    kit = Kit(tmp_path)
    path = kit.put("m.jsonl", ROW)
    kit.sweep(1000.0)
    kit.drain()
    os.link(path, tmp_path / "n.jsonl")
    kit.sweep(1000.0, 10.0)
    kit.drain(1000.0, 10.0)
    Path(path).unlink()
    (tmp_path / "n.jsonl").unlink()
    after_its_end(kit, 20.0)

    assert list(kit.ended) == [path]
    assert list(kit.files.all()) == []


def test_rotations_do_not_add_up(tmp_path: Path) -> None:
    """A run that is rotated for years remembers the files of its last rotations only."""
    kit = Kit(tmp_path)
    path = Path(kit.put("m.jsonl", ROW))
    for number in range(100):
        now_s = 100.0 * number
        kit.sweep(1000.0, now_s)
        kit.drain(1000.0, now_s)
        path.rename(tmp_path / f"m.jsonl.{number}")  # Kept, so that no inode is used again.
        kit.put("m.jsonl", b'{"step": %d, "loss": 1.0}\n' % (number + 2))
    inodes = len(kit.files._reading.owners._runs)
    kit.follower.release(str(path))

    assert kit.restarts == ["replaced"] * 99
    # The file it is in, the one just left, those of the past, and the new one at the path.
    assert inodes <= PAST_MAX + 3
