"""
Logs of healthy runs, made from a seed: what no check may be alarmed by.

Each maker gives the rows of one run as its trainer would write them, with the keys,
the noise, the warm-up and the oddities of that kind of training. Nothing here is
wrong with any of them.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

Record = dict[str, Any]
LENGTHS = (50, 300, 1000, 5000, 20_000)


def _rate(step: int, count: int, peak: float, warm_up: int, *, down_to: float = 0.0) -> float:
    """Linear warm-up from 0, then a cosine down to the end."""
    if step < warm_up:
        return peak * step / warm_up
    part = (step - warm_up) / max(1, count - 1 - warm_up)
    return down_to + (peak - down_to) * 0.5 * (1 + math.cos(math.pi * min(1.0, part)))


def _noisy(rng: random.Random, value: float, sigma: float) -> float:
    return value * rng.lognormvariate(0, sigma)


def sft(rng: random.Random, count: int) -> Iterator[Record]:
    """Fine-tuning by Hugging Face's Trainer: rounded losses, evaluations, a summary at the end."""
    start, floor = rng.uniform(1.2, 4.0), rng.uniform(0.4, 1.1)
    sigma, size = rng.uniform(0.02, 0.3), rng.uniform(0.3, 30.0)
    every, warm_up = rng.choice([5, 10, 50]), rng.choice([0, count // 30])
    for n in range(count):
        curve = floor + (start - floor) * math.exp(-6 * n / count)
        row = {"loss": round(_noisy(rng, curve, sigma), 4)}
        if n < 3:
            row["loss"] = round(row["loss"] * rng.uniform(1, 3), 4)
        row["grad_norm"] = _noisy(rng, size * (1 + 4 * math.exp(-n / 20)), 0.3)
        row |= {"learning_rate": _rate(n, count, 2e-5, warm_up), "epoch": round(3 * n / count, 2)}
        yield row | {"step": (n + 1) * every}
        if n % 50 == 49:
            losses = {"eval_loss": round(_noisy(rng, curve * 1.05, 0.01), 4), "eval_runtime": 12.5}
            yield losses | {"epoch": row["epoch"], "step": (n + 1) * every}
    yield {"train_runtime": 4711.0, "train_loss": start, "total_flos": 1e18, "step": count * every}


def pretraining(rng: random.Random, count: int) -> Iterator[Record]:
    """Pre-training: a power law, throughput, memory, a loss scale; it crashes and resumes."""
    start, scale = rng.uniform(9.0, 11.5), 65536.0
    sigma, speed, memory = rng.uniform(0.005, 0.03), rng.uniform(1e3, 1e6), rng.uniform(20, 70)
    size, amp = rng.choice([0.3, 2.0, 5e4, 1e6]), rng.random() < 0.5
    resumes = {rng.randrange(count) for _ in range(count // 3000)}
    n = 0
    while n < count:
        if n in resumes and n > 60:
            resumes.discard(n)
            n -= rng.randrange(20, 50)
        loss = 1.8 + (start - 1.8) / (1 + n / 30) ** 0.5
        norm = _noisy(rng, size * (1 + 9 / (1 + n / 10)), 0.2)
        if amp:
            skipped = rng.random() < 0.002
            norm = math.inf if skipped else norm
            scale = scale / 2 if skipped else min(scale * (2 if n % 200 == 199 else 1), 2.0**24)
        slow = rng.random() < 0.01
        yield {
            "step": 10 * n,
            "loss": _noisy(rng, loss, sigma),
            "grad_norm": norm,
            "lr": _rate(n, count, 3e-4, min(100, count // 10), down_to=3e-5),
            "tokens_per_second": _noisy(rng, speed * (0.2 if slow else 1), 0.03),
            "memory/max_active_gib": _noisy(rng, memory, 0.01),
            "total_steps": 10 * count,
        } | ({"loss_scale": scale} if amp else {})
        n += 1


def dpo(rng: random.Random, count: int) -> Iterator[Record]:
    """Preferences: from 0.693 to 0.003, and single rows back at 0.6."""
    for n in range(count):
        loss = 0.003 + 0.69 * math.exp(-8 * n / count)
        loss = rng.uniform(0.4, 0.7) if rng.random() < 0.02 else _noisy(rng, loss, 0.3)
        rate = _rate(n, count, 5e-7, count // 10)
        norm = _noisy(rng, 0.5 + 20 * loss, 0.5)
        yield {"step": n + 1, "loss": round(loss, 4), "grad_norm": norm, "learning_rate": rate}


def grpo(rng: random.Random, count: int) -> Iterator[Record]:
    """Reinforcement learning: losses around 0, often exactly 0; rewards that rise in noise."""
    top, noise = rng.uniform(0.5, 3.0), rng.uniform(0.02, 0.3)
    for n in range(count):
        gain = 1 - math.exp(-3 * n / count)
        zero = rng.random() < 0.2
        norm = math.inf if rng.random() < 0.001 else _noisy(rng, 0.2, 0.5)
        yield {
            "step": n + 1,
            "loss": 0.0 if zero else round(rng.gauss(0, 0.02), 4),
            "grad_norm": 0.0 if zero and rng.random() < 0.5 else norm,
            "learning_rate": 1e-6,
            "reward": top * gain + rng.gauss(0, noise),
            "reward_std": 0.0 if zero else abs(rng.gauss(0.3, 0.1)),
            "frac_reward_zero_std": 1.0 if zero else rng.uniform(0, 0.6),
            "kl": abs(_noisy(rng, 0.02 + 0.3 * gain, 0.3)),
            "entropy": _noisy(rng, 0.3 + 0.7 * (1 - gain), 0.1),
        }


def detection(rng: random.Random, count: int) -> Iterator[Record]:
    """mmengine: steps of the rate, single heavy batches, evaluations with APs that are NaN."""
    start, floor, sigma = rng.uniform(3, 30), rng.uniform(0.3, 1.0), rng.uniform(0.05, 0.25)
    size = rng.uniform(2, 40)
    yield {"event": "config", "lr": 1e-4, "max_grad_norm": 35.0, "batch_size": 16}
    for n in range(count):
        drop = 1.0 if n < 0.7 * count else 0.6
        loss = _noisy(rng, (floor + (start - floor) / (1 + n / 5)) * drop, sigma)
        row: Record = {"lr": 1e-4 * min(1, (n + 1) / 20), "data_time": 0.01, "loss": loss}
        row |= {"grad_norm": _noisy(rng, size, 0.4), "time": _noisy(rng, 0.4, 0.05)}
        row |= {"epoch": 1 + n // 100, "memory": 9000 + rng.randrange(100), "step": 50 * (n + 1)}
        yield row
        if rng.random() < 0.01:
            yield row
        if n % 100 == 99:
            yield {"bbox/AP": 0.3, "bbox/APs": math.nan, "bbox/AP-dog": math.nan, "step": n // 100}


def gan(rng: random.Random, count: int) -> Iterator[Record]:
    """StyleGAN: losses that wander for ever, and rise as the other side gets better."""
    wander, sigma = 0.0, rng.uniform(0.05, 0.3)
    for n in range(count):
        wander = 0.995 * wander + rng.gauss(0, 0.01)
        loss = _noisy(rng, 1.5 * math.exp(wander), sigma)
        row: Record = {"Progress/kimg": {"mean": n * 0.5}, "timestamp": 1.7e9 + 60 * n}
        row |= {"Loss/G/loss": {"mean": loss}, "Loss/D/loss": {"mean": _noisy(rng, 0.8, sigma)}}
        yield row


def plateau(rng: random.Random, count: int) -> Iterator[Record]:
    """A loss of single samples, long after it stopped falling: noise and nothing else."""
    level, sigma = rng.uniform(0.1, 3.0), rng.uniform(0.2, 0.5)
    for n in range(count):
        curve = level * (1 + 3 * math.exp(-n / 30))
        row = {"iter": n, "loss": _noisy(rng, curve, sigma), "norm": _noisy(rng, 1.0, 0.5)}
        yield row | {"dt": _noisy(rng, 250.0, 0.05)}


def reruns(rng: random.Random, count: int) -> Iterator[Record]:
    """Several runs in one file, one after the other."""
    for _ in range(3):
        yield from pretraining(rng, max(30, count // 3))


MAKERS: dict[str, Callable[[random.Random, int], Iterator[Record]]] = {
    maker.__name__: maker
    for maker in (sft, pretraining, dpo, grpo, detection, gan, plateau, reruns)
}


def healthy(kind: str, seed: int, count: int) -> list[Record]:
    """The rows of one healthy run of at least *count* steps; the same for the same *seed*."""
    return list(MAKERS[kind](random.Random(f"{kind} {seed} {count}"), count))


def lines(records: list[Record]) -> bytes:
    """A metric file of *records*, as Python's `json` writes it."""
    return "".join(json.dumps(record) + "\n" for record in records).encode()
