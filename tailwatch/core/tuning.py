"""Checks with thresholds of one's own."""

from __future__ import annotations

import math
from collections.abc import Mapping

from .check import Check
from .findings import Hold

HOLD_KEYS = ("hold_rows", "clear_rows")


def tunable(check: type[Check]) -> list[str]:
    """The names of what may be set for *check*; none for the seed rules, which are as they are."""
    if check.check_set == "seed":
        return []
    clears = check.hold.clear_rows is not None
    return [*check.thresholds, "hold_rows", *(["clear_rows"] if clears else [])]


def tuned(check: type[Check], own: Mapping[str, float]) -> type[Check]:
    """
    A check of the same category with some thresholds replaced.

    >>> from tailwatch.checks.loss_spike import LossSpike
    >>> ours = tuned(LossSpike, {"factor": 3, "hold_rows": 2})
    >>> ours.category, ours.thresholds["factor"], ours.hold.rows, LossSpike.hold.rows
    ('loss_spike', 3, 2, 5)

    Raises:
        ValueError: There is no such threshold, or no such value for it.
    """
    if not own:
        return check
    known = tunable(check)
    for name, value in own.items():
        if name not in known:
            raise ValueError(f"{name}: unknown threshold")
        rows = name in HOLD_KEYS
        if not math.isfinite(value) or value < 0 or (rows and (value < 1 or value != int(value))):
            raise ValueError(
                f"{name}: expected a number of rows"
                if rows
                else f"{name}: expected a number, not negative"
            )
    hold = Hold(
        int(own.get("hold_rows", check.hold.rows)),
        int(own["clear_rows"]) if "clear_rows" in own else check.hold.clear_rows,
    )
    thresholds = check.thresholds | {k: v for k, v in own.items() if k not in HOLD_KEYS}
    body = {"thresholds": thresholds, "hold": hold, "__doc__": check.__doc__}
    return type(check.__name__, (check,), body | {"__module__": check.__module__})
