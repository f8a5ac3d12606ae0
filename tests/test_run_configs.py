"""Finding a run's configuration; what is in one is tested in tests/core/test_runconfig.py."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tailwatch.run_configs import find_run_config, read_run_config


def test_the_best_name_wins(tmp_path: Path) -> None:
    """Of several files the first of the known names that can be read is taken."""
    (tmp_path / "config.yaml").write_text("lr: 0.5\n")
    beside = find_run_config(str(tmp_path / "m.jsonl"))
    (tmp_path / "config.json").write_text('{"lr": 0.25}')
    better = find_run_config(str(tmp_path / "m.jsonl"))
    (tmp_path / "config.json").write_text("{broken")
    again = find_run_config(str(tmp_path / "m.jsonl"))

    assert [c and c.learning_rate for c in (beside, better, again)] == [0.5, 0.25, 0.5]


@pytest.mark.parametrize("kind", ["fifo", "directory", "absent"])
def test_what_is_no_file_is_no_configuration(tmp_path: Path, kind: str) -> None:
    """A FIFO or a directory of the name neither hangs nor raises."""
    path = tmp_path / "config.json"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()

    assert read_run_config(str(path)) is None
