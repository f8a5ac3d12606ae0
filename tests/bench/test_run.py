"""A directory in, a score out: the same for the same seed."""

from __future__ import annotations

import os
import pty
import sys
from pathlib import Path

import pytest

from tailwatch.bench import logs
from tailwatch.bench.run import PROGRESS_BYTES_MIN, bench_all
from tailwatch.bench.table import document
from tailwatch.diagnose import Trouble

from .given import SETTINGS, healthy, log_of


def test_the_seed_decides(tmp_path: Path) -> None:
    """Twice the same, and with another seed other places."""
    log_of(tmp_path, healthy(400))
    first, again, other = (
        document(bench_all([str(tmp_path)], SETTINGS, seed, rivals=True)[0]) for seed in (1, 1, 2)
    )

    assert first == again
    assert first["faults"] != other["faults"]
    assert first["checks"] == other["checks"]


def test_every_log_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All logs below the directory, and what cannot be read by its name."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        log_of(tmp_path / name, healthy(40))
    long, gone = tmp_path / "long.jsonl", str(tmp_path / "gone")
    long.write_text('{"step": 1, "loss": 2.0}\n' * 1000)
    monkeypatch.setattr(logs, "LOG_BYTES_MAX", 20_000)
    score, troubles = bench_all([str(tmp_path), gone], SETTINGS, 1, rivals=False)

    assert (score.runs, score.rows) == (2, 80)
    assert Trouble(gone, "No such file or directory") in troubles
    assert [str(long)] == [one.path for one in troubles if "longer than" in one.reason]


def test_a_person_sees_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal there is a bar for work of some seconds."""
    (tmp_path / "m.jsonl").write_text('{"step": 1, "loss": 2.0}\n' + " " * PROGRESS_BYTES_MIN)
    monkeypatch.setattr("tailwatch.shell.progress.REDRAW_S", 0.0)
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        bench_all([str(tmp_path)], SETTINGS, 1, rivals=False)
        stream.write("end")
        stream.flush()
        seen = b""
        while b"end" not in seen:
            seen += os.read(master, 65536)
    os.close(master)

    assert b"MB/s" in seen
