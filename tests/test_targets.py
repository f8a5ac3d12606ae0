"""The files that the paths of a command mean."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tailwatch.config import Settings, load_settings
from tailwatch.targets import Trouble, targets

from .e2e.daemon import row, write


@pytest.fixture
def settings() -> Settings:
    return load_settings({}, {}, os.devnull)


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
