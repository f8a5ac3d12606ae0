"""
The seed rules on lists: all rows at once, from their definition, sharing no code with the checks.

Rows are what a JSON reader gives of a line; keys are the canonical ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

SEVERITY = {
    "nan_loss": "critical",
    "loss_diverged": "critical",
    "loss_flat": "warning",
    "grad_norm_high": "warning",
    "lr_too_low": "warning",
    "lr_too_high": "warning",
    "too_few_steps": "info",
    "no_metrics": "info",
}
"""Category to severity, in the order in which findings are shown."""

NON_FINITE_WORDS = {sign + word for sign in ("", "+", "-") for word in ("nan", "inf", "infinity")}


def reading(raw: object) -> float | None:
    """The number in a JSON value, if there is one."""
    if raw is None or isinstance(raw, (bool, list, dict)):
        return None
    if isinstance(raw, str):
        word = raw.strip().lower()
        if word.startswith("tensor(") and word.endswith(")"):
            word = word[7:-1].split(",")[0].strip()
            return float(word) if word in NON_FINITE_WORDS else None
        if word in NON_FINITE_WORDS:
            return float(word)
        if not set(word) <= set("0123456789.e+-"):
            return None
        raw = word
    try:
        return float(raw)  # type: ignore[arg-type]
    except OverflowError:
        return math.inf if raw > 0 else -math.inf  # type: ignore[operator]
    except ValueError:
        return None


def readings(rows: Sequence[Mapping[str, Any]], key: str) -> list[float]:
    values = [reading(row.get(key)) for row in rows]
    return [value for value in values if value is not None]


def configured_rate(config: Any) -> float | None:
    """`training.lr` unless that is nothing, else `training.learning_rate`."""
    training = (config or {}).get("training") or {}
    return reading(training.get("lr")) or reading(training.get("learning_rate"))


def diagnose(rows: Sequence[Mapping[str, Any]], config: Any = None) -> list[str]:
    """The categories that the seed rules find in all of *rows*, in order."""
    if not rows:
        return ["no_metrics"]
    every = readings(rows, "loss")
    losses = [x for x in every if math.isfinite(x)]
    norms = [x for x in readings(rows, "grad_norm") if math.isfinite(x)]
    rate = configured_rate(config)
    starts_above_zero = bool(losses) and losses[0] > 0
    found = {
        "nan_loss": len(losses) < len(every),
        "loss_diverged": starts_above_zero and len(losses) >= 5 and losses[-1] > 3 * losses[0],
        "loss_flat": starts_above_zero
        and len(losses) >= 30
        and abs((losses[0] - losses[-1]) / losses[0]) < 0.005,
        "grad_norm_high": len(norms) >= 10
        and sum(g > 50 for g in norms) >= max(3, len(norms) // 5),
        "lr_too_low": rate is not None and rate < 1e-6,
        "lr_too_high": rate is not None and rate > 5e-3,
    }
    found["too_few_steps"] = len(rows) < 10 and not any(found.values())
    return [category for category in SEVERITY if found.get(category)]


def first_bad_step(rows: Sequence[Mapping[str, Any]]) -> Any:
    """The step of the first row whose loss is not finite."""
    for number, row in enumerate(rows, 1):
        loss = reading(row.get("loss"))
        if loss is not None and not math.isfinite(loss):
            return row.get("step", number)
    return None


def case(rows: Sequence[Mapping[str, Any]], config: Any) -> dict[str, Any]:
    """A golden case: the rows, the configuration, and what is found in every prefix."""
    found = diagnose(rows, config)
    return {
        "rows": list(rows),
        "config": config,
        "findings": [{"category": name, "severity": SEVERITY[name]} for name in found],
        "prefixes": [diagnose(rows[:count], config) for count in range(len(rows) + 1)],
    }
