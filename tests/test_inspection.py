"""Inspecting paths: the same reader, names and fields as the daemon's."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tailwatch.config import Settings, load_settings
from tailwatch.diagnose import read_all
from tailwatch.errors import InputError
from tailwatch.inspection import Inspected, inspect_all
from tailwatch.targets import Trouble

from .e2e.daemon import row, write


def inspect(*paths: Path | str, settings: Settings | None = None) -> Inspected:
    """Inspect with settings of nobody."""
    settings = settings or load_settings({}, {}, os.devnull)
    return inspect_all([str(path) for path in paths], settings, None, whole_file=False)


def test_it_reads_as_check_does(tmp_path: Path) -> None:
    """Rows, segments, bad lines and findings are those of `check`."""
    text = "".join(row(n, 2.0) for n in (*range(1, 20), *range(1, 8))) + "bad\n" + row(9, 1.0)
    write(tmp_path / "a" / "m.jsonl", text + '{"torn')
    settings = load_settings({}, {}, os.devnull)
    (checked,), _ = read_all([str(tmp_path)], settings, None, whole_file=False)
    (file,) = inspect(tmp_path).files

    assert file.diagnosis is not None
    assert file.diagnosis.run == checked.run
    assert file.diagnosis.findings == checked.findings
    assert file.diagnosis.reader.to_state() == checked.reader.to_state()


def test_the_name_is_the_daemons(tmp_path: Path) -> None:
    """Below a directory of `paths` a named file has the name, and the fields, that it has there."""
    write(tmp_path / "runs" / "x" / "y" / "m.jsonl", '{"step": 1, "objective": 2}\n')
    settings_file = tmp_path / "t.toml"
    settings_file.write_text(
        f"paths = [{json.dumps(str(tmp_path / 'runs'))}]\n"
        '[[fields]]\npaths = ["x/y/*"]\nmap.loss = "objective"\n'
    )
    settings = load_settings({}, {}, str(settings_file))
    (file,) = inspect(tmp_path / "runs/x/y/m.jsonl", settings=settings).files

    assert file.diagnosis is not None
    assert file.diagnosis.run == "x/y/m"
    assert file.verdict.reason is None


def test_troubles_and_answers(tmp_path: Path) -> None:
    """What cannot be read is a trouble; a directory without metric files is an answer."""
    (tmp_path / "empty").mkdir()
    found = inspect(tmp_path / "no", tmp_path / "empty", "\0")

    assert found.troubles == [
        Trouble(str(tmp_path / "no"), "No such file or directory"),
        Trouble("\0", "is no path"),
    ]
    assert found.files == []
    assert [each.directory for each in found.left_out] == [str(tmp_path / "empty")]


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    """A FIFO nobody writes to would be waited for without end; a device is none either."""
    os.mkfifo(tmp_path / "m.jsonl")
    fifo, device = inspect(tmp_path / "m.jsonl", "/dev/null").files

    assert fifo.verdict.message == "it is a FIFO, and no regular file"
    assert device.verdict.reason == "not_regular"
    assert fifo.diagnosis is None


def test_a_file_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A permission that is missing is named, and the other files are read."""
    write(tmp_path / "a.jsonl", row(1, 2.0))
    write(tmp_path / "b.jsonl", row(1, 2.0))
    real = os.open

    def refuse(path: str, flags: int, *rest: int) -> int:
        if str(path).endswith("a.jsonl"):
            raise PermissionError(13, "Permission denied")
        return real(path, flags, *rest)

    monkeypatch.setattr(os, "open", refuse)
    found = inspect(tmp_path / "a.jsonl", tmp_path / "b.jsonl")

    assert found.troubles == [Trouble(str(tmp_path / "a.jsonl"), "Permission denied")]
    assert [file.file for file in found.files] == [str(tmp_path / "b.jsonl")]


def test_a_run_configuration_that_is_none(tmp_path: Path) -> None:
    """A configuration that was named and cannot be read is the caller's error."""
    settings = load_settings({}, {}, os.devnull)

    with pytest.raises(InputError, match="cannot be read as a run configuration"):
        inspect_all([], settings, str(tmp_path / "no.json"), whole_file=False)
