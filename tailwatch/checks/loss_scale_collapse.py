"""loss_scale_collapse: the loss scale of fp16 falls and falls."""

from __future__ import annotations

import math
from typing import ClassVar

from ..core.check import Check, Gauge, mark
from ..core.findings import Evidence, Hold, Mark, Severity
from ..core.numbers import shown
from ..core.rows import Row


class LossScaleCollapse(Check):
    """
    What it finds:
        After 20 rows, a loss scale at or below 1 that was higher before, or one that
        fell 4 times without a rise between. It is over with the next rise.

    Why it matters:
        The scale halves at each overflow and grows back in calm. When it only falls,
        every step overflows and is skipped: soon all gradients are NaN.

    What it does not find:
        The falls of the first 20 rows, in which the scale is found. bf16, which has
        no scale.

    Example:
        >>> check = LossScaleCollapse()
        >>> scales = [65536.0] * 20 + [32768.0, 16384.0, 8192.0, 4096.0]
        >>> said = [check.update(Row(n, n, {"loss_scale": x}, 0)) for n, x in enumerate(scales, 1)]
        >>> said[-1].message
        'loss scale has fallen to 4096 at step 24, from 65536, without a rise between'

    Source:
        Dynamic loss scaling: Micikevicius et al. 2018; fairseq stops at its minimum.
    """

    category: ClassVar[str] = "loss_scale_collapse"
    severity: ClassVar[Severity] = Severity.WARNING
    suggestion: ClassVar[str] = (
        "Use bf16 if the hardware has it. Otherwise go back to a saved model, lower the learning "
        "rate, and look for values that overflow in fp16 (logits, attention scores)."
    )
    check_set: ClassVar[str] = "extended"
    reads: ClassVar[tuple[str, ...]] = ("loss_scale",)
    hold: ClassVar[Hold] = Hold(rows=1, clear_rows=1)
    thresholds: ClassVar[dict[str, float]] = {"limit": 1, "falls": 4, "warm_up_rows": 20}

    def __init__(self) -> None:
        self.rows = 0
        self.last: float | None = None
        self.high = 0.0
        self.falls = 0
        self.since: Mark | None = None

    def update(self, row: Row) -> Evidence | None:
        scale = row.values["loss_scale"]
        if not math.isfinite(scale):
            return None
        self.rows += 1
        known, self.last = self.last, scale
        if known is None or scale > known:
            self.falls, self.high, self.since = 0, scale, None
        # The falls with which the scale is found are not counted, only where they lead to.
        if self.rows <= self.thresholds["warm_up_rows"]:
            return None
        if known is not None and scale < known:
            self.falls += 1
        low = scale <= self.thresholds["limit"] < self.high
        if not low and self.falls < self.thresholds["falls"]:
            return None
        if self.since is None:
            self.since = mark(row)
        return Evidence(
            f"loss scale has fallen to {shown(scale)} at step {shown(row.step)}, from "
            f"{shown(self.high)}, without a rise between",
            {"loss_scale": scale, "before": self.high},
            self.since,
        )

    def gauge(self) -> Gauge | None:
        if self.last is None or self.waiting():
            return None
        return Gauge("loss scale", self.last, self.thresholds["limit"], above=False)
