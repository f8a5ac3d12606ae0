"""Reading files once: targets, names, and what is skipped."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tailwatch.config import Settings, load_settings
from tailwatch.diagnose import Diagnosis, Reading, read_all
from tailwatch.documents import check_document
from tailwatch.targets import Target, targets

from .e2e.daemon import row, write
from .trainer import Trainer


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


def test_the_configuration_is_named_like_the_file(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is found wherever we stand, and its path is relative if that of the file is."""
    file, source = tmp_path / "exp" / "logs" / "m.jsonl", tmp_path / "exp" / "args.json"
    write(file, row(1, 2.0))
    write(source, '{"lr": 0.5}')
    monkeypatch.chdir(file.parent)
    named = [
        check_document([read(path, settings)])["runs"][0]["run_config"]
        for path in (Path("m.jsonl"), Path("../logs/m.jsonl"), file)
    ]

    assert named == ["../args.json", "../args.json", str(source)]


def test_a_finding_that_comes_back_soon_is_one_entry(tmp_path: Path, settings: Settings) -> None:
    """History shows a finding that fired again within 50 rows once, with its last end."""
    losses = ["NaN" if n in (5, 40) else "2.0" for n in range(1, 81)]
    text = "".join(f'{{"step": {n}, "loss": {x}}}\n' for n, x in enumerate(losses, 1))
    (tmp_path / "m.jsonl").write_text(text)
    document = check_document([read(tmp_path / "m.jsonl", settings)])
    entries = [e for e in document["runs"][0]["history"] if e["category"] == "nan_loss"]

    assert [(e["step"], e["resolved_step"]) for e in entries] == [(5, 60)]


def read_below(path: Path, settings: Settings) -> list[tuple[str, int, str]]:
    """What is found below a directory: the file, its rows, and why it was skipped."""
    diagnoses, troubles = read_all([str(path)], settings, None, whole_file=False)
    assert troubles == []
    return [(os.path.relpath(d.file, path), d.reader.rows, d.skipped) for d in diagnoses]


def test_saves_of_a_trainer_are_one_run(tmp_path: Path, settings: Settings) -> None:
    """Below a directory all saves are one run, both attempts in order; named, each is alone."""
    trainer = Trainer(tmp_path / "a", time_s=1e9)
    for last in (100, 300):
        trainer.log_to(last)
        trainer.save()
    trainer.resume("checkpoint-100")
    trainer.log_to(200, loss=1.0)
    named = trainer.save()
    trainer.finish()

    assert read_below(tmp_path, settings) == [("a/trainer_state.json", 40, "")]
    assert read_below(trainer.out, settings) == [("trainer_state.json", 40, "")]
    assert read(named, settings).reader.rows == 20
    assert read(named, settings).run == "checkpoint-200/trainer_state"
    assert read(trainer.out / "trainer_state.json", settings).reader.rows == 20


def test_saves_that_cannot_be_read_are_skipped(tmp_path: Path, settings: Settings) -> None:
    """A broken save is named with its reason, beside the rows of the others or alone."""
    trainer = Trainer(tmp_path / "a", time_s=1e9)
    trainer.log_to(100)
    trainer.save()
    broken = trainer.save("checkpoint-200", part=0.5)
    alone = Trainer(tmp_path / "b")
    alone.save("checkpoint-1", part=0.5)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "trainer_state.json").write_text("{}")

    assert read_below(tmp_path, settings) == [
        ("a/trainer_state.json", 10, ""),
        ("a/checkpoint-200/trainer_state.json", 10, "not a whole JSON document"),
        ("b/trainer_state.json", 0, "not a whole JSON document"),
        ("c/trainer_state.json", 0, "no log_history list in it"),
    ]
    assert read(broken, settings).skipped == "not a whole JSON document"


def test_saves_beside_a_metric_file_are_skipped(tmp_path: Path, settings: Settings) -> None:
    """Of two records of one training below a directory the metric file is read, and that is said."""
    trainer = Trainer(tmp_path / "a")
    trainer.log_to(100)
    save = trainer.save()
    write(tmp_path / "a" / "train.jsonl", row(1, 2.0))
    write(tmp_path / "b" / "other.jsonl", row(1, 2.0))

    assert read_below(tmp_path, settings) == [
        ("a/train.jsonl", 1, ""),
        ("b/other.jsonl", 1, ""),
        ("a/trainer_state.json", 0, "same training as a/train"),
    ]
    assert read(save, settings).skipped == ""


def test_excluded_saves_are_not_read(tmp_path: Path) -> None:
    """The globs decide of each save, as of any file."""
    trainer = Trainer(tmp_path / "a", time_s=1e9)
    trainer.log_to(100)
    trainer.save("checkpoint-1")
    trainer.log_to(200)
    trainer.save("checkpoint-2")
    some = load_settings({"exclude": ["**/checkpoint-2/**"]}, {}, os.devnull)

    assert read_below(tmp_path, some) == [("a/trainer_state.json", 10, "")]


LOGS = Path(__file__).resolve().parents[2] / "shared" / "logs"


@pytest.mark.skipif(not LOGS.is_dir(), reason="the collected files are not here")
def test_collected_states_are_read_whole(settings: Settings) -> None:
    """Every row of the states that real trainers wrote is a row."""
    rows = {
        str(path.relative_to(LOGS)): (read(path, settings).reader.rows, len(_history(path)))
        for path in LOGS.glob("*/*trainer_state.json")
    }

    assert rows
    assert all(got == written for got, written in rows.values()), rows


def _history(path: Path) -> list[object]:
    history = json.loads(path.read_text())["log_history"]
    assert isinstance(history, list)
    return history
