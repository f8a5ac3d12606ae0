"""Which run a file belongs to: see also tests/test_reading.py, where files are moved and linked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tailwatch.checks import CHECKS
from tailwatch.core.cursor import Cursor
from tailwatch.messages import FoundFile
from tailwatch.owners import Owners
from tailwatch.readers import KeptReader
from tailwatch.shell.follower import LocalFile, LocalFollower
from tailwatch.tracked import Tracked

ROW = b'{"step": 1, "loss": 1.0}\n'


class Kit:
    """Real files, and runs that have read some of them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.follower = LocalFollower()
        self.files: dict[str, Tracked] = {}
        self.owners = Owners(self.follower, self.files)

    def run(self, name: str, content: bytes) -> Tracked:
        """A run that has read its file to the end."""
        path = self.root / name
        path.write_bytes(content)
        run = Tracked(str(path), str(self.root), KeptReader(CHECKS), name, self.read(path))
        self.files[str(path)] = run
        self.owners.note_all(run)
        return run

    def read(self, path: Path) -> Cursor:
        cursor = Cursor()
        file = self.follower.open(str(path), cursor)
        assert isinstance(file, LocalFile)
        cursor.identity = file.seen.stat.identity
        cursor.advance(file.read(0, 1 << 20))
        return cursor

    def found(self, name: str) -> FoundFile:
        info = (self.root / name).stat()
        inode = (info.st_dev, info.st_ino)
        path = str(self.root / name)
        return FoundFile(path, str(self.root), info.st_size, 0.0, inode, (0, 0, 0), info.st_nlink)


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    return Kit(tmp_path)


def test_a_moved_file_has_the_run_that_read_it(kit: Kit) -> None:
    """With the place up to which it was read; a file that nobody read has no run."""
    run = kit.run("a", ROW)
    os.rename(kit.root / "a", kit.root / "b")
    (kit.root / "c").write_bytes(ROW)

    assert kit.owners.owner(kit.found("b")) == (run, run.cursor)
    assert kit.owners.owner(kit.found("c")) is None


def test_one_inode_number_may_be_of_two_runs(kit: Kit) -> None:
    """The run whose file it is gets it, not the first that had the number, nor the last."""
    for name, others in (("a", "bc"), ("b", "ac")):
        run = kit.run(name, ROW * 2)
        for other in others:
            past = kit.run(other, ROW)
            past.cursor = Cursor((*run.cursor.identity[:2], -1))
            kit.owners.note_all(past)
        os.rename(kit.root / name, kit.root / "moved")
        assert kit.owners.owner(kit.found("moved")) == (run, run.cursor)
        kit.owners.forget(list(kit.files.values()))


def test_a_file_that_was_rewritten_has_no_run(kit: Kit) -> None:
    """The same inode with other rows is not the file that was read."""
    run = kit.run("a", ROW)
    os.rename(kit.root / "a", kit.root / "b")
    (kit.root / "b").write_bytes(ROW.replace(b"1", b"2") * 2)

    assert kit.owners.owner(kit.found("b")) is None
    assert kit.owners.holder(run, run.cursor.identity) is None


def test_a_link_has_the_run_at_the_other_name(kit: Kit) -> None:
    """Also one that was made of a file that its run has not opened yet."""
    run = kit.run("a", ROW)
    os.link(kit.root / "a", kit.root / "link")
    assert kit.owners.owner(kit.found("link")) == (run, None)
    (kit.root / "new").write_bytes(ROW)
    os.link(kit.root / "new", kit.root / "link2")
    os.rename(kit.root / "new", kit.root / "a")
    assert kit.owners.owner(kit.found("link2")) == (run, None)


def test_the_holder_is_the_run_itself_first(kit: Kit) -> None:
    """Of two runs that know the file now at a path, the one at this path holds it."""
    one, two = kit.run("a", ROW), kit.run("b", ROW * 2)
    identity = two.cursor.identity
    os.rename(kit.root / "b", kit.root / "a")
    assert kit.owners.holder(one, identity) is two
    one.past.append(two.cursor.taken_over(identity))
    kit.owners.note_all(one)
    assert kit.owners.holder(one, identity) is one
    one.name = None
    assert kit.owners.holder(one, identity) is two


def test_runs_that_are_over_have_no_files(kit: Kit) -> None:
    """Nothing is kept of them."""
    run = kit.run("a", ROW)
    os.rename(kit.root / "a", kit.root / "b")
    kit.owners.forget([run])

    assert (kit.owners.owner(kit.found("b")), kit.owners._runs) == (None, {})
