"""Reading files once: targets, names, and what is skipped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tailwatch.config import Settings, load_settings
from tailwatch.diagnose import Diagnosis, Reading, Target, Trouble, targets
from tailwatch.documents import check_document

from .e2e.daemon import row, write


@pytest.fixture
def settings() -> Settings:
    return load_settings({}, {}, os.devnull)


def read(path: Path, settings: Settings) -> Diagnosis:
    """Read one named file."""
    (target,) = targets([str(path)], settings)
    assert isinstance(target, Target)
    got = Reading(settings).read(target)
    assert isinstance(got, Diagnosis)
    return got


def test_targets_of_a_directory(tmp_path: Path, settings: Settings) -> None:
    """A directory means the matching files below it, in order, under the path as given."""
    for name in ("b/m.jsonl", "a/m.jsonl", "a/notes.txt"):
        write(tmp_path / name, row(1, 2.0))
    found = list(targets([str(tmp_path)], settings))

    assert [str(tmp_path / "a/m.jsonl"), str(tmp_path / "b/m.jsonl")] == [t.path for t in found]


def test_troubles(tmp_path: Path, settings: Settings) -> None:
    """What cannot be read, or holds nothing to read, is named with its reason."""
    (tmp_path / "empty").mkdir()
    found = list(targets([str(tmp_path / "no"), str(tmp_path / "empty"), "\0"], settings))

    assert [
        Trouble(str(tmp_path / "no"), "No such file or directory"),
        Trouble(
            str(tmp_path / "empty"), "has no file with the name of a metric file; see --include"
        ),
        Trouble("\0", "is no path"),
    ] == found


@pytest.mark.parametrize(
    ("text", "skipped"),
    [
        ("", ""),
        ("\n\n", ""),
        ('{"text": "x"}\n', "no training fields"),
        ('{"text": "x"}\n' * 10_000 + row(1, 2.0), "no training fields"),
        ("no json\n", "no JSON lines"),
        ('{\n  "best_epoch": 3,\n  "training_loss": 0.5\n}\n', "no JSON lines"),
        ("torn", "no JSON lines"),
        ('{"loss": 1}', ""),
    ],
)
def test_what_is_no_metric_file(
    tmp_path: Path, settings: Settings, text: str, skipped: str
) -> None:
    """A file without training fields, or without JSON, is skipped for that reason."""
    (tmp_path / "m.jsonl").write_text(text)

    assert skipped == read(tmp_path / "m.jsonl", settings).skipped


def test_a_last_line_without_newline(tmp_path: Path, settings: Settings) -> None:
    """A whole object at the end is a row; a torn one is neither a row nor a bad line."""
    (tmp_path / "whole.jsonl").write_text(row(1, 2.0) + row(2, 2.0).strip())
    (tmp_path / "torn.jsonl").write_text(row(1, 2.0) + '{"step": 2, "lo')

    assert read(tmp_path / "whole.jsonl", settings).reader.rows == 2
    torn = read(tmp_path / "torn.jsonl", settings).reader
    assert (torn.rows, torn.bad_lines.total()) == (1, 0)


def test_names_are_distinct(tmp_path: Path, settings: Settings) -> None:
    """Two directories with the same layout give different names."""
    for root in ("x", "y"):
        write(tmp_path / root / "exp" / "m.jsonl", row(1, 2.0))
    reading = Reading(settings)
    found = targets([str(tmp_path / "x"), str(tmp_path / "y")], settings)
    got = [reading.read(target) for target in found if isinstance(target, Target)]

    assert [d.run for d in got if isinstance(d, Diagnosis)] == ["exp/m", "y/exp/m"]


def test_a_finding_that_comes_back_soon_is_one_entry(tmp_path: Path, settings: Settings) -> None:
    """History shows a finding that fired again within 50 rows once, with its last end."""
    losses = ["NaN" if n in (5, 40) else "2.0" for n in range(1, 81)]
    text = "".join(f'{{"step": {n}, "loss": {x}}}\n' for n, x in enumerate(losses, 1))
    (tmp_path / "m.jsonl").write_text(text)
    document = check_document([read(tmp_path / "m.jsonl", settings)])
    entries = [e for e in document["runs"][0]["history"] if e["category"] == "nan_loss"]

    assert [(e["step"], e["resolved_step"]) for e in entries] == [(5, 60)]
