"""
Logs of training runs in which nothing is wrong, as trainers write them: seeded, so that the
figures of `tailwatch bench` in the README are the same everywhere.

python tests/bench/make_corpus.py DIR
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

Row = dict[str, Any]
START_S = 1_700_000_000.0


def warm_cosine(n: int, rows: int, peak: float) -> float:
    """A learning rate: linear warm-up over 3% of the rows, then half a cosine."""
    warm = max(1, rows * 3 // 100)
    if n <= warm:
        return peak * n / warm
    return peak * 0.5 * (1 + math.cos(math.pi * (n - warm) / (rows - warm)))


def fall(n: int, first: float, floor: float, pace: float) -> float:
    """A loss that falls fast and then slowly: a power law from *first* to near *floor*."""
    return floor + (first - floor) * (1 + n / pace) ** -0.6


def noisy(noise: Random, value: float, spread: float, digits: int = 4) -> float:
    """The value times a factor around 1; losses are skewed towards high ones."""
    return round(value * math.exp(noise.gauss(0, spread)), digits)


def sft(noise: Random, rows: int) -> Iterator[Row]:
    """Hugging Face's Trainer: epochs show as steps in the loss; evaluations; a last summary."""
    floor, spread = noise.uniform(0.5, 1.2), noise.uniform(0.05, 0.15)
    for n in range(1, rows + 1):
        epoch = 3 * n / rows
        loss = fall(n, 2.4, floor, 20) * 0.85 ** int(epoch)
        yield {
            "loss": noisy(noise, loss, spread),
            "grad_norm": noisy(noise, 0.6 + 2 * math.exp(-n / 15), 0.25, 6),
            "learning_rate": warm_cosine(n, rows, 2e-4),
            "epoch": round(epoch, 2),
            "step": 10 * n,
        }
        if n % 50 == 0:
            eval_loss = noisy(noise, fall(n, 2.3, floor + 0.15, 25), 0.01)
            yield {"eval_loss": eval_loss, "eval_runtime": 12.5, "epoch": round(epoch, 2), "step": 10 * n}  # fmt: skip
    yield {"train_runtime": 5031.2, "train_loss": floor + 0.3, "total_flos": 1.2e18, "step": 10 * rows}  # fmt: skip


def pretraining(noise: Random, rows: int) -> Iterator[Row]:
    """Megatron's names: a smooth fall from the log of the vocabulary, single rows that jump."""
    time_s = START_S
    for n in range(1, rows + 1):
        time_s += noise.uniform(28, 32) * (8 if n % 100 == 0 else 1)
        jump = 1.6 if noise.random() < 0.004 else 1.0
        yield {
            "iteration": 10 * n,
            "lm loss": noisy(noise, jump * fall(n, 10.8, 2.2, 12), 0.012, 6),
            "grad norm": noisy(noise, jump**3 * (0.25 + 4 / (1 + n / 8)), 0.15),
            "learning rate": warm_cosine(n, rows, 3e-4),
            "loss scale": 1.0,
            "tokens_per_second": round(noise.gauss(51200, 400)),
            "timestamp": round(time_s, 3),
        }


def dpo(noise: Random, rows: int) -> Iterator[Row]:
    """TRL's DPO: from log 2 towards 0, with single rows back near where it began."""
    for n in range(1, rows + 1):
        back = noise.random() < 0.02
        loss = noise.uniform(0.4, 0.65) if back else fall(n, 0.693, 0.12, rows / 4)
        margin = 4 * n / rows
        yield {
            "loss": noisy(noise, loss, 0.25),
            "grad_norm": noisy(noise, 8.0, 0.4),
            "learning_rate": warm_cosine(n, rows, 5e-6),
            "rewards/chosen": round(noise.gauss(margin / 2, 0.3), 4),
            "rewards/margins": round(noise.gauss(margin, 0.5), 4),
            "logps/chosen": round(noise.gauss(-210, 12), 2),
            "epoch": round(n / rows, 3),
            "step": 5 * n,
        }


def grpo(noise: Random, rows: int) -> Iterator[Row]:
    """TRL's GRPO: a loss around 0, often exactly; what counts is the reward."""
    for n in range(1, rows + 1):
        kl = 0.02 + 0.08 * n / rows
        yield {
            "loss": 0.0 if noise.random() < 0.2 else round(noise.gauss(0.04 * kl, 0.003), 4),
            "grad_norm": noisy(noise, 0.3, 0.4),
            "learning_rate": warm_cosine(n, rows, 1e-6),
            "reward": round(noise.gauss(0.2 + 0.6 * n / rows, 0.12), 4),
            "reward_std": round(abs(noise.gauss(0.3, 0.08)) + 0.02, 4),
            "frac_reward_zero_std": round(noise.uniform(0, 0.4), 3),
            "kl": noisy(noise, kl, 0.2),
            "completions/mean_length": round(noise.gauss(400, 40), 1),
            "step": n,
        }


def verl(noise: Random, rows: int) -> Iterator[Row]:
    """verl's nested rows: a policy loss of either sign."""
    for n in range(1, rows + 1):
        data = {
            "actor/pg_loss": round(noise.gauss(0, 0.03), 5),
            "actor/grad_norm": noisy(noise, 0.4, 0.3),
            "actor/ppo_kl": abs(round(noise.gauss(0.0005, 0.0004), 6)),
            "actor/entropy": noisy(noise, 1.2 - 0.5 * n / rows, 0.05),
            "actor/lr": 1e-6,
            "critic/rewards/mean": round(noise.gauss(0.1 + 0.5 * n / rows, 0.05), 4),
            "perf/throughput": round(noise.gauss(2100, 90), 1),
            "timing_s/step": noisy(noise, 61.0, 0.05),
        }
        yield {"step": n, "data": data}


def detection(noise: Random, rows: int) -> Iterator[Row]:
    """detectron2: a sum of noisy parts, one in twenty rows twice as high or low."""
    for n in range(1, rows + 1):
        parts = {
            key: noisy(noise, fall(n, first, floor, 15), 0.18, 5)
            for key, first, floor in (
                ("loss_box_reg", 0.9, 0.25),
                ("loss_cls", 3.5, 0.15),
                ("loss_rpn_cls", 0.7, 0.05),
                ("loss_rpn_loc", 0.4, 0.12),
            )
        }
        row = {"data_time": noisy(noise, 0.01, 0.5, 5), "iteration": 20 * n - 1}
        row |= {"lr": warm_cosine(n, rows, 0.004), "time": noisy(noise, 0.42, 0.06), **parts}
        yield row | {"total_loss": round(sum(parts.values()), 5)}
        if n % 60 == 0:
            yield {"bbox/AP": round(40 * n / rows, 3), "bbox/APs": math.nan, "iteration": 20 * n - 1}  # fmt: skip


def gan(noise: Random, rows: int) -> Iterator[Row]:
    """StyleGAN: each value an object; the generator's loss falls, and then wanders."""
    time_s = START_S
    for n in range(rows):
        time_s += noise.uniform(100, 110)
        wave = fall(n, 4.8, 1.5, 6) + 0.12 * math.sin(n / 23)
        record: Row = {
            key: {"num": 4000, "mean": noisy(noise, mean, 0.06, 6), "std": 0.8}
            for key, mean in (("Loss/G/loss", wave), ("Loss/D/loss", 0.3 + 1 / wave))
        }
        record["Progress/kimg"] = {"num": 1, "mean": 4.0 * n, "std": 0}
        yield record | {"timestamp": round(time_s, 3)}


def classifier(noise: Random, rows: int) -> Iterator[Row]:
    """fp16 with a loss scale: single norms of Infinity; at last a loss that is rounded to 0."""
    scale = 65536.0
    for n in range(1, rows + 1):
        skipped = noise.random() < 0.01
        scale = scale / 2 if skipped else min(65536.0, scale * (2 if n % 40 == 0 else 1))
        yield {
            "step": n * 20,
            "train_loss": noisy(noise, 0.9 * math.exp(-4 * n / rows), 0.3),
            "grad_norm": math.inf if skipped else noisy(noise, 1.5, 0.5),
            "lr": warm_cosine(n, rows, 3e-4),
            "loss_scale": scale,
        }


def factory(noise: Random, rows: int) -> Iterator[Row]:
    """LLaMA-Factory: its own names, time as text, a row every half hour."""
    for n in range(1, rows + 1):
        minutes = 33 * n
        yield {
            "current_steps": 5 * n,
            "total_steps": 5 * rows,
            "loss": noisy(noise, fall(n, 1.9, 1.3, 40), 0.04),
            "lr": warm_cosine(n, rows, 1e-4),
            "epoch": round(3 * n / rows, 2),
            "percentage": round(100 * n / rows, 2),
            "elapsed_time": f"{minutes // 60}:{minutes % 60:02}:00",
        }


def epochs(noise: Random, rows: int) -> Iterator[Row]:
    """MAE and DeiT: a row an epoch, training and validation in one."""
    for n in range(rows):
        yield {
            "train_lr": warm_cosine(n + 1, rows, 1e-3),
            "train_loss": noisy(noise, fall(n, 6.9, 2.4, 8), 0.01, 6),
            "test_loss": noisy(noise, fall(n, 6.5, 1.2, 8), 0.008, 6),
            "test_acc1": round(80 * (1 - math.exp(-n / 30)), 3),
            "epoch": n,
            "n_parameters": 5_717_416,
        }


def restarted(noise: Random, rows: int) -> Iterator[Row]:
    """A trainer that is killed twice: it resumes 20 steps before, and once begins anew."""
    third = rows // 3
    spans = (range(1, third), range(third - 20, 2 * third), range(1, third))
    for span in spans:
        for n in span:
            yield {
                "step": n,
                "loss": noisy(noise, fall(n, 3.2, 1.1, 25), 0.06),
                "grad_norm": noisy(noise, 1.1, 0.3),
                "learning_rate": 1e-4,
            }


def flow(noise: Random, rows: int) -> Iterator[Row]:
    """Flow matching: losses of a few hundredths."""
    for n in range(rows):
        yield {
            "step": 100 * n,
            "grad_norm": noisy(noise, 0.1 + 0.5 / (1 + n / 10), 0.1),
            "loss": noisy(noise, fall(n, 0.3, 0.015, 6), 0.05, 6),
        }


def adapter(noise: Random, rows: int) -> Iterator[Row]:
    """Norms of 100,000, which are as they should be there."""
    for n in range(1, rows + 1):
        yield {
            "step": n,
            "loss": noisy(noise, fall(n, 4.1, 1.6, 30), 0.08),
            "grad_norm": noisy(noise, 2e5, 0.3, 1),
            "learning_rate": warm_cosine(n, rows, 1e-4),
        }


SHAPES: tuple[Callable[[Random, int], Iterator[Row]], ...] = (
    sft, pretraining, dpo, grpo, verl, detection, gan, classifier, factory, epochs, restarted,
    flow, adapter,
)  # fmt: skip
ROWS = (200, 450, 800)


def write(directory: Path) -> None:
    """One log of each shape and length."""
    for shape in SHAPES:
        for rows in ROWS:
            noise = Random(f"{shape.__name__}/{rows}")
            path = directory / shape.__name__ / f"rows{rows}" / "metrics.jsonl"
            path.parent.mkdir(parents=True)
            path.write_text("".join(json.dumps(row) + "\n" for row in shape(noise, rows)))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
