"""The metrics in a file: whole at every moment, readable by others, and never fatal."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tailwatch.board import Board
from tailwatch.shell import textfile
from tailwatch.shell.exposition import Exposed, make_registry
from tailwatch.shell.textfile import Textfile
from tests.deploy.tools import promtool
from tests.shell.helpers import MemoryLog, run_view, snapshot, standing, wait_until


@contextmanager
def writing(path: Path, board: Board, log: MemoryLog | None = None) -> Iterator[Textfile]:
    exposed = Exposed([("nan_loss", "critical")], ["ops"])
    registry = make_registry(board, exposed, lambda: 2.0, lambda: 2.0, process=False)
    made = Textfile(str(path), board, registry, log or MemoryLog())
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(textfile, "INTERVAL_S", 0.01)
    monkeypatch.setattr(textfile, "FIRST_S", 0.01)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tailwatch.prom"


def test_it_holds_the_newest_snapshot(file: Path) -> None:
    """Each snapshot is written once it is there, and nothing before the first."""
    board = Board()
    with writing(file, board):
        board.publish(snapshot(run_view("one")))
        wait_until(lambda: file.exists() and 'run="one"' in file.read_text(), "the first")
        board.publish(snapshot(run_view("two", standing=[standing()])))
        wait_until(lambda: 'run="two"' in file.read_text(), "the second")
    assert file.stat().st_mode & 0o777 == 0o644
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_nothing_is_written_before_there_is_something(file: Path) -> None:
    """A file without metrics would end every series that an earlier daemon has left."""
    file.write_text("old 1\n")
    with writing(file, Board()):
        pass
    assert file.read_text() == "old 1\n"


def test_the_last_snapshot_is_written_at_the_end(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was found while the daemon drained is in the file."""
    monkeypatch.setattr(textfile, "INTERVAL_S", 60.0)
    monkeypatch.setattr(textfile, "FIRST_S", 60.0)
    board = Board()
    with writing(file, board):
        board.publish(snapshot(run_view("last")))
    assert 'run="last"' in file.read_text()


def test_an_unchanged_snapshot_is_not_written_again(file: Path) -> None:
    """The file's time is that of the engine's last word: node_exporter exports it."""
    board = Board()
    with writing(file, board) as writer:
        board.publish(snapshot(run_view("r")))
        wait_until(file.exists)
        before = file.stat().st_mtime_ns, file.stat().st_ino
        assert writer.alive()
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == before


def test_promtool_finds_nothing_and_node_exporter_no_double(file: Path) -> None:
    """The format is right, and nothing in it is called as node_exporter's own process_*."""
    board = Board()
    with writing(file, board):
        board.publish(snapshot(run_view("a"), run_view("b", standing=[standing()])))
    text = file.read_text()
    with file.open() as page:
        lint = subprocess.run(
            [promtool(), "check", "metrics"], stdin=page, capture_output=True, check=False
        )
    assert (lint.returncode, lint.stdout, lint.stderr) == (0, b"", b"")
    assert "process_" not in text
    assert 'anomaly_findings_active{category="nan_loss",run="b",severity="critical"} 1.0' in text


def test_no_reader_sees_half_a_file(file: Path) -> None:
    """However often it is read while it is replaced, it begins and ends as it should."""
    board, over, torn = Board(), threading.Event(), []
    board.publish(snapshot(*(run_view(f"r{n}") for n in range(50))))
    reads = 0

    def read() -> None:
        nonlocal reads
        while not over.is_set():
            text = file.read_text()
            reads += 1
            if not text.startswith("# HELP") or "tailwatch_build_info{" not in text[-200:]:
                torn.append(text[-200:])

    with writing(file, board):
        wait_until(file.exists)
        reader = threading.Thread(target=read)
        reader.start()
        inodes = set()
        for n in range(30):
            board.publish(snapshot(*(run_view(f"r{n}-{k}") for k in range(50 + n))))
            wait_until(lambda: f"r{n}-0" in file.read_text())  # noqa: B023
            inodes.add(file.stat().st_ino)
        over.set()
        reader.join()
    assert (torn, reads > 30, len(inodes) > 1) == ([], True, True)


def test_trouble_is_said_once_counted_and_over(tmp_path: Path) -> None:
    """Without the directory nothing ends: it is tried again, and what works again is said."""
    directory = tmp_path / "later"
    board, log = Board(), MemoryLog()
    with writing(directory / "x.prom", board, log) as writer:
        board.publish(snapshot(run_view("r")))
        wait_until(lambda: board.textfile_errors > 2)
        assert log.events() == ["textfile_not_written"]
        assert log.lines[0][2]["error"] == "No such file or directory"
        assert writer.alive()
        directory.mkdir()
        wait_until((directory / "x.prom").exists)
    assert log.events() == ["textfile_not_written", "textfile_written_again"]


def test_a_link_in_the_place_of_the_draft_is_not_followed(tmp_path: Path, file: Path) -> None:
    """In a directory of others nobody gets to choose which file we write."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    os.symlink(victim, f"{file}.tmp")
    board, log = Board(), MemoryLog()
    with writing(file, board, log):
        board.publish(snapshot(run_view("r")))
        wait_until(lambda: log.events() == ["textfile_not_written"])
    assert victim.read_text() == "mine"


def test_a_failed_write_leaves_no_draft(file: Path) -> None:
    """A name that is a directory cannot be replaced; no *.tmp is left beside it."""
    file.mkdir()
    board, log = Board(), MemoryLog()
    with writing(file, board, log):
        board.publish(snapshot(run_view("r")))
        wait_until(lambda: board.textfile_errors)
    assert [each.name for each in file.parent.iterdir()] == [file.name]
