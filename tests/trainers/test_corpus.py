"""Real logs, where they are there: what was read of each, against what is known of it."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from .seen import Seen, lines, read

LOGS = Path(__file__).parents[3] / "shared" / "logs"
MANIFEST: list[dict[str, Any]] = (
    json.loads((LOGS / "MANIFEST.json").read_text()) if (LOGS / "MANIFEST.json").exists() else []
)

# Kinds of rows, counted; segments and resumes; what is critical at the end. From the manifest's
# words and tags, and from the rows themselves where these are silent.
EXPECTED: dict[str, tuple[dict[str, int], tuple[int, int], list[str]]] = {
    "custom-loop/cs336_healthy.jsonl": ({"T": 51}, (1, 0), []),
    # It recovers: what has fired is history at the end.
    "custom-loop/cs336_lr1_diverge_recover.jsonl": ({"T": 51}, (1, 0), []),
    # Back to the second step of the first run: a resume, by the rule of segments.
    "custom-loop/cs336_restart_dup.jsonl": ({"T": 13}, (1, 1), []),
    "custom-loop/netra_distill_log.jsonl": ({"T": 20}, (1, 1), []),
    "custom-loop/openpi_train_log.jsonl": ({"T": 300}, (1, 0), []),
    "detectron2/pothole_metrics.json": ({"T": 90}, (1, 0), []),
    "dreamer/dreamerv1_metrics.jsonl": ({"T": 86}, (1, 0), []),
    "dreamer/dreamerv3_metrics.head.jsonl": ({"T": 1500}, (1, 0), []),
    "hf-trainer/multi_eval_sets_trainer_state.json": ({"T": 30, "V": 186}, (1, 0), []),
    "hf-trainer/qlora_diverged_trainer_state.json": ({"T": 10, "E": 1}, (1, 0), ["loss_diverged", "loss_runaway"]),
    # Four runs of five rows: a new segment needs ten rows before it.
    "lingua/plm_metrics.jsonl": ({"T": 20}, (2, 2), []),
    "llamafactory/chatglm2_exam60_trainer_log.jsonl": ({"T": 244, "V": 13, "-": 1}, (1, 0), []),
    "llamafactory/chatglm2_exam60_trainer_state.json": ({"T": 244, "V": 12, "E": 1}, (1, 0), []),
    "llamafactory/grpo360_trainer_log.jsonl": ({"T": 202}, (1, 0), []),
    "llamafactory/nsllm_trainer_log.jsonl": ({"T": 435, "-": 1}, (1, 0), []),
    "llamafactory/nsllm_trainer_state.json": ({"T": 435, "E": 1}, (1, 0), []),
    # Epochs 0, 1, 0, 1: a fall by one interval is no resume.
    "mae-deit-detr/deit_log.txt": ({"T": 300}, (1, 0), []),
    "mae-deit-detr/detr_short_log.txt": ({"T": 7}, (1, 1), []),
    "mmengine/dfine_scalars.part.json": ({"T": 161, "V": 7}, (5, 0), []),
    "ms-swift/internvl_old_logging.head.jsonl": ({"T": 700}, (1, 0), []),
    # The last rows alone: of the few losses there, near zero, the last is 3 times the first.
    "ms-swift/internvl_old_logging.last.jsonl": (
        {"T": 36, "V": 2, "E": 1, "M": 1}, (1, 0), ["loss_diverged"],
    ),
    "rllib/impala_pong_result.json": ({"T": 23}, (1, 0), []),
    # The seed rule knows no reward; live, nothing is told of it.
    "rllib/ppo_multiagent_result.head.json": ({"T": 12}, (1, 0), ["loss_diverged"]),
    "rllib/sac_halfcheetah_result.head.json": ({"T": 30}, (1, 0), []),
    "stylegan/stats.jsonl": ({"T": 80}, (1, 0), []),
    "tinker/cog_rl_metrics.jsonl": ({"T": 120}, (1, 0), []),
    "trl/grpo_unsloth_trainer_state.json": ({"T": 250}, (1, 0), []),
    "trl/kto_trainer_state.json": ({"T": 101}, (1, 0), []),
    "verl/gsm8k.jsonl": ({"V": 1, "T": 3}, (1, 0), []),
}  # fmt: skip
# The only log in which something critical is told as it goes.
INCIDENTS = {
    "custom-loop/cs336_lr1_diverge_recover.jsonl": [
        ("loss_diverged", 1200),
        ("loss_runaway", 1200),
    ],
    "hf-trainer/qlora_diverged_trainer_state.json": [("loss_runaway", 50), ("loss_diverged", 70)],
}

NUMBER_KEYS = {
    "loss": r"(train_)?loss|total_loss|loss/out|train/opt/loss|Loss/G/loss\.mean|data\.actor/pg_loss",
    "grad_norm": r"grad_norm|optim/grad_norm|train/opt/grad_norm|data\.actor/grad_norm|info\.learner\.grad_gnorm",
    "learning_rate": r"(train_|optim/)?lr|learning_rate|info\.learner\.cur_lr|data\.actor/lr",
    "reward": r"reward|episode_reward_mean|train/return|episode/score|reward/mean|data\.critic/rewards/mean",
}  # fmt: skip
"""How the manifest's counts of keys name a field: another way than the table of aliases."""

entries = pytest.mark.parametrize("entry", MANIFEST, ids=lambda entry: entry["path"])


def seen_of(entry: dict[str, Any]) -> Seen:
    """A log as it is; of a `trainer_state.json` the rows of its history."""
    data = (LOGS / entry["path"]).read_bytes()
    if entry["format"] == "trainer_state":
        data = lines(json.loads(data)["log_history"])
    return read(data)


@entries
def test_rows_kinds_and_life(entry: dict[str, Any]) -> None:
    """As many rows as the manifest counts, of the known kinds; segments, resumes, findings."""
    seen = seen_of(entry)
    kinds, life, critical = EXPECTED[entry["path"]]
    assert (seen.reader.rows, Counter(seen.kinds), seen.life) == (entry["rows"], kinds, life)
    found = [f.category for f in seen.reader.monitor.diagnose() if f.severity.value == "critical"]
    assert critical == found
    told = [
        (t.category, t.mark.step)
        for t in seen.transitions
        if t.severity.value == "critical" and t.kind.value == "firing"
    ]
    assert told == INCIDENTS.get(entry["path"], [])


@entries
def test_no_bad_line_and_a_run(entry: dict[str, Any]) -> None:
    """No manifest names a bad line, so there is none; each file is a metric file."""
    seen = seen_of(entry)
    assert (seen.bad, seen.reader.is_metric) == ({}, True)


@entries
def test_fields_are_in_as_many_rows_as_their_keys(entry: dict[str, Any]) -> None:
    """A field was read from each row in which the manifest counts its key, metadata aside."""
    seen = seen_of(entry)
    for field, pattern in NUMBER_KEYS.items():
        counts = [n for key, n in entry["keys"].items() if re.fullmatch(pattern, key)]
        # The summary at the end has a `train_loss`; of verl's losses one is null.
        expected = max(counts, default=None)
        if expected is None or len(entry["keys"]) >= 40:
            continue
        absent = sum(field in row.nulls for row in seen.rows)
        assert len(seen.of(field)) + absent == expected, field


@entries
def test_nothing_is_nan_that_is_not(entry: dict[str, Any]) -> None:
    """None of these runs lost its loss: APs, episode means and null losses are no NaN."""
    assert seen_of(entry).nans == []


def test_every_log_is_known() -> None:
    """The table above is of exactly the files of the manifest, where there is one."""
    assert {entry["path"] for entry in MANIFEST} in (set(EXPECTED), set())
