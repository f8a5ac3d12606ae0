"""Who writes to a file, seen on real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tailwatch.shell.holders import written_by

HOLD = "import sys; f = open(sys.argv[1], sys.argv[2]); print(flush=True); sys.stdin.read()"


def test_a_process_that_writes_is_found(tmp_path: Path) -> None:
    """While it holds the file open for writing, and no longer."""
    path = tmp_path / "m.jsonl"
    command = [sys.executable, "-c", HOLD, str(path), "a"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert written_by([str(path)]) == {str(path): process.pid}
        process.communicate(b"")
    assert written_by([str(path)]) == {}


def test_readers_do_not_count(tmp_path: Path) -> None:
    """Whoever only reads, as we do, is no writer; a path that is gone is nobody's."""
    path = tmp_path / "m.jsonl"
    path.write_text("")
    with path.open("rb"):
        assert written_by([str(path), str(tmp_path / "gone")]) == {}


def test_what_cannot_be_looked_into_is_passed(tmp_path: Path) -> None:
    """A process without readable descriptors, and a /proc that is not there, raise nothing."""
    path = tmp_path / "m.jsonl"
    path.write_text("")
    fake = tmp_path / "proc"
    (fake / "12").mkdir(parents=True)
    (fake / "13" / "fd").mkdir(parents=True)
    os.symlink(path, fake / "13" / "fd" / "3")
    (fake / "self").mkdir()
    assert written_by([str(path)], str(fake)) == {}
    (fake / "13" / "fdinfo").mkdir()
    (fake / "13" / "fdinfo" / "3").write_text("pos:\t0\nflags:\t0100002\n")
    assert written_by([str(path)], str(fake)) == {str(path): 13}
    assert written_by([str(path)], str(tmp_path / "none")) == {}
