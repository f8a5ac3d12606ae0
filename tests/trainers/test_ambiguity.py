"""The sixteen ambiguities of trainers' keys, each by its number in the survey of formats."""

from __future__ import annotations

import math
from typing import Any

import pytest

from .seen import read

NAN = math.nan


def test_01_train_loss_is_a_loss_or_an_average() -> None:
    """An epoch's or a step's training loss, but in the summary of a run an average of all."""
    assert read([{"epoch": 1, "train_loss": 2.5}]).of("loss") == [2.5]
    for key in ("train_runtime", "total_flos"):
        end = read([{"step": 9, "train_loss": NAN, key: 9.5}])
        assert (end.of("loss"), end.kinds, end.nans) == ([], "E", [])
    after = read([{"step": 9, "loss": 0.5}, {"step": 9, "train_loss": 9.5}])
    assert after.of("loss") == [0.5]


def test_02_a_null_loss_is_no_nan() -> None:
    """Null beside an evaluation is an absent loss; elsewhere it is known to be there, and null."""
    seen = read(
        [
            {"current_steps": 5, "loss": None, "eval_loss": 2.5},
            {"current_steps": 5, "loss": None, "eval_loss": None},
            {"step": 6, "data": {"actor/pg_loss": None, "actor/grad_norm": 0.5}},
            {"step": 7, "loss": None, "grad_norm": 0.5},
        ]
    )
    assert (seen.kinds, seen.nans) == ("V-TT", [])
    assert [("loss" in row.nulls) for row in seen.rows] == [True] * 4


def test_03_a_loss_of_zero_is_no_nan() -> None:
    """An exact 0.0, be it hidden NaN or GRPO's, is a number like any other."""
    seen = read([{"step": n, "loss": 0.0, "grad_norm": NAN} for n in range(60)])
    assert (seen.nans, seen.of("loss")) == ([], [0.0] * 60)


def test_04_a_gradient_norm_that_is_not_finite_is_no_nan_loss() -> None:
    """Under fp16 a step is skipped now and then."""
    rows = [{"step": n, "loss": 2.0, "grad_norm": math.inf if n % 9 else NAN} for n in range(60)]
    assert read(rows).nans == []


def test_05_large_norms_are_read_as_they_are() -> None:
    """A norm of a million all run long is a value; nothing critical is said of it."""
    seen = read([{"step": n, "loss": 2.0 / n, "grad_norm": 4e6} for n in range(1, 60)])
    assert seen.of("grad_norm") == [4e6] * 59
    assert all(t.severity.value != "critical" for t in seen.transitions)


@pytest.mark.parametrize(
    "row",
    [
        {"bbox/APs": NAN, "bbox/APl": NAN, "segm/AP-person": NAN},
        {"episode_reward_mean": NAN, "episode_len_mean": NAN, "episode_reward_max": NAN},
        {"custom_metrics": {"loss": NAN, "total_loss": NAN}, "custom_metrics.loss": NAN},
        {"info": {"grad_time_ms": NAN, "opt_samples": NAN}},
    ],
)
def test_06_nan_by_nature(row: dict[str, Any]) -> None:
    """What has no value yet is no loss that was lost, alone or beside one."""
    seen = read([{"iteration": 1, **row}, {"iteration": 2, "total_loss": 2.5, **row}])
    assert (seen.nans, seen.of("loss")) == ([], [2.5])


def test_07_step_counts_epochs_in_validation() -> None:
    """mmengine: only training rows move the step and tell a restart."""
    rows: list[dict[str, Any]] = []
    for epoch in range(1, 30):
        rows += [{"step": 100 * epoch + n, "loss": 2.0, "epoch": epoch} for n in (0, 50)]
        rows += [{"step": epoch, "coco/bbox_mAP": 0.25}, {"step": 0, "coco/bbox_mAP": 0.25}]
    seen = read(rows)
    assert (seen.life, seen.reader.monitor.last and seen.reader.monitor.last.step) == (
        (1, 0),
        2950,
    )


def test_08_iter_begins_anew_in_each_epoch() -> None:
    """mmcv: the axis is a running count; validation's `iter` counts its batches."""
    rows: list[dict[str, Any]] = []
    for epoch in range(1, 5):
        rows += [
            {"mode": "train", "epoch": epoch, "iter": n, "loss": 2.0} for n in range(50, 400, 50)
        ]
        rows += [{"mode": "val", "epoch": epoch, "iter": 9000, "mAP": 0.25}]
    seen = read(rows)
    trained = [step for step, kind in zip(seen.steps, seen.kinds, strict=True) if kind == "T"]
    assert (trained, seen.life) == (list(range(50, 1450, 50)), (1, 0))


def test_09_an_epoch_is_a_step_only_where_there_is_none() -> None:
    """Beside a step it is none, be it in other rows; rounded parts of an epoch are none either."""
    assert read([{"epoch": n, "train_loss": 2.0} for n in (0, 1, 2)]).steps == [0, 1, 2]
    both = read([{"step": 500, "loss": 2.0, "epoch": 1}, {"epoch": 1, "loss": 2.0}])
    assert (both.steps, both.life) == ([500, 500], (1, 0))
    rounded = read([{"epoch": epoch, "loss": 2.0} for epoch in (0.0, 0.0, 0.01, 0.01, 0.02)])
    assert rounded.steps[2:] == [3, 4, 5]


def test_10_total_loss_is_the_training_loss_unless_there_is_a_better_one() -> None:
    """A component is never it."""
    assert read([{"iteration": 1, "total_loss": 2.5, "loss_cls": 9.0}]).of("loss") == [2.5]
    assert read([{"step": 1, "loss": 1.5, "total_loss": 2.5}]).of("loss") == [1.5]
    assert (
        read([{"step": 1, "loss_cls": NAN, "policy_loss": NAN, "cls_loss": NAN}]).of("loss") == []
    )


def test_11_losses_of_reinforcement_learning_do_not_diverge() -> None:
    """Negative, near zero, with huge relative jumps: with a reward, no divergence is told."""
    rows = [{"step": n, "loss": 10.0 ** (n % 9 - 6), "reward": 1.0} for n in range(1, 60)]
    assert read(rows).transitions == []
    assert any(
        "diverged" in t.category for t in read([r | {"reward": None} for r in rows]).transitions
    )


def test_12_preference_losses() -> None:
    """From ln 2 to nearly nothing, with single rows back at 0.6: nothing critical."""
    losses = [0.6931] + [0.6931 / n if n % 10 else 0.6 for n in range(2, 90)]
    rows = [{"step": n, "loss": loss, "rewards/margins": 0.5} for n, loss in enumerate(losses, 1)]
    assert read(rows).transitions == []


def test_13_evaluation_sets_are_series_of_their_own() -> None:
    """In the row of the training, or in one of their own with the same step."""
    seen = read(
        [
            {"iteration": 10, "total_loss": 2.5, "validation_loss": 2.75},
            {"step": 10, "eval_g0_loss": 1.5, "eval_g0_accuracy": 0.5},
            {"step": 10, "eval_g1_loss": NAN},
        ]
    )
    assert seen.evals.keys() == {"validation_loss", "eval_g0_loss", "eval_g1_loss"}
    assert (seen.kinds, seen.nans, seen.life) == ("TVV", [], (1, 0))


@pytest.mark.parametrize(
    "key",
    ["loss:sum", "loss_scaled", "loss_scale", "policy_loss", "loss_mask", "train/loss/image"],
)
def test_14_what_only_sounds_like_the_loss(key: str) -> None:
    """A name that begins or ends like the loss is not it."""
    assert read([{"step": 1, key: NAN}, {"step": 2, "loss": 2.5, key: NAN}]).nans == []


def test_14_a_validation_loss_of_another_name() -> None:
    """open_clip's is an evaluation."""
    assert read([{"epoch": 1, "clip_val_loss": NAN}]).evals.keys() == {"clip_val_loss"}


@pytest.mark.parametrize(
    "row",
    [
        {"event": "config", "lr": 1e-06, "max_grad_norm": 1.0, "batch_size": 8},
        {"type": "config", "learning_rate": 1e-4, "step": 0},
        {"exp_name": "a.py", "env_info": "...", "lr": 0.1},
        {"lr": 0.1, "batch_size": 32, "gamma": 0.99},
        {"global_step": 9, "learning_rate": 0.1, "log_history": []},
    ],
)
def test_15_metadata_is_no_point(row: dict[str, Any]) -> None:
    """A row that describes the run has no learning rate for the checks, first or last."""
    points = [{"step": 1, "loss": 2.5, "learning_rate": 1e-5}]
    for rows in ([row, *points], [*points, row]):
        seen = read(rows)
        assert (sorted(seen.kinds), seen.of("learning_rate")) == (["M", "T"], [1e-5])
    assert not read([row]).reader.is_metric


def test_16_norm_is_of_the_gradient_unless_it_is_of_the_weights() -> None:
    """nanoGPT's `norm`, where there is no better one; never that of parameters."""
    assert read([{"step": 1, "norm": 1.5}]).of("grad_norm") == [1.5]
    assert read([{"step": 1, "norm": 1.5, "grad_norm": 2.5}]).of("grad_norm") == [2.5]
    assert (
        read([{"step": 1, "param_norm": 9.0, "weights_norm": 9.0, "max_update_norm": 9.0}]).of(
            "grad_norm"
        )
        == []
    )


def test_every_number_is_here() -> None:
    """None of the sixteen is left out."""
    assert {int(name[5:7]) for name in globals() if name[5:7].isdigit()} == set(range(1, 17))
