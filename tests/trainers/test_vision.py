"""The logs of vision trainers, each in the shape in which it writes them."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from .seen import Seen, lines, read

NAN = math.nan


def detectron(iteration: int, **more: Any) -> dict[str, Any]:
    return {
        "data_time": 0.01,
        "eta_seconds": 90.5,
        "iteration": iteration,
        "lr": 0.02,
        "time": 0.25,
    } | more


def test_detectron2() -> None:
    """Scores share a row or have one; APs that are NaN by nature are no lost loss; no norm."""
    seen = read(
        [
            detectron(19, total_loss=2.5, loss_cls=NAN, loss_box_reg=0.5),
            detectron(39, total_loss=2.25, **{"bbox/AP": 30.0, "bbox/APs": NAN}),
            {"iteration": 39, "bbox/AP": NAN, "bbox/AP-cat": NAN, "segm/APl": NAN},
            {"iteration": 39, "validation_loss": 2.75},
        ]
    )
    assert (seen.kinds, seen.steps, seen.nans) == ("TTVV", [19, 39, 39, 39], [])
    assert seen.rows[0].values == {"loss": 2.5, "learning_rate": 0.02, "step_time_s": 0.25}
    assert seen.evals == {"validation_loss": [2.75]}


def test_detectron2_stops_at_a_nan() -> None:
    """It raises before it writes: the log just ends, and no NaN is made up."""
    seen = read([detectron(n, total_loss=2.0 + n) for n in range(19, 299, 20)])
    assert (seen.nans, seen.life) == ([], (1, 0))


def mmcv(epoch: int, iteration: int, mode: str = "train", **more: Any) -> dict[str, Any]:
    return {"mode": mode, "epoch": epoch, "iter": iteration, "lr": 0.002, **more}


def test_mmcv() -> None:
    """`iter` begins anew in each epoch; validation counts its batches; metadata comes first."""
    train = {"memory": 2048, "data_time": 0.05, "time": 0.5, "loss_cls": 1.0, "grad_norm": 9.5}
    seen = read(
        [
            {"env_info": "sys.platform: linux", "config": "lr = 0.1\n", "seed": 0, "exp_name": "a.py"},
            *(mmcv(1, n, loss=2.5, **train) for n in (50, 100)),
            mmcv(1, 5000, mode="val", bbox_mAP=0.25, bbox_mAP_s=NAN),
            mmcv(2, 50, loss=NAN, **train),
            mmcv(2, 100, loss=2.0, **train | {"lr": {"backbone": 1e-4, "head": 1e-3}}),
        ]
    )  # fmt: skip
    assert (seen.kinds, seen.nans, seen.life) == ("MTTVTT", [150], (1, 0))
    assert seen.steps[1:] == [50, 100, 100, 150, 200]
    assert seen.rows[1].values == {
        "loss": 2.5, "grad_norm": 9.5, "learning_rate": 0.002, "step_time_s": 0.5,
        "memory_gib": 2.0, "epoch": 1.0,
    }  # fmt: skip
    assert seen.of("learning_rate")[-1] == 1e-3


def test_mmcv_by_iteration() -> None:
    """A runner that counts iterations goes on over its epochs."""
    seen = read([mmcv(n // 300 + 1, n, loss=2.0) for n in range(50, 1000, 50)])
    assert (seen.steps, seen.life) == (list(range(50, 1000, 50)), (1, 0))


def test_mmcv_rerun_in_one_file() -> None:
    """The first epoch once more is a new segment."""
    once = [mmcv(e, n, loss=2.0) for e in (1, 2, 3) for n in range(50, 300, 50)]
    assert read(once * 2).life == (2, 0)


def mmengine(step: int, epoch: int, **more: Any) -> dict[str, Any]:
    return {"lr": 1e-3, "base_lr": 1e-2, "data_time": 0.01, "time": 0.25, **more} | {
        "epoch": epoch, "iter": step, "memory": 1024, "step": step
    }  # fmt: skip


def test_mmengine() -> None:
    """`step` is the iteration in training, the epoch in validation, 0 in a test."""
    seen = read(
        [
            mmengine(700, 1, loss=2.5, grad_norm=9.5),
            {"coco/bbox_mAP": 0.25, "data_time": 0.01, "time": 9.5, "step": 1},
            mmengine(750, 2, loss=NAN),
            {"accuracy/top1": 50.0, "step": 0},
        ]
    )
    assert (seen.kinds, seen.nans, seen.life) == ("TVTV", [750], (1, 0))
    assert seen.steps == [700, 700, 750, 750]
    assert seen.of("step_time_s") == [0.25, 0.25]


@pytest.mark.parametrize(
    "row",
    [
        {"train_lr": 1e-3, "train_loss": 2.5, "test_loss": 2.75, "test_acc1": 50.0, "n_parameters": 9},
        {"train_lr": 1e-3, "train_class_error": 9.0, "train_loss": 2.5, "train_loss_ce": 1.0,
         "train_loss_bbox_unscaled": 0.5, "test_loss": 2.75, "test_loss_ce": 1.0,
         "test_coco_eval_bbox": [0.25, NAN]},
    ],
)  # fmt: skip
def test_mae_deit_detr(row: dict[str, Any]) -> None:
    """A row an epoch; the epoch is the step; evaluations share the row; a resume appends."""
    seen = read([row | {"epoch": epoch} for epoch in (0, 1, 2, 3, 4, 5, 2, 3)])
    assert (seen.kinds, seen.steps, seen.life) == ("T" * 8, [0, 1, 2, 3, 4, 5, 2, 3], (1, 1))
    assert seen.rows[1].values == {
        "loss": 2.5, "learning_rate": 1e-3, "eval_loss": 2.75, "epoch": 1.0
    }  # fmt: skip
    assert seen.evals == {"test_loss": [2.75] * 8}


def test_beit_grad_norm() -> None:
    """Of this family some write a gradient norm."""
    row = {"train_loss": 2.5, "train_grad_norm": math.inf, "train_loss_scale": 65536.0, "epoch": 3}
    assert read([row]).rows[0].values == {
        "loss": 2.5, "grad_norm": math.inf, "loss_scale": 65536.0, "epoch": 3.0,
    }  # fmt: skip


@pytest.mark.parametrize("spelt", ["nan", "inf"])
def test_lavis(spelt: str) -> None:
    """The configuration over many lines, then rows in which every value is text."""
    config = {
        "run": {"init_lr": 1e-4, "batch_size_train": 32, "stage": "a"},
        "model": {"arch": "b"},
    }
    rows = [
        {"train_lr": "0.000", "train_loss": "3.306"},
        {"valid_loss": "3.125", "valid_agg_metrics": "0.5", "valid_best_epoch": "0"},
        {"train_lr": "0.000", "train_loss": spelt},
    ]
    seen = read(json.dumps(config, indent=4).encode() + b"\n" + lines(rows))
    assert (seen.kinds, seen.bad, seen.nans) == ("TVT", {}, [3])
    assert (seen.of("loss")[0], seen.of("learning_rate")) == (3.306, [0.0, 0.0])
    assert seen.evals == {"valid_loss": [3.125]}


def test_dinov2_and_its_reruns() -> None:
    """Components are no loss; runs are appended to one file, each a segment."""
    row = {"iter_time": 0.5, "data_time": 0.01, "lr": 1e-3, "last_layer_lr": 0.0, "wd": 0.04,
           "mom": 0.99, "total_loss": 9.5, "dino_local_crops_loss": 8.0, "koleo_loss": NAN}  # fmt: skip
    seen = read([{"iteration": n, **row} for _ in range(3) for n in range(0, 110, 10)])
    assert (seen.life, seen.nans, seen.reader.rows) == ((3, 0), [], 33)
    assert seen.rows[0].values == {"loss": 9.5, "learning_rate": 1e-3, "step_time_s": 0.5}


def stylegan(tick: int, loss: float) -> dict[str, Any]:
    def of(mean: float) -> dict[str, float]:
        return {"num": 64, "mean": mean, "std": 0.5}

    return {
        "Loss/scores/fake": of(0.5), "Loss/G/loss": of(loss), "Loss/D/loss": of(1.5),
        "Progress/tick": of(tick), "Progress/kimg": of(4.0 * tick + 0.032),
        "Timing/sec_per_tick": of(80.0), "Resources/peak_gpu_mem_gb": of(9.5),
        "timestamp": 1.7e9 + tick,
    }  # fmt: skip


def test_stylegan() -> None:
    """Each value is an object of num, mean and std; the step is in thousands of images."""
    seen = read([stylegan(0, 1.25), stylegan(1, 1.5), stylegan(2, NAN)])
    assert (seen.kinds, seen.steps, seen.nans) == ("TTT", [0.032, 4.032, 8.032], [8.032])
    values = {"loss": 1.25, "discriminator_loss": 1.5, "memory_gib": 9.5}
    assert seen.rows[0].values == values
    assert [row.timestamp_s for row in seen.rows] == [1.7e9, 1.7e9 + 1, 1.7e9 + 2]
    assert read([{"Loss/loss": {"num": 1, "mean": 0.5}}]).of("loss") == [0.5]


def test_stylegan_truncates() -> None:
    """It writes its log anew when it is started again."""
    seen = Seen().feed(lines(stylegan(n, 1.5) for n in range(4)))
    seen.reader.source_restarted()
    assert seen.feed(lines([stylegan(0, 1.5)])).life == (2, 0)


def test_big_vision() -> None:
    """JAX: `l2_grads` is the gradient norm, and the schedule's factor is no learning rate."""
    row = {"step": 50, "training_loss": NAN, "l2_grads": 1.5, "l2_updates": 0.01, "l2_params": 90.0,
           "global_schedule": 0.5, "img/sec/core": 90.5, "val/loss": 2.5}  # fmt: skip
    seen = read([row])
    assert (seen.nans, seen.evals) == ([50], {"val/loss": [2.5]})
    assert seen.rows[0].values.keys() == {"loss", "grad_norm", "samples_per_second", "eval_loss"}


def test_open_clip() -> None:
    """Evaluations only, an epoch each."""
    rows = [{"imagenet-zeroshot-val-top1": 0.25, "clip_val_loss": 2.5, "epoch": n} for n in (1, 2)]
    seen = read(rows)
    assert (seen.kinds, seen.steps, seen.evals) == ("VV", [1, 2], {"clip_val_loss": [2.5, 2.5]})
    assert seen.reader.is_metric
