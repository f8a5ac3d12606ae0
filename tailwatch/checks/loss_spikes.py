"""loss_spikes: a single loss stands far above the others."""

from __future__ import annotations

import math
from typing import ClassVar

from ..core.check import Check, mark
from ..core.findings import Evidence, Hold, Severity
from ..core.numbers import shown
from ..core.rows import Row
from ..core.stats import Ewma

# The mean absolute deviation of a normal distribution, times this, is its deviation.
SIGMAS_OF_MAD = 1.25


class LossSpikes(Check):
    """
    What it finds:
        After 50 rows, a single loss above the running mean by 8 of its usual
        deviations and by half.

    Why it matters:
        Single spikes do no harm; when there are more of them each day, the run grows
        unstable. They are counted, and nobody is told.

    What it does not find:
        A level that stays up: see `loss_spike`. Losses that are zero or below.

    Example:
        >>> check = LossSpikes()
        >>> losses = [2.0 + n % 2 / 10 for n in range(50)] + [4.0]
        >>> said = [check.update(Row(n, n, {"loss": x}, 0)) for n, x in enumerate(losses, 1)]
        >>> said[-1].message
        'loss 4 at step 51 stands 29.63 deviations above its usual 2.05'

    Source:
        Spikes in the training of large models: PaLM, Chowdhery et al. 2022.
    """

    category: ClassVar[str] = "loss_spikes"
    severity: ClassVar[Severity] = Severity.INFO
    suggestion: ClassVar[str] = (
        "Nothing to do for one. If they become frequent, look at the data near them, clip the "
        "gradient norm, or lower the learning rate."
    )
    check_set: ClassVar[str] = "extended"
    reads: ClassVar[tuple[str, ...]] = ("loss",)
    hold: ClassVar[Hold] = Hold(rows=1, clear_rows=1)
    thresholds: ClassVar[dict[str, float]] = {
        "alpha": 0.02,
        "deviations": 8,
        "factor": 1.5,
        "warm_up_rows": 50,
    }

    def __init__(self) -> None:
        self.mean = Ewma(self.thresholds["alpha"])
        self.mad = Ewma(self.thresholds["alpha"])
        self.off = False

    def update(self, row: Row) -> Evidence | None:
        loss, limits = row.values["loss"], self.thresholds
        if not math.isfinite(loss):
            return None
        self.off = self.off or loss <= 0 or row.loss_wanders
        if self.off:
            return None
        usual, deviation = self.mean.mean, SIGMAS_OF_MAD * self.mad.mean
        limit = max(usual + limits["deviations"] * deviation, limits["factor"] * usual)
        ready = self.mean.n >= limits["warm_up_rows"]
        spikes = ready and loss > limit
        # A spike moves the mean no further than its limit would.
        kept = limit if spikes else loss
        if self.mean.n:
            self.mad.update(abs(kept - usual))
        self.mean.update(kept)
        if not spikes:
            return None
        stands = (
            f"stands {shown((loss - usual) / deviation)} deviations above"
            if deviation > 1e-9 * usual
            else f"is {shown(loss / usual)} times"
        )
        return Evidence(
            f"loss {shown(loss)} at step {shown(row.step)} {stands} its usual {shown(usual)}",
            {"loss": loss, "baseline": usual, "threshold": limit},
            mark(row),
        )
