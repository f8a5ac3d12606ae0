"""The document of `inspect`: strict JSON, and nothing in it that a terminal would obey."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tailwatch.config import load_settings
from tailwatch.core.watched import Readiness
from tailwatch.inspection import inspect_all
from tailwatch.inspection_document import inspection_document

from .e2e.daemon import write

EVIL = "\x1b[2J\x9b\u202e\x7f"


def document(path: Path) -> dict[str, Any]:
    """The document of a path, as a program reads it."""
    settings = load_settings({}, {}, os.devnull)
    found = inspection_document(inspect_all([str(path)], settings, None, whole_file=False))
    text = json.dumps(found, allow_nan=False, ensure_ascii=False)
    read: dict[str, Any] = json.loads(text)
    return read


def test_every_part(tmp_path: Path) -> None:
    """What was seen of a run is there, each number once."""
    rows = [
        {"step": n, "loss": "nan" if n == 30 else 3.0, "train_loss": 1, "max_steps": 80, "g_norm": 1,
         "timestamp": 1.7e9 + n, "eval_loss": None}
        for n in (10, 20, 30, 40)
    ]  # fmt: skip
    text = "".join(json.dumps(each) + "\n" for each in rows) + 'bad\n{"st'
    write(tmp_path / "exp" / "m.jsonl", text)
    write(tmp_path / "exp" / "config.json", '{"lr": 1e-4}')
    (file,) = document(tmp_path / "exp" / "m.jsonl")["files"]
    uses = {(use["field"], use["key"]): use for use in file["fields"]}
    checks = {each["category"]: each for each in file["checks"]}

    assert (file["metric_file"], file["reason"], file["run"]) == (True, None, "exp/m")
    assert file["followed"]["include"] == "**/*.jsonl"
    assert (file["rows"], file["lines"], file["torn_bytes"]) == (4, 5, 4)
    assert file["kinds"] == {"train": 4}
    assert file["steps"] == {
        "from": "step", "first": 10, "last": 40, "interval": 10, "without_step": 0,
        "planned": 80, "progress": 0.5,
    }  # fmt: skip
    assert file["gaps"] == {
        "from": "timestamp_s", "median_s": 10, "longest_s": 10, "row": 2, "step": 20,
    }  # fmt: skip
    assert [bad | {"offset": 0} for bad in file["bad_lines"]] == [
        {"reason": "not_json", "count": 1, "line": 5, "offset": 0, "text": "bad"}
    ]
    loss = uses["loss", "loss"]
    assert (loss["fed"], loss["nans"], loss["first"], loss["last"]) == (4, 1, 3.0, 3.0)
    assert uses["loss", "train_loss"]["beaten"] == 4
    assert uses["eval_loss", "eval_loss"]["nulls"] == 4
    assert file["hints"] == [{"key": "g_norm", "looks_like": "grad_norm", "rows": 4, "last": 1.0}]
    assert file["suggested_map"] == {"grad_norm": "g_norm"}
    assert file["run_config"]["learning_rate"] == 1e-4
    assert (
        checks["loss_flat"]
        == Readiness("loss_flat", "warming_up", "3 of 30 losses", 3, 30)._asdict()
    )


def test_the_last_step_is_that_of_training(tmp_path: Path) -> None:
    """A test row at the end that counts something else does not end the run at 0."""
    write(
        tmp_path / "m.jsonl", '{"step": 50, "loss": 1, "percentage": 25}\n{"step": 0, "acc": 1}\n'
    )
    (file,) = document(tmp_path / "m.jsonl")["files"]

    assert (file["steps"]["last"], file["steps"]["progress"]) == (50, 0.25)


def test_nothing_of_a_file_reaches_a_terminal_raw(tmp_path: Path) -> None:
    """Keys, values, bad lines, names of files and of directories are all printable."""
    record = {"step": 1, "loss": 1, f"my{EVIL}loss": 2, "x": EVIL, f"eval_{EVIL}_loss": 1}
    text = json.dumps(record, ensure_ascii=False) + f"\n{EVIL}\n"
    write(tmp_path / f"d{EVIL}" / f"m{EVIL}.jsonl", text)
    write(tmp_path / f"d{EVIL}" / f"n{EVIL}.log", text)
    write(tmp_path / f"d{EVIL}" / f"own{EVIL}.jsonl", json.dumps({f"my{EVIL}loss": 2}))
    found = document(tmp_path / f"d{EVIL}")

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(key)
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)
        elif isinstance(value, str):
            assert all(line.isprintable() for line in value.split("\n")), value

    walk(found)
    assert len(found["files"]) == 2
    assert found["left_out"][0]["metric_files"] != []


def test_what_is_not_read_is_said_in_short(tmp_path: Path) -> None:
    """A path that is no regular file has its reason and nothing of rows; a trouble its own."""
    os.mkfifo(tmp_path / "m.jsonl")
    (file,) = document(tmp_path / "m.jsonl")["files"]
    found = document(tmp_path / "no")

    assert (file["metric_file"], file["reason"], "rows" in file) == (False, "not_regular", False)
    assert found["errors"] == [
        {"file": str(tmp_path / "no"), "reason": "No such file or directory"}
    ]
