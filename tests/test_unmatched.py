"""What the patterns leave out of a directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import tailwatch.unmatched
from tailwatch.config import load_settings
from tailwatch.unmatched import EXAMPLES_MAX, unmatched

from .e2e.daemon import row, write


def test_files_that_begin_like_metric_files_are_named(tmp_path: Path) -> None:
    """Of what no pattern lets in, the ones with training rows; the others are only counted."""
    write(tmp_path / "a" / "m.jsonl", row(1, 2.0))
    write(tmp_path / "a" / "train.log", "starting\n" + row(1, 2.0))
    write(tmp_path / "a" / "whole.txt", row(1, 2.0).strip())
    write(tmp_path / "a" / "args.json", '{"weight_decay": 0.1, "lr": 1e-4}\n')
    write(tmp_path / "a" / "model.bin", row(1, 2.0))
    (tmp_path / "a" / "empty.log").touch()
    settings = load_settings({}, {}, os.devnull)
    found = unmatched(str(tmp_path), settings)

    assert found.metric == ["a/train.log", "a/whole.txt"]
    assert found.count == 5
    assert found.examples == [
        f"a/{name}" for name in ("args.json", "empty.log", "model.bin", "train.log", "whole.txt")
    ]


def test_own_rules_for_keys_count(tmp_path: Path) -> None:
    """A file whose keys are mapped by a setting is told as one."""
    write(tmp_path / "a" / "x.log", '{"step": 1, "objective": 2}\n')
    file = tmp_path / "t.toml"
    file.write_text('[[fields]]\npaths = ["x.log"]\nmap.loss = "objective"\n')

    assert unmatched(str(tmp_path / "a"), load_settings({}, {}, str(file))).metric == ["x.log"]


def test_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only so many names are kept, and only so many files are opened."""
    monkeypatch.setattr(tailwatch.unmatched, "LOOKED_AT_MAX", 3)
    for n in range(EXAMPLES_MAX + 5):
        write(tmp_path / f"{n:03}.log", row(1, 2.0))
    found = unmatched(str(tmp_path), load_settings({}, {}, os.devnull))

    assert (found.count, len(found.examples), len(found.metric)) == (
        EXAMPLES_MAX + 5, EXAMPLES_MAX, 3,
    )  # fmt: skip


def test_only_the_beginning_is_read(tmp_path: Path) -> None:
    """A file whose first 64 KiB hold no training row is none, as for the daemon."""
    write(tmp_path / "late.log", '{"note": "x"}\n' * 6000 + row(1, 2.0))

    assert unmatched(str(tmp_path), load_settings({}, {}, os.devnull)).metric == []
