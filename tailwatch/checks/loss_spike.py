"""loss_spike: the loss is twice its usual level."""

from __future__ import annotations

from typing import ClassVar

from ..core.check_bases import SpikeCheck
from ..core.findings import Hold, Severity


class LossSpike(SpikeCheck):
    """
    What it finds:
        After 50 rows, a loss of at least twice its running mean, for 5 rows
        running. The mean stands still meanwhile, so that it does not learn the spike.

    Why it matters:
        A loss that jumps and stays up has met bad data or too large a step. It may
        come back by itself, at the price of what was learned; it may not.

    What it does not find:
        A jump of fewer than 5 rows: such are counted by `loss_spikes`. A climb that
        is slow enough for the mean to follow, which is a matter of `loss_runaway`.
        Losses that are zero or below, and reinforcement learning.

    Example:
        >>> from tailwatch.core.rows import Row
        >>> check = LossSpike()
        >>> losses = [2.0] * 50 + [5.0]
        >>> said = [check.update(Row(n, n, {"loss": x}, 0)) for n, x in enumerate(losses, 1)]
        >>> said[-1].message
        'loss 5 at step 51 is 2.5 times its usual 2, since step 51'

    Source:
        llm-foundry's LossPerpVLen and spike callback: 2 times the running mean.
    """

    category: ClassVar[str] = "loss_spike"
    severity: ClassVar[Severity] = Severity.WARNING
    suggestion: ClassVar[str] = (
        "Look at the data near this step, and at the gradient norm before it. If the loss does "
        "not come back, go on from a saved model before the jump and skip those batches."
    )
    check_set: ClassVar[str] = "extended"
    reads: ClassVar[tuple[str, ...]] = ("loss",)
    hold: ClassVar[Hold] = Hold(rows=5, clear_rows=20)
    thresholds: ClassVar[dict[str, float]] = {
        "alpha": 0.02,
        "factor": 2,
        "warm_up_rows": 50,
        "value_min": 0,
        "clear_factor": 2,
    }
    what: ClassVar[str] = "loss"
    positive_only: ClassVar[bool] = True
