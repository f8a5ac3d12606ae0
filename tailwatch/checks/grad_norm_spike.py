"""grad_norm_spike: the gradient norm is three times its usual level."""

from __future__ import annotations

from typing import ClassVar

from ..core.check_bases import SpikeCheck
from ..core.findings import Hold, Severity


class GradNormSpike(SpikeCheck):
    """
    What it finds:
        After 50 rows, a gradient norm of at least 3 times its running mean, for 3
        rows running, whatever that mean is. It is over after 20 rows below 1.5 times.

    Why it matters:
        Gradients that jump come before the loss does: there is still time to act.

    What it does not find:
        One norm alone, which clipping takes care of. Norms below 0.001, where a
        ratio says nothing. A norm that is not finite: see `grad_norm_nan`.

    Example:
        >>> from tailwatch.core.rows import Row
        >>> check = GradNormSpike()
        >>> norms = [1.0] * 50 + [4.0]
        >>> said = [check.update(Row(n, n, {"grad_norm": x}, 0)) for n, x in enumerate(norms, 1)]
        >>> said[-1].message
        'grad norm 4 at step 51 is 4 times its usual 1, since step 51'

    Source:
        Measured: healthy norms range from 0.01 to 1,000,000, so only a run's own
        level tells.
    """

    category: ClassVar[str] = "grad_norm_spike"
    severity: ClassVar[Severity] = Severity.WARNING
    suggestion: ClassVar[str] = (
        "Watch the loss over the next rows. Clip the gradient norm at 1.0 if it is not clipped, "
        "and look at the data near this step; if it comes again, lower the learning rate."
    )
    check_set: ClassVar[str] = "extended"
    reads: ClassVar[tuple[str, ...]] = ("grad_norm",)
    hold: ClassVar[Hold] = Hold(rows=3, clear_rows=20)
    thresholds: ClassVar[dict[str, float]] = {
        "alpha": 0.02,
        "factor": 3,
        "warm_up_rows": 50,
        "value_min": 0.001,
        "clear_factor": 1.5,
    }
    what: ClassVar[str] = "grad norm"
