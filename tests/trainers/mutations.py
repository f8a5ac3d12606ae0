"""Lines of a metric file, broken in every way that a machine can break them."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence

SOUND: list[bytes] = [
    json.dumps(record).encode()
    for record in (
        {"step": 10, "loss": 2.5, "grad_norm": 1.5, "lr": 1e-4, "epoch": 0.5},
        {"current_steps": 5, "total_steps": 9, "loss": None, "eval_loss": 2.5, "elapsed_time": "1m 42s"},
        {"loss": math.nan, "global_step/max_steps": "10/438", "percentage": "2.28%"},
        {"mode": "val", "epoch": 3, "iter": 50, "lr": {"a": 1e-4, "b": [1]}, "loss": math.inf},
        {"step": 3, "data": {"actor/pg_loss": 0.5, "val-core/x": 1, "training/epoch": 1}},
        {"info": {"learner": {"p": {"learner_stats": {"total_loss": -math.inf}}}}, "training_iteration": 7},
        {"Loss/G/loss": {"num": 1, "mean": 0.5}, "Progress/kimg": {"mean": 4.032}, "timestamp": 1.7e9},
        {"event": "config", "lr": 1e-6, "text": ["a"], "log_history": [{"loss": 1}]},
        {"train_loss": "3.306", "train_lr": "0.000", "epoch": 7, "test_loss": "nan"},
        {"step": 10**30, "loss": 10**400, "epoch": -1e308, "reward": "tensor(nan)"},
        {"step": "5", "loss": "é\u2028\ud83d\\\"", "created_at": "2025-07-23T13:15:53.704818+00:00"},
    )
] + [
    b"{'loss': 2.5, 'grad_norm': nan, 'learning_rate': '9.77e-06', 'epoch': 0.05}",
    b"{'loss': np.float64(nan), 'x': tensor(1.5, device='cuda:0'), 'y': (1, [2, {'z': None}])}",
    b'2021-08-13 14:59:32 | INFO | train_inner | {"update": 0.004, "loss": "20.7", "num_updates": "10"}',
    b'\x1b[32m 5%|5  | 10/200\r{"step": 1, "loss": 2}\r\x1b[0m',
    b"\xef\xbb\xbf",
    b"",
    b"{",
    b"}",
]  # fmt: skip

PARTS = [
    b"{", b"}", b"[", b"]", b'"', b"'", b",", b":", b"\\", b"\\u", b"\\ud800", b"\0", b"\r", b"\n",
    b"\xff", b"\xc3", b"NaN", b"nan", b"-", b"Infinity", b"null", b"1e999", b"-0", b"-0.0", b"0",
    b"1" * 30, b"9" * 5000, b"0x1", b"1_0", b"\x1b[", b" ", b"\t", b"\x0b", b"\xc2\xa0", b"\x7f",
    b'"loss":', b'"step":', b'"epoch":', b'"data":', b"{'", b"tensor(", b"()", b"f''", b"if", b"//",
]  # fmt: skip


def mutated(rng: random.Random, sound: Sequence[bytes] = SOUND) -> bytes:
    """One line, made of one of those that are *sound*; now and then such a one itself."""
    line = rng.choice(sound)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3, 6))):
        line = rng.choice((_flip, _cut, _glue, _nest, _repeat, _insert, _swap))(line, rng)
    return line[:20_000]


def _flip(line: bytes, rng: random.Random) -> bytes:
    data = bytearray(line)
    for _ in range(rng.randint(1, 4)):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def _cut(line: bytes, rng: random.Random) -> bytes:
    at = rng.randint(0, len(line))
    return line[:at] if rng.random() < 0.7 else line[at:]


def _glue(line: bytes, rng: random.Random) -> bytes:
    return line + rng.choice((b"", b" ", b", ", b"\r")) + rng.choice(SOUND)


def _nest(line: bytes, rng: random.Random) -> bytes:
    depth = rng.choice((1, 1, 2, 5, 40, 400, 1200))
    before, after = rng.choice(
        ((b'{"data":', b"}"), (b"[", b"]"), (b'{"loss":', b""), (b"{'a': [", b"]}"))
    )
    return before * depth + line + after * depth


def _repeat(line: bytes, rng: random.Random) -> bytes:
    start = rng.randint(0, len(line))
    part = line[start : start + rng.randint(1, 40)]
    return line[:start] + part * rng.choice((2, 3, 50)) + line[start:]


def _insert(line: bytes, rng: random.Random) -> bytes:
    at = rng.randint(0, len(line))
    return line[:at] + rng.choice(PARTS) + line[at:]


def _swap(line: bytes, rng: random.Random) -> bytes:
    old = rng.choice((b"2.5", b'"loss"', b'"step"', b'"epoch"', b"10", b":", b","))
    return line.replace(old, rng.choice(PARTS), rng.choice((1, -1)))
