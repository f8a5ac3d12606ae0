"""eval_loss_nan: an evaluation loss is NaN or infinite."""

from __future__ import annotations

import math
from typing import ClassVar

from ..core.check import SETS_MAX, Check, label, mark
from ..core.findings import Evidence, Hold, Severity
from ..core.numbers import shown
from ..core.rows import Row


class EvalLossNan(Check):
    """
    What it finds:
        An evaluation loss that is NaN or infinite, of any evaluation set.

    Why it matters:
        The model gives NaN for some input, or the evaluation divides by zero: its
        numbers cannot choose the best model any more.

    What it does not find:
        Other metrics of an evaluation, many of which are NaN by nature.

    Example:
        >>> check = EvalLossNan()
        >>> row = Row(1, 500, {"eval_loss": float("nan")}, 0, evals={"eval_loss": float("nan")})
        >>> check.update(row).message
        'eval_loss is NaN at step 500'

    Source:
        Follows nan_loss; evaluation losses are kept apart by set.
    """

    category: ClassVar[str] = "eval_loss_nan"
    severity: ClassVar[Severity] = Severity.WARNING
    suggestion: ClassVar[str] = (
        "Look for empty or over-long samples in the evaluation set. If the training loss is "
        "finite, run the evaluation once in fp32: an overflow in half precision shows only there."
    )
    check_set: ClassVar[str] = "extended"
    reads: ClassVar[tuple[str, ...]] = ("eval_loss",)
    hold: ClassVar[Hold] = Hold(rows=1, clear_rows=1)

    def __init__(self) -> None:
        self.bad: list[str] = []

    def update(self, row: Row) -> Evidence | None:
        newest = None
        for name, loss in (row.evals or {"eval_loss": row.values["eval_loss"]}).items():
            name = label(name)
            if math.isfinite(loss):
                if name in self.bad:
                    self.bad = [other for other in self.bad if other != name]
                continue
            newest = newest or (name, loss)
            if name not in self.bad and len(self.bad) < SETS_MAX:
                self.bad = [*self.bad, name]
        if not self.bad:
            return None
        name, loss = newest or (self.bad[0], math.nan)
        count = len(self.bad) - 1
        others = f" (and of {count} more set{'s' * (count > 1)})" if count else ""
        return Evidence(
            f"{name} is {shown(loss)} at step {shown(row.step)}{others}",
            {"eval_loss": loss},
            mark(row),
        )
