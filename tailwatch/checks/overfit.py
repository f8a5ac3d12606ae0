"""overfit: the evaluation loss rises while the training loss does not."""

from __future__ import annotations

import math
from typing import ClassVar

from ..core.check import SETS_MAX, Check, label, mark
from ..core.findings import Evidence, Hold, Severity
from ..core.numbers import shown
from ..core.rows import Row
from ..core.stats import Ewma


class Overfit(Check):
    """
    What it finds:
        For each evaluation set: 3 evaluations without a new best and the last more
        than 5% (and 0.02) above it, while the smoothed training loss does not rise.
        Or a training loss below 0.3 with an evaluation loss 0.5 above it. It is over
        with a new best.

    Why it matters:
        The model learns its training data by heart. The best model is behind; what
        comes costs and makes it worse.

    What it does not find:
        A metric that gets better while the loss gets worse, as word error rates do:
        that is why it is a warning. A run without evaluations.

    Example:
        >>> check = Overfit()
        >>> for n in range(1, 9):
        ...     said = check.update(Row(n, n, {"loss": 2.0 - n / 10}, 0))
        ...     loss = 1.5 - n / 10 if n < 5 else 1.0 + n / 10
        ...     said = check.update(Row(n, n, {"eval_loss": loss}, 0, evals={"eval_loss": loss}))
        >>> said.message
        'eval_loss 1.8 at step 8 is above its best, 1.1 at step 4, for 4 evaluations'

    Source:
        Early stopping, Prechelt 1998; the seed rules' gap of 0.5.
    """

    category: ClassVar[str] = "overfit"
    severity: ClassVar[Severity] = Severity.WARNING
    suggestion: ClassVar[str] = (
        "Keep the saved model nearest to the best evaluation. Stop here, or train with fewer "
        "epochs, a lower learning rate, more data, or dropout."
    )
    check_set: ClassVar[str] = "extended"
    reads_any: ClassVar[tuple[str, ...]] = ("eval_loss", "loss")
    hold: ClassVar[Hold] = Hold(rows=1, clear_rows=1)
    thresholds: ClassVar[dict[str, float]] = {
        "evaluations": 3,
        "rise_share": 0.05,
        "rise_min": 0.02,
        "gap_train_max": 0.3,
        "gap_min": 0.5,
        "alpha": 0.1,
    }

    def __init__(self) -> None:
        self.train = Ewma(self.thresholds["alpha"])
        # Set -> best, its step, evaluations since, training loss then, whether it is in trouble.
        self.sets: dict[str, list[float]] = {}
        self.said, self.said_of = "", ""

    def update(self, row: Row) -> Evidence | None:
        loss = row.values.get("loss")
        if loss is not None and math.isfinite(loss):
            self.train.update(loss)
        if row.rewarded:
            return None
        if row.resumed_from is not None:
            # Trained anew from an earlier model: what came after it was another's.
            self.sets = {
                name: [best, step, 0, train, trouble]
                for name, (best, step, _, train, trouble) in self.sets.items()
                if step < row.step
            }
        if not row.evals and not self.sets:
            return None
        for name, value in row.evals.items():
            if math.isfinite(value):
                self._evaluate(label(name), value, row)
        troubled = [name for name, state in self.sets.items() if state[4]]
        if not troubled:
            return None
        count = len(troubled) - 1
        more = f" (and of {count} more set{'s' * (count > 1)})" if count else ""
        best = self.sets.get(self.said_of, self.sets[troubled[0]])
        return Evidence(f"{self.said}{more}", {"best": best[0], "best_step": best[1]}, mark(row))

    def _evaluate(self, name: str, value: float, row: Row) -> None:
        limits = self.thresholds
        if name not in self.sets:
            if len(self.sets) >= SETS_MAX:
                return
            self.sets[name] = [value, row.step, 0, self.train.mean, 0]
        state = self.sets[name]
        best, best_step, since, train_then, _ = state
        if value < best or since == 0 == row.step - best_step:
            gap = self._gap(name, value, row)
            self.sets[name] = [min(value, best), row.step, 0, self.train.mean, gap]
            return
        since += 1
        above = value - best > max(limits["rise_share"] * abs(best), limits["rise_min"])
        falls = self.train.n > 0 and self.train.mean <= train_then
        trouble = state[4] or self._gap(name, value, row)
        if since >= limits["evaluations"] and above and falls:
            trouble = 1
            self.said_of = name
            self.said = (
                f"{name} {shown(value)} at step {shown(row.step)} is above its best, "
                f"{shown(best)} at step {shown(best_step)}, for {since:g} evaluations"
            )
        self.sets[name] = [best, best_step, since, train_then, trouble]

    def _gap(self, name: str, value: float, row: Row) -> float:
        limits, train = self.thresholds, self.train
        small = train.n > 0 and 0 < train.mean < limits["gap_train_max"]
        if not small or value <= train.mean + limits["gap_min"]:
            return 0
        self.said_of = name
        self.said = (
            f"{name} {shown(value)} at step {shown(row.step)} is far above the training "
            f"loss, {shown(train.mean)}"
        )
        return 1
