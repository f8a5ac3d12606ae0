"""
Write `seed_cases.jsonl`: small runs, and what the batch rules find in each of their prefixes.

Run as `python -m tests.golden.make_seed_cases` from the root of the checkout.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.checks.oracle import case

PATH = Path(__file__).with_name("seed_cases.jsonl")
NAN, INF = math.nan, math.inf


def run(losses: Sequence[Any], norms: Sequence[Any] = ()) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{"step": n, "loss": x} for n, x in enumerate(losses, 1)]
    for row, norm in zip(rows, norms, strict=False):
        row["grad_norm"] = norm
    return rows


def cases() -> list[dict[str, Any]]:
    """Every case: one rule each, on both sides of its thresholds, then several together."""
    falling = [round(2.0 - n / 50, 3) for n in range(40)]
    rate = [{"training": {"lr": lr}} for lr in (9.9e-7, 1e-6, 5e-3, 5.1e-3)]
    return [
        case([], {"training": {"lr": 0.1}}),
        case(run(falling[:9]), None),
        case(run(falling), {"training": {"lr": 2e-4}}),
        # nan_loss, in every spelling; text and null are none.
        case(run([2.0, NAN, 1.9, "nan", INF, -INF, 1.8, "tensor(nan, device='cuda:0')"]), {}),
        case(run([None, "info", "banana", True, [1.0], {}, "Infinity"]), {}),
        # loss_diverged: exactly 3 times is not over; 4 losses are too few; null rows do not count.
        case(run([1.0, 0.9, 0.8, 0.7, 3.0, 3.0000001, 2.9, None, "3.1", 3.2]), {}),
        case(run([0.001, 5.0, None, 5.0, 5.0, 5.0, NAN]), {"training": {}}),
        case(run([0.0, 9.0, 9.0, 9.0, 9.0, 9.0]) + run([-1.0, 5.0]), None),
        # loss_flat: 0.5 per cent is not within; 29 losses are too few.
        case(run([*[200.0] * 29, 201, 200.99, 199, 199.01, 200]), {}),
        case(run([1e308, *[-1e308] * 30, 1e308, 5e-324]), {}),
        # grad_norm_high: 50 is not above 50; 3 of 10; a fifth of 20.
        case(run([2.0] * 22, [*[50.0] * 7, 50.1, 80.0, NAN, 50.1, *[1.0] * 9, 60.0, 60.0]), {}),
        case([{"step": n, "grad_norm": 1e5 if n % 4 == 0 else 1} for n in range(1, 26)], {}),
        # The configured rate, at its bounds and by its two names.
        *[case(run(falling[:2]), config) for config in rate],
        case(run(falling[:2]), {"training": {"lr": 0, "learning_rate": 1e-7}}),
        case(run(falling[:2]), {"training": {"lr": 0.1, "learning_rate": 1e-4}}),
        case(run(falling[:2]), {"training": {"lr": "1e-7"}}),
        # Several at once, in order.
        case(run([0.5, NAN, *[0.5] * 29, 9.0], [90.0] * 32), {"training": {"lr": 1e-9}}),
    ]


def text() -> str:
    """One case a line; what is not finite is a bare token, as trainers write it."""
    return "".join(json.dumps(each) + "\n" for each in cases())


if __name__ == "__main__":
    PATH.write_text(text(), encoding="ascii")
