"""README's callback in the real Trainer of Hugging Face, and what tailwatch makes of its file."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
# The extra `hf` is too heavy for the extra `test`; .ci/run installs it for these tests.
pytestmark = pytest.mark.skipif(
    not all(find_spec(name) for name in ("accelerate", "torch", "transformers")),
    reason="needs the extra hf",
)

TRAINING = """
import json, sys
import torch
from transformers import Trainer, TrainingArguments

class Model(torch.nn.Module):
    # The loss of its 7th training step is NaN, and so its weights are from then on.
    def __init__(self):
        super().__init__()
        self.linear, self.steps = torch.nn.Linear(2, 1), 0

    def forward(self, x, labels):
        loss = ((self.linear(x).squeeze(-1) - labels) ** 2).mean()
        self.steps += self.training
        return {"loss": loss * float("nan") if self.training and self.steps == 7 else loss}

class SeesEachLine(TrainerCallback):
    def __init__(self, path):
        self.path = path

    def on_log(self, args, state, control, logs=None, **kwargs):
        text = open(self.path).read()
        assert text.endswith("\\n")
        assert json.loads(text.splitlines()[-1])["step"] == state.global_step

data = [{"x": torch.tensor([n / 40, 1.0]), "labels": torch.tensor(n / 20)} for n in range(40)]
for name, options in json.loads(sys.argv[2]).items():
    path = f"{sys.argv[1]}/{name}.jsonl"
    args = TrainingArguments(
        f"{sys.argv[1]}/{name}", max_steps=10, per_device_train_batch_size=4, seed=1,
        save_strategy="no", eval_strategy="steps", eval_steps=5, learning_rate=1e-3,
        report_to=[], use_cpu=True, **options,
    )
    torch.manual_seed(1)
    Trainer(
        Model(), args, train_dataset=data, eval_dataset=data,
        callbacks=[MetricsFile(path), SeesEachLine(path)],
    ).train()
"""


def callback() -> str:
    """README's callback, as it stands there."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (block,) = [block for block in blocks if "TrainerCallback" in block]
    return block


def run(program: str, *args: str) -> str:
    """Run a program on its own, far from any hub; return what it prints."""
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    result = subprocess.run(
        [sys.executable, "-c", program, *args],
        capture_output=True, text=True, timeout=200, check=False, env=environment,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of three trainings of 10 steps, the loss of the 7th being NaN."""
    directory = tmp_path_factory.mktemp("runs")
    trainings = {
        "as_told": {"logging_steps": 1, "logging_nan_inf_filter": False},
        "default": {"logging_steps": 1},
        "default_means": {"logging_steps": 10},
    }
    run(callback() + TRAINING, str(directory), json.dumps(trainings))
    return directory


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def checked(path: Path) -> dict[str, Any]:
    """What `tailwatch check` says of the file."""
    result = subprocess.run(
        [sys.executable, "-m", "tailwatch", "check", "--format", "json", str(path)],
        capture_output=True, text=True, timeout=60, check=False, cwd=ROOT,
    )  # fmt: skip
    assert result.returncode in (0, 1), result.stderr
    (found,) = json.loads(result.stdout)["runs"]
    assert isinstance(found, dict)
    return found


def test_a_nan_is_found_at_its_step(written: Path) -> None:
    """The file holds every row with its step, NaN included, and `check` names the step."""
    path = written / "as_told.jsonl"
    rows, found = rows_of(path), checked(path)

    assert [row["step"] for row in rows if "loss" in row] == list(range(1, 11))
    assert [row["step"] for row in rows if "eval_loss" in row] == [5, 10]
    assert {row["max_steps"] for row in rows} == {10}
    assert '"loss": NaN' in path.read_text().splitlines()[7]
    assert (len(rows), 0) == (found["rows"], found["bad_lines"])
    nan = next(f for f in found["findings"] if f["category"] == "nan_loss")
    assert (nan["step"], nan["row"]) == (7, 8)  # A row of an evaluation stands before it.


@pytest.mark.parametrize("name", ["default", "default_means"])
def test_the_filter_hides_a_nan(written: Path, name: str) -> None:
    """With the Trainer's default the NaN is a 0.0, or left out of a mean: why README says so."""
    path = written / f"{name}.jsonl"
    losses = {row["step"]: row["loss"] for row in rows_of(path) if "loss" in row}

    assert "nan_loss" not in [f["category"] for f in checked(path)["findings"]]
    if name == "default":
        assert losses[6] > 0
        assert [losses[step] for step in range(7, 11)] == [0.0] * 4
    else:
        assert losses[10] > 0


def test_only_the_main_process_writes(tmp_path: Path) -> None:
    """Of several processes one writes each row; the others leave the file alone."""
    program = callback() + (
        "import sys\n"
        "from transformers import TrainerControl, TrainerState\n"
        "for main in (False, True):\n"
        "    state = TrainerState(global_step=3, max_steps=9, is_world_process_zero=main)\n"
        "    MetricsFile(sys.argv[1]).on_log(None, state, TrainerControl(), logs={'loss': 2.5})\n"
    )
    run(program, str(tmp_path / "metrics.jsonl"))

    text = (tmp_path / "metrics.jsonl").read_text()
    assert text == '{"step": 3, "max_steps": 9, "loss": 2.5}\n'
