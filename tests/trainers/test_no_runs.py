"""What lies about beside the logs: found by the names of metric files, and told apart by content."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tailwatch.config import load_settings
from tailwatch.config_file import DEFAULT_INCLUDE
from tailwatch.core.globs import PathFilter
from tailwatch.diagnose import read_all
from tailwatch.documents import check_document

from .seen import lines

LOGS = [
    "saves/llama/trainer_log.jsonl",
    "output/v0-20250101/logging.jsonl",
    "a/train_log.jsonl",
    "a/metrics.ndjson",
    "verl/project/experiment.jsonl",
    "detectron/output/metrics.json",
    "work_dirs/x/20230101_120000.log.json",
    "work_dirs/x/None.log.json",
    "work_dirs/x/20230101/vis_data/scalars.json",
    "mae/log.txt",
    "dinov2/training_metrics.json",
    "ray/PPO_0/result.json",
    "sb3/progress.json",
    "stylegan/00000-run/stats.jsonl",
    "wandb/run-1/wandb-history.jsonl",
    "jax/big_vision_metrics.txt",
    "t5/inference_eval/squad-metrics.jsonl",
    "fairseq/2022-04-08/18-48-05/hydra_train.log",
    "metrics.json",
]
OTHERS = ["package.json", "config.json", "args.json", "params.json", "a/wandb-summary.json",
          "all_results.json", "notes.txt", "data.csv", "debug.log", "tokenizer.json", "m.jsonl.tmp",
          "metrics_epoch_0.json", "training_options.json", "monitor.csv"]  # fmt: skip


def test_default_names() -> None:
    """Every name that a trainer gives to its log by itself is looked at, and no other."""
    wanted = PathFilter(DEFAULT_INCLUDE)
    assert [path for path in LOGS if not wanted(path)] == []
    assert [path for path in OTHERS if wanted(path)] == []


def test_a_tree_of_logs(tmp_path: Path) -> None:
    """Pointed at a tree, it finds every log, names each run after its path, and the NaN in each."""
    for path in [*LOGS, *OTHERS]:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(lines([{"step": 1, "loss": 2.5}, {"step": 2, "loss": "nan"}]))
    settings = load_settings({}, {}, os.devnull)
    diagnoses, troubles = read_all([str(tmp_path)], settings, None, whole_file=False)
    assert troubles == []
    assert {d.run for d in diagnoses} >= {"sb3/progress", "saves/llama/trainer_log", "mae/log"}
    assert len({d.run for d in diagnoses}) == len(LOGS)
    assert all([f.category for f in d.findings] == ["nan_loss"] for d in diagnoses)


def own_log() -> bytes:
    """Lines of our own log, with what a run may show in it."""
    facts: dict[str, Any] = {"run": "a/metrics", "step": 120, "rows": 9, "reason": "not_json"}
    events = ("run_found", "finding", "bad_lines", "started", "stopped", "state_written_again")
    return lines(
        {"event": event, "level": "info", "timestamp": "2026-01-01T00:00:00Z", **facts}
        for event in events
    )


TRANSITION = {"run": "a", "segment": 1, "category": "nan_loss", "severity": "critical",
              "transition": "firing", "row": 9, "step": 120, "offset": 900, "message": "loss is NaN",
              "continues": False}  # fmt: skip
NOTICE = {"type": "finding.firing", "timestamp": "2026-01-01T00:00:00Z",
          "data": {"run": "a", "step": 120, "category": "nan_loss", "evidence": {"loss": "NaN"},
                   "recent": [2.5]}}  # fmt: skip
CONFIG = {"name": "x", "version": "1", "training": {"learning_rate": 1e-4, "loss": "ce"},
          "lr": 0.1, "max_steps": 100, "dependencies": {"a": {"version": "1", "loss": 1}}}  # fmt: skip

NO_RUNS: dict[str, bytes] = {
    "sft": lines([{"messages": [{"role": "user", "content": "step 1"}], "loss": 1.0}] * 9),
    "alpaca": lines([{"instruction": "a", "input": "", "output": "b"}] * 9),
    "pretraining": lines([{"text": "loss", "meta": {"loss": 1.0}}, {"text": "b", "loss": 2.5}]),
    "tokenised": lines([{"input_ids": [1, 2], "labels": [1, 2], "loss": 2.5}]),
    "dpo": lines([{"prompt": "a", "chosen": "b", "rejected": "c", "reward": 1.0}] * 9),
    "dpo of chats": lines([{"chosen": [{"content": "b"}], "rejected": [{}], "score": 1.0}] * 9),
    "reward data": lines([{"question": "a", "response": "b", "reward": 0.5}] * 9),
    "process rewards": lines([{"problem": "a", "solution": "b", "step": 3, "reward": 0.5}] * 9),
    "grpo completions": lines(
        [
            {"step": n, "prompt": "a", "completion": "b", "reward": 1.0, "advantage": 0.5}
            for n in range(9)
        ]
    ),
    "verl rollouts": lines(
        [{"input": "a", "output": "b", "score": 1.0, "reward": 1.0, "step": n} for n in range(9)]
    ),
    "evaluation results": lines([{"task": "mmlu", "acc": 0.5, "acc_stderr": 0.01, "step": 5}] * 9),
    "predictions": lines(
        [{"id": n, "prediction": "a", "label": "b", "correct": True} for n in range(9)]
    ),
    "lingua evaluation": lines(
        [{"global_step": 9, "created_at": "2025-07-23", "hellaswag": {"acc": 1}}]
    ),
    "wandb events": lines([{"system.gpu.0.gpu": 30, "_timestamp": 1.6e9, "_runtime": 9.5}] * 9),
    "torchtitan trace": lines(
        [{"step": n, "log_type_name": "span", "value": 1.5, "event": "forward"} for n in range(9)]
    ),
    "tinker spans": lines([{"step": n, "name": "sample", "duration_s": 1.5} for n in range(9)]),
    "config": json.dumps(CONFIG).encode(),
    "pretty config": json.dumps(CONFIG, indent=2).encode(),
    "lock": json.dumps({f"node_modules/{n}": CONFIG for n in range(900)}, indent=2).encode(),
    "array": json.dumps([{"loss": 1.0, "step": n} for n in range(9)]).encode(),
    "pretty summary": json.dumps({"best_epoch": 3, "training_loss": 0.5}, indent=4).encode(),
    "own log": own_log(),
    "own replay": lines([TRANSITION] * 9),
    "own notice": lines([NOTICE] * 9),
    "own check": lines([{"version": 1, "runs": [{"findings": [TRANSITION]}], "skipped": []}]),
    "binary": bytes(range(256)) * 400,
    "text": b"epoch 1 loss nan\n" * 900,
    "csv": b"step,loss\n1,2.5\n2,nan\n",
}


@pytest.mark.parametrize("name", NO_RUNS)
def test_content_that_is_no_metric_log(name: str, tmp_path: Path) -> None:
    """Under the name of a metric file it is read, skipped with a reason, and never a run."""
    (tmp_path / "metrics.json").write_bytes(NO_RUNS[name])
    (tmp_path / "metrics.jsonl").write_bytes(NO_RUNS[name] + b"\n")
    settings = load_settings({}, {}, os.devnull)
    diagnoses, troubles = read_all([str(tmp_path)], settings, None, whole_file=False)
    document = check_document(diagnoses, troubles)
    assert document["runs"] == []
    assert len(document["skipped"]) == 2
    assert {s["reason"] for s in document["skipped"]} <= {"no training fields", "no JSON lines"}


def test_our_own_state_is_no_run(tmp_path: Path) -> None:
    """A database of ours in the tree, even if it is called like a metric file."""

    with sqlite3.connect(tmp_path / "metrics.jsonl") as base:
        base.execute("CREATE TABLE run (path TEXT, state TEXT)")
        base.executemany(
            "INSERT INTO run VALUES (?, ?)",
            [
                ("a", json.dumps({"step": n, "loss": 2.5, "prompt": "x"}, indent=1))
                for n in range(99)
            ],
        )
    base.close()
    diagnoses, _ = read_all(
        [str(tmp_path)], load_settings({}, {}, os.devnull), None, whole_file=False
    )
    assert [bool(diagnosis.skipped) for diagnosis in diagnoses] == [True]
