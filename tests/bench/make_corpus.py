"""
Logs of training runs in which nothing is wrong, as trainers write them: seeded, so that the
figures of `tailwatch bench` in the README are the same everywhere. The kinds of training of
`tests/corpus.py`, and more ways to write a row.

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

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.corpus import MAKERS, healthy

Row = dict[str, Any]


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
    verl, classifier, factory, epochs, flow, adapter,
)  # fmt: skip
ROWS = (200, 450, 800)
LENGTHS = (300, 1000)


def write(directory: Path) -> None:
    """One log of each shape and length."""
    made = {
        f"{shape.__name__}/rows{rows}": shape(Random(f"{shape.__name__}/{rows}"), rows)
        for shape in SHAPES
        for rows in ROWS
    }
    for kind in MAKERS:
        for length in LENGTHS:
            made[f"{kind}/rows{length}"] = iter(healthy(kind, 1, length))
    for name, records in made.items():
        path = directory / name / "metrics.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in records))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
