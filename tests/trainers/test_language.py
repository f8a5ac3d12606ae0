"""The logs of language model trainers, each in the shape in which it writes them."""

from __future__ import annotations

import math
from typing import Any

import pytest

from .seen import Seen, lines, read

NAN = math.nan


def llama_factory(step: int, **more: Any) -> dict[str, Any]:
    return {
        "current_steps": step,
        "total_steps": 400,
        **more,
        "epoch": step / 200,
        "percentage": round(step / 4, 2),
        "elapsed_time": "0:01:10",
        "remaining_time": "1 day, 7:18:24",
    }


def test_llama_factory() -> None:
    """Rows with `lr`, evaluations of their own, an end without a loss; durations as text."""
    seen = read(
        [
            llama_factory(10, loss=2.25, lr=1e-4, throughput=812.5),
            llama_factory(20, loss=NAN, lr=9e-5),
            llama_factory(20, eval_loss=2.5),
            llama_factory(400),
        ]
    )
    assert (seen.kinds, seen.steps, seen.nans) == ("TTV-", [10, 20, 20, 400], [20])
    assert seen.rows[0].values == {
        "loss": 2.25, "learning_rate": 1e-4, "epoch": 0.05, "planned_steps": 400, "percent": 2.5,
        "elapsed_s": 70.0, "tokens_per_second": 812.5,
    }  # fmt: skip
    assert seen.evals == {"eval_loss": [2.5]}


def test_llama_factory_of_early_2024() -> None:
    """Every key in every row, null where it has none: an evaluation row is no lost loss."""
    absent = {"loss": None, "eval_loss": None, "predict_loss": None, "reward": None}
    seen = read(
        [
            llama_factory(5, **absent | {"loss": 1.5, "learning_rate": 5e-5}),
            llama_factory(5, **absent | {"eval_loss": 1.25, "learning_rate": None}),
            llama_factory(10, **absent | {"learning_rate": None}),
        ]
    )
    assert (seen.kinds, seen.nans) == ("TV-", [])
    assert (seen.of("loss"), seen.evals) == ([1.5], {"eval_loss": [1.25]})


def test_llama_factory_with_two_writers() -> None:
    """Two ranks that write one file step on each other's heels: one segment, no resume."""
    steps = [step for n in range(10, 200, 10) for step in (n, max(10, n - 10))]
    seen = read([llama_factory(step, loss=2.0, lr=1e-4) for step in steps])
    assert seen.life == (1, 0)


def swift(step: str, **more: Any) -> dict[str, Any]:
    return {**more, "global_step/max_steps": step, "percentage": "2.28%", "elapsed_time": "1m 42s"}


def test_ms_swift() -> None:
    """The step as a text of two numbers, a per cent sign, units; a large metadata row at the end."""
    seen = read(
        [
            swift("1/438", loss=2.5, grad_norm=484.0, learning_rate=1e-6, token_acc=0.5),
            swift("10/438", loss=2.25, grad_norm=1.5, learning_rate=1e-5, **{"train_speed(s/it)": 4}),
            swift("20/438", loss=NAN, grad_norm=NAN, learning_rate=1e-5, **{"memory(GiB)": 31.5}),
            swift("20/438", eval_loss=2.75, eval_token_acc=0.5),
            {"train_runtime": 9.5, "train_loss": 2.4, "global_step/max_steps": "438/438"},
            {"last_model_checkpoint": "c", "global_step": 438, "log_history": [{"loss": NAN}] * 20_000},
        ]
    )  # fmt: skip
    assert (seen.kinds, seen.nans, seen.bad) == ("TTTVEM", [20], {})
    assert seen.steps == [1, 10, 20, 20, 438, 438]
    assert seen.rows[1].values == {
        "loss": 2.25, "grad_norm": 1.5, "learning_rate": 1e-5, "step_time_s": 4.0,
        "planned_steps": 438.0, "percent": 2.28, "elapsed_s": 102.0,
    }  # fmt: skip
    assert seen.of("memory_gib") == [31.5]
    assert seen.evals == {"eval_loss": [2.75]}


def test_ms_swift_2_writes_each_row_twice() -> None:
    """Twice the same step is neither a resume nor a restart."""
    rows = [
        {"loss": 5.0 - n, "acc": 0.5, "grad_norm": 1.0, "learning_rate": 1e-5,
         "train_speed(iter/s)": 0.5, "epoch": n / 100, "global_step": 5 * n}
        for n in (0, 1, 2, 3) for _ in range(2)
    ]  # fmt: skip
    seen = read(rows)
    assert (seen.steps, seen.life) == ([0, 0, 5, 5, 10, 10, 15, 15], (1, 0))
    assert seen.of("step_time_s") == [2.0] * 8


def test_ms_swift_megatron() -> None:
    """`iteration` as text, beside which no other step stands."""
    seen = read([{"iteration": f"{n}/500", "loss": 2.0, "grad_norm": 1.0} for n in (10, 20)])
    assert (seen.steps, seen.of("planned_steps")) == ([10, 20], [500.0, 500.0])


def hf(step: int, **more: Any) -> dict[str, Any]:
    return {**more, "epoch": step / 1000, "step": step}


def test_hugging_face_trainer() -> None:
    """A callback's rows; the last one's `train_loss` is an average of all, and no loss."""
    seen = read(
        [
            hf(10, loss=2.5, grad_norm=1.25, learning_rate=1e-4, num_input_tokens_seen=9),
            hf(20, loss=NAN, grad_norm=math.inf, learning_rate=1e-4),
            hf(20, eval_loss=NAN, eval_runtime=2.5, eval_samples_per_second=9.0),
            hf(20, train_loss=9.75, train_runtime=90.5, total_flos=1e15),
        ]
    )
    assert (seen.kinds, seen.steps, seen.nans) == ("TTVE", [10, 20, 20, 20], [20])
    assert seen.rows[0].values == {
        "loss": 2.5, "grad_norm": 1.25, "learning_rate": 1e-4, "epoch": 0.01,
    }  # fmt: skip
    assert (len(seen.of("loss")), list(seen.evals)) == (2, ["eval_loss"])


def test_hugging_face_callback_without_a_step() -> None:
    """What a callback is given has only an epoch, rounded: rows are counted instead."""
    epochs = [0.0, 0.0, 0.01, 0.01, 0.02, 1.0]
    seen = read([{"loss": 2.0, "grad_norm": 1.0, "epoch": epoch} for epoch in epochs])
    assert (seen.steps[2:], seen.life) == ([3, 4, 5, 6], (1, 0))


def test_hugging_face_hides_a_nan() -> None:
    """Its filter writes 0.0 in place of NaN: of such a loss alone no NaN is told."""
    seen = read([hf(n, loss=0.0, grad_norm=NAN, learning_rate=1e-4) for n in range(1, 40)])
    assert (seen.nans, len(seen.of("loss"))) == ([], 39)
    assert all(math.isnan(norm) for norm in seen.of("grad_norm"))


@pytest.mark.parametrize(
    ("row", "values"),
    [
        ({"loss": 1.5, "mean_token_accuracy": 0.5, "entropy": 1.25, "num_tokens": 9.0},
         {"loss": 1.5, "entropy": 1.25}),
        ({"loss": 0.6931, "rewards/chosen": 0.0, "rewards/margins": 0.0, "logps/chosen": -90.0},
         {"loss": 0.6931}),
        ({"loss": 0.5, "kl": 0.25, "logits/rejected": -1.0, "nll_loss": 2.0}, {"loss": 0.5, "kl_reference": 0.25}),
        ({"loss": 0.5, "accuracy": 0.75, "margin": 0.5, "mean_reward": 1.5}, {"loss": 0.5, "reward": 1.5}),
        ({"loss": -0.01, "reward": 1.5, "reward_std": 0.5, "rewards/fmt/mean": 0.5, "kl": 0.01,
          "frac_reward_zero_std": 0.25, "clip_ratio/high_mean": 0.0, "step_time": 21.5},
         {"loss": -0.01, "reward": 1.5, "reward_std": 0.5, "kl_reference": 0.01,
          "zero_spread_share": 0.25, "step_time_s": 21.5}),
    ],
)  # fmt: skip
def test_trl(row: dict[str, Any], values: dict[str, float]) -> None:
    """SFT, DPO, KTO, reward models, GRPO: their own fields beside a loss."""
    assert read([hf(10, **row)]).rows[0].values == {**values, "epoch": 0.01}


def test_trl_grpo_null_is_no_nan() -> None:
    """What is NaN everywhere becomes null: it is known to be there, and no NaN."""
    seen = read([hf(1, loss=0.01, reward=1.0, kl=0.1), hf(2, loss=None, reward=1.0, kl=None)])
    assert (seen.kinds, seen.nans, seen.rows[1].nulls) == ("TT", [], ("loss", "kl_reference"))


def verl(step: int, **more: Any) -> dict[str, Any]:
    return {
        "step": step,
        "data": {
            "actor/grad_norm": 0.5, "actor/lr": 1e-6, "actor/ppo_kl": 0.01, "actor/kl_loss": 0.02,
            "critic/rewards/mean": 0.75, "critic/grad_norm": 9.0, "critic/lr": 1e-5,
            "perf/throughput": 900.0, "timing_s/step": 50.0, "training/epoch": 0, **more,
        },
    }  # fmt: skip


def test_verl() -> None:
    """Everything is below `data`; validation comes alone, before the first step."""
    seen = read(
        [
            {"step": 0, "data": {"val-core/gsm8k/acc/mean@1": 0.5}},
            verl(1, **{"actor/pg_loss": 0.25, "critic/vf_loss": 9.0}),
            verl(2, **{"actor/pg_loss": None, "actor/ppo_kl": None}),
            verl(3, **{"actor/pg_loss": "nan", "val-core/gsm8k/acc/mean@1": 0.5}),
        ]
    )
    assert (seen.kinds, seen.steps, seen.nans) == ("VTTT", [0, 1, 2, 3], [3])
    assert seen.rows[1].values == {
        "loss": 0.25, "grad_norm": 0.5, "learning_rate": 1e-6, "kl": 0.01, "kl_reference": 0.02,
        "reward": 0.75, "tokens_per_second": 900.0, "step_time_s": 50.0, "epoch": 0.0,
    }  # fmt: skip
    assert seen.rows[2].nulls == ("loss", "kl")


def test_verl_truncates_when_it_resumes() -> None:
    """It writes its log anew: on from the step before changes nothing, an earlier one does."""
    for first, life in ((4, (1, 0)), (2, (2, 0))):
        seen = Seen().feed(lines_of(1, 2, 3))
        seen.reader.source_restarted()
        seen.feed(lines_of(first, first + 1))
        assert (seen.life, seen.steps) == (life, [1, 2, 3, first, first + 1])


def lines_of(*steps: int) -> bytes:
    return lines(verl(step, **{"actor/pg_loss": 0.25}) for step in steps)


def test_meta_lingua() -> None:
    """`loss/out`, `optim/...`, `speed/...`, and the time as ISO 8601."""
    row = {
        "global_step": 5, "acc_step": 0, "loss/out": NAN, "optim/grad_norm": 17.0,
        "optim/lr": 5e-6, "speed/wps": 1700.0, "speed/curr_iter_time": 2.5,
        "memory/max_active_gib": 11.0, "memory/num_alloc_retries": 0,
        "created_at": "2025-07-23T13:15:53.704818+00:00",
    }  # fmt: skip
    seen = read([row])
    assert (seen.nans, seen.rows[0].timestamp_s) == ([5], 1753276553.704818)
    assert {k: v for k, v in seen.rows[0].values.items() if k != "loss"} == {
        "grad_norm": 17.0, "learning_rate": 5e-6, "tokens_per_second": 1700.0,
        "step_time_s": 2.5, "memory_gib": 11.0, "oom_count": 0.0,
    }  # fmt: skip


def test_appended_reruns_of_lingua() -> None:
    """Ten rows or more and back to the first step: each run is a segment of its own."""
    seen = read([{"global_step": n, "loss/out": 2.0} for _ in range(3) for n in range(1, 12)])
    assert seen.life == (3, 0)


def test_tinker() -> None:
    """Supervised, preference and reinforcement recipes have each their own loss, or none."""
    supervised = read(
        [
            {
                "step": 0,
                "train_mean_nll": 2.5,
                "learning_rate": 1e-4,
                "num_tokens": 9,
                "test/nll": 2.75,
            }
        ]
    )
    assert (supervised.kinds, supervised.of("loss")) == ("T", [2.5])
    assert supervised.evals == {"test/nll": [2.75]}
    preference = read([{"step": 1, "dpo_loss": NAN, "loss:sum": 900.0, "optim/lr": 1e-4}])
    assert (preference.nans, preference.of("learning_rate")) == ([1], [1e-4])
    for row in (
        {"step": 2, "env/all/reward/total": 0.5, "time/total": 60.0, "optim/entropy": 0.25},
        {"step": 2, "reward/mean": 0.5, "data/num_datums": 70.0, "progress/batch": 3},
    ):
        reinforced = read([row])
        assert (reinforced.kinds, reinforced.of("reward"), reinforced.of("loss")) == (
            "T",
            [0.5],
            [],
        )
        assert reinforced.reader.is_metric


@pytest.mark.parametrize(
    ("row", "values"),
    [
        ({"step": 100, "loss": 0.5, "grad_norm": 1.5, "param_norm": 1379.5}, {"loss": 0.5, "grad_norm": 1.5}),
        ({"iter": 100, "loss": 0.5, "lr": 1e-3, "norm": 1.25, "dt": 250.0},
         {"loss": 0.5, "learning_rate": 1e-3, "grad_norm": 1.25, "step_time_s": 0.25}),
        ({"step": 100, "train/loss": 0.5, "val/loss": 0.75, "lr": 1e-3}, {"loss": 0.5, "eval_loss": 0.75, "learning_rate": 1e-3}),
        ({"step": 100, "train_loss": 0.5, "val_loss": 0.75, "lr": 1e-3, "wall_time_sec": 9.5, "tokens_seen": 9},
         {"loss": 0.5, "eval_loss": 0.75, "learning_rate": 1e-3, "elapsed_s": 9.5}),
    ],
)  # fmt: skip
def test_hand_written_loops(row: dict[str, Any], values: dict[str, float]) -> None:
    """openpi, nanoGPT, CS336 and their like."""
    seen = read([row])
    assert (seen.rows[0].values, seen.steps, seen.kinds) == (values, [100], "T")


def test_a_loop_that_counts_within_the_epoch() -> None:
    """The step begins anew in each epoch: one axis, one segment."""
    rows = [{"epoch": e, "step": s, "loss": 2.0} for e in (1, 2, 3) for s in range(10, 130, 10)]
    seen = read(rows)
    assert (seen.steps, seen.life) == (list(range(10, 370, 10)), (1, 0))
    batches = read([{"epoch": r["epoch"], "batch": r["step"], "loss": 2.0} for r in rows])
    assert (batches.steps, batches.life) == (seen.steps, (1, 0))


def test_a_loop_that_counts_on_and_resumes() -> None:
    """A step that went on over the epochs before and then falls: the trainer has resumed."""
    rows = [{"epoch": e, "step": 7000 * e, "train_loss": 2.0} for e in range(1, 9)]
    again = [{"epoch": e, "step": 7000 * (e - 8), "train_loss": 1.5} for e in range(9, 13)]
    seen = read(rows + again)
    assert (seen.steps[-1], seen.life) == (28000, (1, 1))
