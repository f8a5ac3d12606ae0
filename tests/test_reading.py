"""Rotation, moves and links, in the ways in which they happen, on real files."""

from __future__ import annotations

import contextlib
import gzip
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailwatch.errors import StateWriteError
from tailwatch.messages import Commit
from tailwatch.tracked import REST_S

from .model.harness import Machine


@pytest.fixture
def machine() -> Iterator[Machine]:
    """A daemon that is told nothing and must find everything by its sweep."""
    made = Machine("none")
    yield made
    made.close()


def write(machine: Machine, name: str, rows: int) -> Path:
    path = machine.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        for _ in range(rows):
            file.write(machine.row() + b"\n")
    return path


def names(machine: Machine) -> list[str | None]:
    assert machine.engine is not None
    followed = {tracked.name or "" for tracked in machine.engine._files.all()}
    return sorted(followed | {record.name for record in machine.store.load().ended})


@pytest.mark.parametrize("down", [False, True], ids=["running", "stopped"])
@pytest.mark.parametrize("way", ["rename", "copy", "gzip"])
def test_rotation_loses_nothing(machine: Machine, way: str, down: bool) -> None:
    """What was not read before a rotation is read after it, also if we were stopped meanwhile."""
    path = write(machine, "a/m.jsonl", 5)
    machine.settle()
    if down:
        machine.kill()
    write(machine, "a/m.jsonl", 5)
    if way == "rename":
        path.rename(path.with_suffix(".jsonl.1"))
    elif way == "copy":
        shutil.copyfile(path, path.with_suffix(".jsonl.1"))
        path.write_bytes(b"")
    else:
        path.with_suffix(".jsonl.1.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    write(machine, "a/m.jsonl", 5)
    if down:
        machine.start()
    machine.check()

    assert names(machine) == ["a/m"]


def test_a_writer_that_keeps_the_renamed_file_is_followed(machine: Machine) -> None:
    """While nothing is in the new file, what comes to the old one is read."""
    path = write(machine, "a/m.jsonl", 5)
    machine.settle()
    with path.open("ab", buffering=0) as writer:
        path.rename(path.with_suffix(".jsonl.1"))
        path.touch()
        for _ in range(3):
            machine.settle()
            writer.write(machine.row() + b"\n")
        machine.check()


def test_a_moved_directory_keeps_its_runs(machine: Machine) -> None:
    """A run whose directory gets another name keeps its own, its rows, and its state on disk."""
    write(machine, "exp/m.jsonl", 5)
    machine.settle()
    (machine.root / "exp").rename(machine.root / "other")
    write(machine, "other/m.jsonl", 3)
    machine.settle(6)
    machine.kill()
    machine.start()
    write(machine, "other/m.jsonl", 2)
    machine.check()

    assert names(machine) == ["exp/m"]


def test_a_hard_link_is_no_second_run(machine: Machine) -> None:
    """Two names of one file are one run, whichever is seen first and whichever is deleted."""
    path = write(machine, "b/m.jsonl", 3)
    (machine.root / "a").mkdir()
    os.link(path, machine.root / "a" / "link.jsonl")
    machine.settle()
    write(machine, "b/m.jsonl", 3)
    machine.check()
    assert len(names(machine)) == 1

    path.unlink()
    write(machine, "a/link.jsonl", 3)
    machine.settle(6)
    machine.check()
    assert len(names(machine)) == 1


def test_deleted_files_are_let_go(machine: Machine) -> None:
    """Of files that were deleted none stays open."""
    paths = [write(machine, f"r{number}/m.jsonl", 2) for number in range(50)]
    machine.settle()
    for path in paths:
        path.unlink()
    machine.settle()
    held = []
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # That of the listing itself.
            held.append(os.readlink(f"/proc/self/fd/{descriptor}"))

    assert [name for name in held if "(deleted)" in name and "m.jsonl" in name] == []


def test_a_renamed_file_is_read_on_after_a_restart(machine: Machine) -> None:
    """A writer that still has the renamed file is followed over a restart of the daemon too."""
    path = write(machine, "a/m.jsonl", 5)
    machine.settle()
    with path.open("ab", buffering=0) as writer:
        path.rename(path.with_suffix(".jsonl.1"))
        write(machine, "a/m.jsonl", 2)
        machine.settle()
        machine.kill()
        machine.start()
        writer.write(machine.row() + b"\n")
        machine.check()


def test_another_file_on_the_same_inode_is_another_run(machine: Machine) -> None:
    """A new file that happens to get a deleted one's inode is no run that has moved."""
    for number in range(12):
        path = write(machine, f"{number}.jsonl", 5)
        machine.settle()
        path.unlink()
        machine.settle(5)
        write(machine, f"new{number}.jsonl", 3)
        machine.settle(2)

    machine.check()
    assert len(names(machine)) == 24


def test_a_copy_belongs_to_the_file_it_was_made_of(machine: Machine) -> None:
    """A file that begins like an old one, and is emptied, does not bring the old one's copy back."""
    header = b"# the same line at every start\n"
    path = write(machine, "a/m.jsonl", 0)
    path.write_bytes(header)
    write(machine, "a/m.jsonl", 1)
    machine.settle()
    write(machine, "a/m.jsonl", 3)
    shutil.copyfile(path, path.with_suffix(".jsonl.1"))
    path.write_bytes(header)
    machine.settle()
    path.write_bytes(b"")
    machine.check()


def test_two_runs_that_had_the_same_inode_are_known_after_a_restart(machine: Machine) -> None:
    """An inode number that a deleted file had before is not taken for that file's alone."""
    for number in range(12):
        (machine.root / f"exp{number}").mkdir()
        gone = write(machine, f"old{number}.jsonl", 2)
        machine.settle()
        gone.unlink()
        machine.settle()
        write(machine, f"exp{number}/m.jsonl", 5)  # On ext4 mostly on the inode just freed.
    machine.settle()
    machine.kill()
    for number in range(12):
        (machine.root / f"exp{number}").rename(machine.root / f"moved{number}")
    machine.start()
    machine.check()


@pytest.mark.parametrize("down", [False, True], ids=["running", "stopped"])
def test_a_linked_file_that_is_replaced_by_a_copy_is_read_once(
    machine: Machine, down: bool
) -> None:
    """What a hard link keeps of a replaced file is no second run, and its new rows are read."""
    path = write(machine, "a/m.jsonl", 3)
    machine.settle()
    if down:
        machine.kill()
    (machine.root / "links").mkdir()
    os.link(path, machine.root / "links" / "m.jsonl")
    write(machine, "a/m.jsonl", 3)
    shutil.copyfile(path, path.with_suffix(".new"))
    path.with_suffix(".new").rename(path)
    write(machine, "a/m.jsonl", 1)
    if down:
        machine.start()
    machine.check()
    machine.settle(8)
    write(machine, "links/m.jsonl", 2)
    machine.check()

    assert names(machine) == ["a/m"]


def test_a_linked_file_that_is_gzipped_is_read_once(machine: Machine) -> None:
    """What was read of the packed file is not read again of the link that is found later."""
    path = write(machine, "a/m.jsonl", 3)
    machine.settle()
    machine.turn(REST_S + 1)  # Nobody holds the file open now.
    (machine.root / "links").mkdir()
    os.link(path, machine.root / "links" / "m.jsonl")
    write(machine, "a/m.jsonl", 3)
    path.with_suffix(".jsonl.1.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    write(machine, "a/m.jsonl", 3)
    assert machine.engine is not None
    machine.engine._files.hint([str(path)])
    machine.turn()
    machine.check()
    write(machine, "links/m.jsonl", 2)
    machine.check()


def test_many_rotations_to_matching_names_are_known(machine: Machine) -> None:
    """A rotated file that matches is no run of its own, however many came after it."""
    path = write(machine, "a/m.jsonl", 3)
    for number in range(40):
        machine.settle(1)
        path.rename(machine.root / "a" / f"m-{number}.jsonl")
        write(machine, "a/m.jsonl", 2)
    machine.check()
    machine.kill()
    machine.start()
    machine.settle(8)
    machine.check()

    assert names(machine) == ["a/m"]


@pytest.mark.parametrize("settled", [0, 8], ids=["soon", "later"])
def test_a_rotation_that_is_undone_is_read_once(machine: Machine, settled: int) -> None:
    """A rotated file that comes back to its path is read on where it was left."""
    path = write(machine, "a/m.jsonl", 3)
    machine.settle()
    path.rename(path.with_suffix(".jsonl.1"))
    write(machine, "a/m.jsonl", 2)
    machine.settle(1 + settled)
    path.with_suffix(".jsonl.1").rename(path)
    write(machine, "a/m.jsonl", 2)
    machine.check()


def test_a_file_moved_onto_that_of_another_run_is_read_once(machine: Machine) -> None:
    """The run at the new path goes on where the run at the old one had stopped."""
    path = write(machine, "a/m.jsonl", 3)
    write(machine, "b/m.jsonl", 2)
    machine.settle()
    path.rename(machine.root / "b" / "m.jsonl")
    write(machine, "b/m.jsonl", 2)
    machine.check()
    machine.kill()
    machine.start()
    write(machine, "a/m.jsonl", 1)
    machine.check()
    (machine.root / "b" / "m.jsonl").rename(path)
    write(machine, "a/m.jsonl", 2)
    machine.check()

    assert names(machine) == ["a/m", "b/m"]


def test_a_copy_is_found_among_many_rotated_files(machine: Machine) -> None:
    """The newest of the files beside it is looked at first, whatever their names."""
    path = write(machine, "a/m.jsonl", 3)
    for number in range(40):
        old = path.with_suffix(f".jsonl-2026{number:02}")
        old.write_bytes(b"old\n")
        os.utime(old, (number, number))
    machine.settle()
    write(machine, "a/m.jsonl", 3)
    shutil.copyfile(path, path.with_suffix(".jsonl-2027"))
    path.write_bytes(b"")
    machine.check()


def test_a_moved_file_is_known_though_the_new_one_was_seen_first(machine: Machine) -> None:
    """A file that moved, quiet and let go, is known when the sweep finds it; its rest is read."""
    write(machine, "exp/m.jsonl", 3)
    machine.settle()
    machine.turn(REST_S + 1)
    write(machine, "exp/m.jsonl", 3)
    (machine.root / "exp").rename(machine.root / "moved")
    path = write(machine, "exp/m.jsonl", 2)
    assert machine.engine is not None
    machine.engine._files.hint([str(path)])
    machine.turn()
    assert machine.engine._files._reading.files[str(path)].reader.rows == 5
    machine.check()

    assert names(machine) == ["exp/m"]


@pytest.mark.parametrize("torn", [True, False], ids=["torn", "truncated"])
def test_two_followed_paths_of_one_file_are_read_once(machine: Machine, torn: bool) -> None:
    """A link in the place of another run's file is read by the run that is in it, in any state."""
    path = write(machine, "a/m.jsonl", 0 if torn else 2)
    other = write(machine, "b/m.jsonl", 3)
    row = machine.row() + b"\n"
    with path.open("ab", buffering=0) as writer:
        writer.write(row[:20] if torn else row)
        machine.settle()
        os.link(path, path.with_suffix(".link"))
        path.with_suffix(".link").rename(other)
        machine.settle()
        if not torn:
            writer.truncate(0)
        writer.write(row[20:] if torn else machine.row() + b"\n")
        machine.check()


def test_what_another_run_has_read_is_no_copy(machine: Machine) -> None:
    """A file that begins alike, beside a link, is not taken for what was left of the linked one."""
    header = b"# the same line at every start\n"
    path, other = write(machine, "a/m.jsonl", 2), write(machine, "b/m.jsonl", 0)
    other.write_bytes(header)
    write(machine, "b/m.jsonl", 4)
    machine.settle()
    path.write_bytes(header)
    machine.settle()
    other.rename(other.with_suffix(".jsonl.1"))
    os.link(path, other)
    machine.settle()
    path.write_bytes(b"")
    machine.check()


def test_a_link_that_takes_the_place_of_a_run_is_not_read_again(machine: Machine) -> None:
    """When a run's path becomes another name of another run's file, its rows stay that run's."""
    first, second = write(machine, "a.jsonl", 5), write(machine, "b.jsonl", 3)
    machine.settle()
    link = first.with_name("link.tmp")
    os.link(first, link)
    link.rename(second)
    machine.settle()
    write(machine, "a.jsonl", 2)

    machine.check()


@pytest.mark.parametrize("made_anew", [False, True])
def test_what_was_written_before_a_delete_is_read(machine: Machine, made_anew: bool) -> None:
    """Rows that nobody had read when their file was deleted are read from the open file."""
    path = write(machine, "a/m.jsonl", 5)
    machine.settle()
    write(machine, "a/m.jsonl", 3)
    path.unlink()
    if made_anew:
        write(machine, "a/m.jsonl", 2)

    machine.check()


def test_a_run_that_ends_and_moves_before_it_can_be_kept(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An end, a return and a move that are kept in one commit do not stand in each other's way."""

    def full(commit: Commit) -> int:
        raise StateWriteError("the disk is full")

    path = write(machine, "a/m.jsonl", 5)
    machine.settle()
    with monkeypatch.context() as patched:
        patched.setattr(machine.store, "commit", full)
        away = path.rename(machine.directory / "away")
        machine.settle(9)
        away.rename(path.with_name("back.jsonl"))
        machine.settle()
    write(machine, "a/back.jsonl", 1)
    machine.check()

    assert names(machine) == ["a/m"]
    assert [record.path for record in machine.store.load().runs] == [
        str(path.parent / "back.jsonl")
    ]


@pytest.mark.parametrize("down", [False, True], ids=["running", "stopped"])
def test_a_rotation_beside_any_name_of_a_file_is_found(machine: Machine, down: bool) -> None:
    """A file with three names, copied and emptied beside the second: what was unread is read."""
    path = write(machine, "a/m.jsonl", 2)
    machine.settle()
    for name in ("b/m.jsonl", "links/1.jsonl"):
        (machine.root / name).parent.mkdir()
        os.link(path, machine.root / name)
        machine.settle()
    if down:
        machine.kill()
    write(machine, "a/m.jsonl", 3)
    shutil.copyfile(path, machine.root / "b/m.jsonl.1")
    path.write_bytes(b"")
    if down:
        machine.start()
    machine.check()
