"""What `inspect` prints for a person: 80 columns, the facts, and what to do."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click
import pytest

from tailwatch.config import load_settings
from tailwatch.inspection import inspect_all
from tailwatch.inspection_text import COLUMNS, inspection_text

from .e2e.daemon import row, write


def text_of(*paths: Path, **flags: object) -> str:
    """The text for these paths, without colours."""
    settings = load_settings(flags, {}, os.devnull)
    found = inspect_all([str(path) for path in paths], settings, None, whole_file=False)
    return click.unstyle(inspection_text(found))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run with a little of everything, under a short relative path."""
    rows = [
        {"current_steps": n, "total_steps": 90, "percentage": n, "loss": 3.0, "train_loss": 1.0,
         "aux_loss": 1.0, "elapsed_time": f"0:0{n // 10}:00", "my_grad": 0.5}
        for n in (10, 20, 30, 40)
    ]  # fmt: skip
    lines = [json.dumps(each) for each in rows]
    lines += ["Trace\x1b[31mback", '{"loss": 2.5}', '{"eval_loss": NaN}', '{"cur']
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "e" / "m.jsonl", "\n".join(lines))
    return Path("e/m.jsonl")


def test_the_page_of_a_run(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every fact is on its line, in order."""
    monkeypatch.setattr("tailwatch.inspection_text.CONFIG_NAMES", ("config.json", "x.yaml"))

    assert text_of(run, checks="seed").splitlines() == [
        "e/m  e/m.jsonl",
        "  a metric file",
        "  name         e/m.jsonl matches **/*.jsonl of include",
        "  trainer      LLaMA-Factory (current_steps, total_steps, percentage)",
        "  rows         5 train, 1 eval",
        "  steps        10 to 40, every 10; 90 planned (44% done); 2 rows without a step",
        "  recent       ████▁ (the last losses)",
        "  gaps         longest 60 s, before row 2 (step 20); median 60 s",
        "  bad lines    1 not_json, the first is line 5, byte 604:",
        "    Trace\\x1b[31mback",
        "  fields",
        "    step              current_steps, 4 rows, 10 to 40",
        "    planned_steps     total_steps, 4 rows, 90",
        "    percent           percentage, 4 rows, 10 to 40",
        "    loss              loss, 5 rows, 3 to 2.5",
        "                      not train_loss: 4 rows with a better key",
        "    elapsed_s         elapsed_time, 4 rows, 60 to 240",
        "    eval_loss         eval_loss, 1 row, NaN, 1 NaN",
        "  torn         the last line has no newline yet and is no row: 5 bytes",
        "  what to do   say what its keys mean, if this is right:",
        "                 [[fields]]",
        '                 paths = ["m.jsonl"]',
        '                 map.grad_norm = "my_grad"',
        "  unused       look like fields and feed none: aux_loss",
        "  config       none beside the file (config.json, x.yaml)",
        "  checks",
        "    armed      nan_loss, loss_diverged, too_few_steps, no_metrics",
        "    warming up loss_flat: 5 of 30 losses",
        "    off        grad_norm_high: no row has a gradient norm",
        "    off        lr_too_low, lr_too_high: no configuration names a learning rate",
    ]


def test_a_file_that_is_not_followed(tmp_path: Path) -> None:
    """The pattern that would be needed is given; one that is itself in paths needs none."""
    write(tmp_path / "e" / "m.log", row(1, 2.0))
    text = text_of(tmp_path / "e" / "m.log")
    named = text_of(tmp_path / "e" / "m.log", paths=[str(tmp_path / "e" / "m.log")])

    assert "  not followed no pattern of include matches e/m.log\n" in text
    assert '  what to do   add "**/m.log" to include, or the file itself to paths\n' in text
    assert "  name         it is itself in paths, whatever its name\n" in named


def test_a_directory_names_what_is_left_out(tmp_path: Path) -> None:
    """Files that no pattern lets in and that begin like a run are the first to look at."""
    write(tmp_path / "e" / "m.log", row(1, 2.0))
    write(tmp_path / "e" / "model.bin", "x")

    assert text_of(tmp_path).splitlines()[1:] == [
        "  left out     2 that no pattern lets in: e/m.log, e/model.bin",
        "               of these, like metric files: e/m.log",
        "  what to do   set include so that it matches them",
    ]
    (tmp_path / "none").mkdir()
    assert text_of(tmp_path / "none") == "no file with the name of a metric file"


def test_other_steps_and_a_configuration(tmp_path: Path) -> None:
    """Steps that no key gives are named for what they are, and the configuration with its values."""
    write(tmp_path / "e" / "m.jsonl", '{"loss": 2}\n{"loss": 1}\n')
    write(tmp_path / "e" / "config.yaml", "lr: 2e-4\n")
    text = text_of(tmp_path / "e" / "m.jsonl")
    epochs = "".join(
        f'{{"epoch": {n}, "train_loss": 1, "train_lr": 1}}\n' for n in (1, 2, 3, 4, 5, 1)
    )
    write(tmp_path / "f" / "m.jsonl", epochs)

    assert "  steps        the numbers of the rows: no key is a step\n" in text
    assert "config.yaml:" in text
    assert "learning_rate 0.0002\n" in text
    assert "1 to 1, every 1; whole epochs; 1 resume" in text_of(tmp_path / "f" / "m.jsonl")


def test_it_fits_80_columns_and_is_printable(tmp_path: Path, run: Path) -> None:
    """However long the keys and values are, each line fits, the two of paths and rules aside."""
    record = {"loss\x1b": 2.0, **{f"{'k' * 150}_loss_{n}": 1.0 for n in range(30)}}
    record |= {"step": 1, f"eval_{'x' * 150}_loss": 3, "loss": 1e300}
    write(tmp_path / "e" / "wide.jsonl", (json.dumps(record) + "\n") * 3 + "y" * 500 + "\n")
    for path in (Path("e/wide.jsonl"), run):
        for line in text_of(path).splitlines():
            assert line.isprintable()
            assert len(line) <= COLUMNS or "map." in line, line


def test_colours_are_only_styles(run: Path) -> None:
    """The styled text says the same, and styles there are."""
    settings = load_settings({}, {}, os.devnull)
    styled = inspection_text(inspect_all([str(run)], settings, None, whole_file=False))

    assert "\x1b[" in styled
    assert click.unstyle(styled) == text_of(run)
