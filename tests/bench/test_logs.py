"""Logs: every byte in a line, every row with the line it came from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailwatch.bench import logs
from tailwatch.bench.logs import Log, read_logs
from tailwatch.diagnose import Target, Trouble

from .given import SETTINGS, found_in, healthy, log_of

MIXED = (
    '{"step": 1, "loss": 2.0}\r\n'
    "no json\n"
    '{"step": 2, "loss": 1.9}{"step": 3, "loss": 1.8}\n'
    '{"step": 4, "loss": 1.7}'
)


def test_rows_know_their_lines(tmp_path: Path) -> None:
    """A row that has a line to itself has its number; rows that share one have none."""
    log = log_of(tmp_path, MIXED)

    assert b"".join(log.lines) == MIXED.encode()
    assert [(s.row.step, s.line) for s in log.rows] == [(1, 0), (2, None), (3, None), (4, 3)]


def test_rows_know_their_segments(tmp_path: Path) -> None:
    """Rows after the trainer began anew are of the next segment."""
    log = log_of(tmp_path, [*healthy(20), *healthy(15)])

    assert [seen.segment for seen in log.rows] == [1] * 20 + [2] * 15


def test_what_is_no_log_gives_nothing(tmp_path: Path) -> None:
    """Files without a training field are passed; what cannot be read is named."""
    (tmp_path / "data.jsonl").write_text('{"text": "hello"}\n' * 3)
    (tmp_path / "torn.jsonl").write_text("no json\n")
    gone = Target(str(tmp_path / "gone.jsonl"), None, 5, True)
    read: list[int] = []
    got = list(read_logs([*found_in(tmp_path), gone], SETTINGS, read.append))

    assert got == [Trouble(gone.path, "No such file or directory")]
    assert read == [54, 8, 5]


def test_a_log_that_is_too_long_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not fit into memory is left out, and said."""
    log_of(tmp_path, healthy(10))
    monkeypatch.setattr(logs, "LOG_BYTES_MAX", 100)
    (got,) = read_logs(found_in(tmp_path), SETTINGS, lambda _: None)

    assert isinstance(got, Trouble)
    assert "longer than" in got.reason


def test_a_trainer_state_is_its_rows(tmp_path: Path) -> None:
    """Of trainer_state.json the entries of log_history are the lines."""
    state = '{"log_history": [{"loss": 2.0, "step": 1},\n {"loss": 1.5, "step": 2}], "epoch": 1}'
    (tmp_path / "trainer_state.json").write_text(state)
    (log,) = read_logs(found_in(tmp_path), SETTINGS, lambda _: None)

    assert isinstance(log, Log)
    assert log.lines == [b'{"loss":2.0,"step":1}\n', b'{"loss":1.5,"step":2}\n']
