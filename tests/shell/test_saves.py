"""Saves to the engine: one file for each run, and nothing else is changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tailwatch.core.cursor import Cursor
from tailwatch.core.globs import PathFilter
from tailwatch.messages import SIZE_UNKNOWN, FoundFile, Unreadable
from tailwatch.shell.follower import LocalFollower
from tailwatch.shell.saves import SavesFollower, SavesScanner
from tailwatch.shell.scanner import DirectoryScanner
from tests.trainer import Trainer

WANTED = PathFilter(["**/*.jsonl", "**/*trainer_state.json"], ["**/no/**"])


def scanner(*roots: Path) -> SavesScanner:
    return SavesScanner(DirectoryScanner([str(root) for root in roots], WANTED))


@pytest.fixture
def trainer(tmp_path: Path) -> Trainer:
    made = Trainer(tmp_path / "a", time_s=1e9)
    for last in (50, 100):
        made.log_to(last)
        made.save()
    return made


def test_all_saves_are_one_file(trainer: Trainer, tmp_path: Path) -> None:
    """A sweep shows one file, of the newest time, whose inode is the directory's."""
    trainer.finish()
    (found,) = scanner(tmp_path).sweep().values()
    info = trainer.out.stat()
    assert (found.path, found.root) == (str(trainer.out / "trainer_state.json"), str(tmp_path))
    assert (found.size, found.mtime_s) == (SIZE_UNKNOWN, 1e9 + 3)
    assert found.inode == (info.st_dev, info.st_ino)
    assert found.changed[1] == 1_000_000_003 * 10**9


def test_every_change_of_a_save_is_seen(trainer: Trainer, tmp_path: Path) -> None:
    """The mark of a run changes when a save comes, goes or is written again, and only then."""

    def mark() -> tuple[int, int, int]:
        (found,) = scanner(tmp_path).sweep().values()
        return found.changed

    marks = [mark()]
    assert marks == [mark()]
    trainer.save("checkpoint-200")
    marks.append(mark())
    (trainer.path("checkpoint-50")).unlink()
    marks.append(mark())
    trainer.write(trainer.path("checkpoint-100"), "{")
    marks.append(mark())
    assert len(set(marks)) == 4


def test_a_hint_of_a_save_finds_its_run(trainer: Trainer, tmp_path: Path) -> None:
    """Whether the file, its directory or the run's is named, the run is found."""
    run = str(trainer.out / "trainer_state.json")
    for hint in (trainer.path("checkpoint-50"), trainer.out / "checkpoint-50", trainer.out):
        assert [found.path for found in scanner(tmp_path).find(str(hint))] == [run]
    assert list(scanner(tmp_path).find(run)) == []


def test_unfinished_directories_are_passed_over(tmp_path: Path) -> None:
    """A save whose directory will be renamed is found after that."""
    trainer = Trainer(tmp_path)
    trainer.log_to(50)
    trainer.save("tmp-checkpoint-50")
    assert list(scanner(tmp_path).sweep().values()) == []
    (tmp_path / "tmp-checkpoint-50").rename(tmp_path / "checkpoint-50")
    assert [f.path for f in scanner(tmp_path).sweep().values()] == [
        str(tmp_path / "trainer_state.json")
    ]


def test_roots_within_roots(trainer: Trainer, tmp_path: Path) -> None:
    """A directory of a save that is itself a root is its own run; so is a file that is one."""
    place = trainer.out / "checkpoint-50"
    (alone,) = scanner(place).sweep().values()
    (named,) = scanner(place / "trainer_state.json").sweep().values()
    assert alone.path == named.path == str(place / "trainer_state.json")
    assert len(list(scanner(tmp_path, trainer.out).sweep().values())) == 1


def test_other_files_are_as_they_were(tmp_path: Path) -> None:
    """Metric files and states of another name are shown one by one."""
    for name in ("m.jsonl", "x_trainer_state.json"):
        (tmp_path / name).write_text("{}\n")
    inner = DirectoryScanner([str(tmp_path)], WANTED)
    metric, state = inner.sweep().values()
    assert list(SavesScanner(inner).sweep().values()) == [
        metric,
        state._replace(size=SIZE_UNKNOWN),
    ]
    assert isinstance(metric, FoundFile)


def test_follower_reads_states_and_leaves_the_rest(trainer: Trainer, tmp_path: Path) -> None:
    """A state is opened as lines; any other file as it is; an excluded save not at all."""
    inner = LocalFollower()
    follower = SavesFollower(inner, DirectoryScanner([str(tmp_path)], WANTED))
    run = str(trainer.out / "trainer_state.json")
    metric = tmp_path / "m.jsonl"
    metric.write_text('{"loss": 1}\n')
    opened, other = follower.open(run, Cursor()), follower.open(str(metric), Cursor())
    assert not isinstance(opened, Unreadable)
    assert not isinstance(other, Unreadable)
    assert opened.read(0, 1000).count(b"\n") == 5
    assert other.read(0, 1000) == metric.read_bytes()
    assert follower.inode(run) == (os.stat(trainer.out).st_dev, os.stat(trainer.out).st_ino)
    assert follower.inode(str(metric)) == inner.inode(str(metric))
    # A file of lines beside a run of saves is nothing that is left of it.
    cursor = Cursor()
    cursor.advance(opened.read(0, 1000))
    (trainer.out / "trainer_state.json.1").write_bytes(opened.read(0, 1000) * 2)
    assert inner.remainder(run, cursor, [], [], lambda _: False) is not None
    assert follower.remainder(run, cursor, [], [], lambda _: False) is None
    hidden = Trainer(tmp_path / "no")
    hidden.log_to(50)
    hidden.save()
    gone = follower.open(str(hidden.out / "trainer_state.json"), Cursor())
    assert gone == Unreadable("not there", gone=True)
    inner.close()
