"""Finding a run's configuration; what is in one is tested in tests/core/test_runconfig.py."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import time
from pathlib import Path
from typing import Any

import pytest

from tailwatch.core.check import RunConfig
from tailwatch.core.runconfig import CONFIG_NAMES, PARENT_NAMES
from tailwatch.run_configs import CONFIG_BYTES_MAX, STATE_NAME, find_run_config, read_run_config


def put(path: Path, text: str) -> str:
    """Write a file, making its directories."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def found(directory: Path) -> RunConfig | None:
    """What is found for a metric file in *directory*."""
    directory.mkdir(parents=True, exist_ok=True)
    return find_run_config(str(directory / "m.jsonl"))


def trainer_state(rows: int, **settings: Any) -> str:
    """A `trainer_state.json` as Hugging Face's Trainer writes it."""
    history = [{"epoch": n / 9, "loss": 2.5, "max_steps": 7, "step": n} for n in range(rows)]
    state = {
        "best_metric": None, "eval_steps": 50, "global_step": rows, "is_world_process_zero": True,
        "log_history": history, "logging_steps": 10, "max_steps": 900, "num_train_epochs": 3,
        "save_steps": 500, "stateful_callbacks": {"X": {"args": {"max_steps": 3}}},
        "total_flos": 2.5e18, "trial_name": None,
    }  # fmt: skip
    return json.dumps(state | settings, indent=2, sort_keys=True) + "\n"


def test_the_best_name_wins(tmp_path: Path) -> None:
    """Of several files the first of the known names that can be read is taken."""
    (tmp_path / "config.yaml").write_text("lr: 0.5\n")
    beside = find_run_config(str(tmp_path / "m.jsonl"))
    (tmp_path / "config.json").write_text('{"lr": 0.25}')
    better = find_run_config(str(tmp_path / "m.jsonl"))
    (tmp_path / "config.json").write_text("{broken")
    again = find_run_config(str(tmp_path / "m.jsonl"))

    assert [c and c.learning_rate for c in (beside, better, again)] == [0.5, 0.25, 0.5]


@pytest.mark.parametrize("name", CONFIG_NAMES)
def test_every_name_is_looked_for(tmp_path: Path, name: str) -> None:
    """Each of the names beside the file is found, with the file that it was."""
    source = put(tmp_path / name, '{"lr": 0.5}')

    assert found(tmp_path) == RunConfig(0.5, source)


def test_the_order_of_the_names(tmp_path: Path) -> None:
    """With all of them there, taking away the best makes the next one count."""
    for name in CONFIG_NAMES:
        put(tmp_path / name, '{"lr": 0.5}')
    order = []
    while (config := found(tmp_path)) is not None:
        assert config.source is not None
        order.append(os.path.relpath(config.source, tmp_path))
        os.unlink(config.source)

    assert tuple(order) == CONFIG_NAMES


@pytest.mark.parametrize("name", CONFIG_NAMES)
def test_in_the_parent_only_what_a_trainer_writes_counts(tmp_path: Path, name: str) -> None:
    """A `config.json` above the run's directory may be anybody's; an `args.json` is the run's."""
    source = put(tmp_path / name, '{"lr": 0.5}')
    expected = RunConfig(0.5, source) if name in PARENT_NAMES else None

    assert found(tmp_path / "vis_data") == expected
    assert found(tmp_path / "a" / "b") is None


def test_beside_comes_before_above(tmp_path: Path) -> None:
    """Any name in the directory itself is better than every one in the parent."""
    put(tmp_path / "args.json", '{"lr": 0.5, "max_steps": 70}')
    source = put(tmp_path / "logs" / "hparams.yaml", "lr: 0.25\n")

    assert found(tmp_path / "logs") == RunConfig(0.25, source, planned_steps=70)


def test_a_file_that_says_nothing_is_passed_over(tmp_path: Path) -> None:
    """The configuration of a model, as Hugging Face saves it, does not hide the trainer's."""
    put(tmp_path / "config.json", '{"architectures": ["LlamaForCausalLM"], "hidden_size": 64}')
    model_only = found(tmp_path)
    source = put(tmp_path / "params.json", '{"lr": 0.5}')

    assert model_only == RunConfig()
    assert found(tmp_path) == RunConfig(0.5, source)


def test_the_trainer_state_adds_what_is_planned(tmp_path: Path) -> None:
    """The rate comes from the arguments, and the steps, not known to them, from the state."""
    source = put(tmp_path / "args.json", '{"learning_rate": 2e-5, "max_steps": -1}')
    put(tmp_path / STATE_NAME, trainer_state(20))

    assert found(tmp_path) == RunConfig(
        2e-5, source, planned_steps=900, save_steps=500, eval_steps=50, logging_steps=10
    )


def test_the_trainer_state_of_a_long_run_is_read_at_its_ends(tmp_path: Path) -> None:
    """Its history of rows is not read, however long, and no number in it or below is taken."""
    short = put(tmp_path / "a" / STATE_NAME, trainer_state(20))
    long = put(tmp_path / "b" / STATE_NAME, trainer_state(20_000))
    compact = put(tmp_path / "c" / STATE_NAME, json.dumps({"max_steps": 5, "x": "y" * 300_000}))

    assert os.path.getsize(long) > 4 * CONFIG_BYTES_MAX
    expected = read_run_config(short)
    assert expected is not None
    assert expected.planned_steps == 900
    got = read_run_config(long)
    assert got is not None
    assert got.source == long
    for name in ("learning_rate", "planned_steps", "save_steps", "eval_steps", "logging_steps"):
        assert getattr(expected, name) == getattr(got, name)
    assert read_run_config(compact) == RunConfig(None, compact)


class Trap:
    """Makes a directory when a pickle of it is loaded."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.directory,)


def test_nothing_is_run_to_read_a_configuration(tmp_path: Path) -> None:
    """Pickles and Python are left alone; a YAML tag that would call something calls nothing."""
    trap = tmp_path / "sprung"
    run = tmp_path / "run"
    put(run / "vis_data" / "config.py", f"import os; os.mkdir({str(trap)!r}); lr = 0.5")
    for name in ("training_args.bin", "params.pkl", *CONFIG_NAMES):
        (run / name).parent.mkdir(exist_ok=True)
        (run / name).write_bytes(pickle.dumps(Trap(str(trap))))
    pickled = found(run)
    tagged = f"lr: 0.5\nx: !!python/object/apply:os.mkdir ['{trap}']\n"
    source = put(run / "hparams.yaml", tagged)

    assert pickled is None
    assert found(run) == RunConfig(0.5, source)
    assert not trap.exists()


def test_of_a_configuration_nothing_but_numbers_is_kept(tmp_path: Path) -> None:
    """A run may link its configuration from elsewhere: whatever that is, its texts are not kept."""
    elsewhere = put(tmp_path / "elsewhere.json", '{"learning_rate": 0.5, "api_key": "S3CRET"}')
    link = tmp_path / "run" / "config.json"
    link.parent.mkdir()
    link.symlink_to(elsewhere)
    config = found(link.parent)

    assert config == RunConfig(0.5, str(link))
    kept = {f.name: getattr(config, f.name) for f in dataclasses.fields(RunConfig)}
    assert {k for k, v in kept.items() if isinstance(v, str)} == {"source"}


@pytest.mark.parametrize(
    "text",
    [
        "a0: &a0 {k: 1}\n"
        + "".join(
            f"a{n}: &a{n}\n  <<: [{', '.join([f'*a{n - 1}'] * 9)}]\n  k{n}: 1\n"
            for n in range(1, 40)
        ),
        "a0: &a0 [1]\n"
        + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 40)),
        "x: " + ":".join(["1"] * 120_000),
        "x: 0b" + "1" * 200_000,
        "\n".join(" " * n + "a:" for n in range(700)),
        "lr: &a [*a]",
        "a: &a\n  <<: *a\n",
    ],
    ids=["merges", "aliases", "base 60", "long number", "deep", "in itself", "merged in itself"],
)
def test_hostile_yaml_is_soon_done(tmp_path: Path, text: str) -> None:
    """No YAML of the size that is read keeps the engine: no bomb of aliases, no huge number."""
    assert len(text) <= CONFIG_BYTES_MAX
    path = put(tmp_path / "config.yaml", text)
    began_s = time.process_time()
    config = read_run_config(path)

    assert config is None or not config.says_something
    assert time.process_time() - began_s < 1.0


def test_yaml_of_people(tmp_path: Path) -> None:
    """Numbers as YAML writes them, and a table that is merged into another, are read."""
    text = "base: &base {lr: 2e-4}\ntraining:\n  <<: *base\n  max_steps: 10_000\n"
    path = put(tmp_path / "config.yaml", text)

    assert read_run_config(path) == RunConfig(2e-4, path, planned_steps=10_000)


@pytest.mark.parametrize("kind", ["fifo", "directory", "absent", "device", "loop"])
@pytest.mark.parametrize("name", ["config.json", STATE_NAME])
def test_what_is_no_file_is_no_configuration(tmp_path: Path, kind: str, name: str) -> None:
    """A FIFO, a directory or a device of the name neither hangs nor raises."""
    path = tmp_path / name
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "loop":
        path.symlink_to(path)

    assert read_run_config(str(path)) is None
    assert found(tmp_path) is None
