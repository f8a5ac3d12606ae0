"""nan_masked: the trainer hid a NaN."""

from __future__ import annotations

import math
from typing import ClassVar

from ..core.check import Check, mark
from ..core.findings import Evidence, Hold, Mark, Severity
from ..core.numbers import shown
from ..core.rows import Row, RowKind

LOSSES_KEPT = 5
ROOTS_MAX = 8


class NanMasked(Check):
    """
    What it finds:
        A NaN that the log does not show as one. A loss of exactly 0 beside a
        gradient norm that is not finite. A loss of 0 in 3 training rows
        running, after losses above 0.2 and without a positive gradient norm: a
        filter wrote 0 for NaN. A gradient norm that stays at the root of a
        small whole number for 3 rows while the loss is 0, not finite or does
        not move. A loss that was a number in 5 rows and is null in 2 rows
        running. A growing count of NaN iterations.

    Why it matters:
        Hugging Face's trainer writes 0 for a NaN loss by default, and strict
        JSON writers write null: the run is lost, and every dashboard looks calm.

    What it does not find:
        A filter that repeats the last good loss. A loss of 0 with a healthy
        gradient norm, which is a matter of `loss_zero`. Where losses of 0 are
        usual, in reinforcement learning or after losses near 0, one alone
        proves nothing: there the norm must not be finite in 3 rows running.

    Example:
        >>> check = NanMasked()
        >>> check.update(Row(1, 10, {"loss": 0.0, "grad_norm": float("nan")}, 0)).message
        'loss is 0 and grad norm NaN at step 10: a NaN loss that was written as 0'

    Source:
        transformers' logging_nan_inf_filter; orjson's null for NaN; Megatron's
        count of NaN iterations.
    """

    category: ClassVar[str] = "nan_masked"
    severity: ClassVar[Severity] = Severity.CRITICAL
    suggestion: ClassVar[str] = (
        "Take the run for one whose loss is NaN: stop it and go back to a saved model from "
        "before this step. To see the values as they are, set logging_nan_inf_filter=False in "
        "Hugging Face's TrainingArguments."
    )
    check_set: ClassVar[str] = "extended"
    reads_any: ClassVar[tuple[str, ...]] = ("loss", "grad_norm", "nan_count")
    hold: ClassVar[Hold] = Hold(rows=1, clear_rows=20)
    thresholds: ClassVar[dict[str, float]] = {
        "zero_rows": 3,
        "loss_before_min": 0.2,
        "loss_usual_min": 0.01,
        "root_rows": 3,
        "root_error_max": 1e-6,
        "null_rows": 2,
        "loss_rows_min": 5,
    }
    latched: ClassVar[bool] = True

    def __init__(self) -> None:
        self.first_bad: Mark | None = None
        self.first_message = ""
        self.bad_rows = 0
        self.before: list[float] = []
        self.last_loss: float | None = None
        self.loss_rows = 0
        self.zero_rows = 0
        self.zero_bad_rows = 0
        self.null_rows = 0
        self.null_usual = 0
        self.last_step: int | float | None = None
        self.root = 0
        self.root_rows = 0
        self.nan_count: float | None = None

    def update(self, row: Row) -> Evidence | None:
        if row.kind is not RowKind.TRAIN:
            return None
        loss, norm = row.values.get("loss"), row.values.get("grad_norm")
        zero = self._zero(row, loss, norm) if loss == 0 or self.zero_rows else None
        root = self._root(row, loss, norm)
        null = self._null(row, loss) if row.nulls or self.null_rows else None
        message = zero or root or null
        if "nan_count" in row.values:
            counted = self._counted(row, row.values["nan_count"])
            message = message or counted
        if loss is not None:
            finite = math.isfinite(loss)
            self.loss_rows += finite
            if finite and loss != 0:
                self.before = [*self.before[1 - LOSSES_KEPT :], loss]
            self.last_loss = loss if finite else None
        self.last_step = row.step
        if message is None:
            return None
        here = mark(row)
        self.bad_rows += 1
        if self.first_bad is None:
            self.first_bad, self.first_message = here, message
        return Evidence(message, self._values(loss, norm), here)

    def diagnose(self) -> Evidence | None:
        if self.first_bad is None:
            return None
        return Evidence(self.first_message, {"rows": self.bad_rows}, self.first_bad)

    def _values(self, loss: float | None, norm: float | None) -> dict[str, float]:
        values = {"loss": loss, "grad_norm": norm, "last_good_loss": self._last_good()}
        return {name: value for name, value in values.items() if value is not None}

    def _last_good(self) -> float | None:
        return self.before[-1] if self.before else None

    def _zero(self, row: Row, loss: float | None, norm: float | None) -> str | None:
        if loss is None:
            return None
        if loss != 0:
            self.zero_rows = self.zero_bad_rows = 0
            return None
        bad = norm is not None and not math.isfinite(norm)
        self.zero_rows += 1
        self.zero_bad_rows = self.zero_bad_rows + 1 if bad else 0
        if bad and (self.zero_bad_rows >= self.thresholds["zero_rows"] or not self._usual(row)):
            return (
                f"loss is 0 and grad norm {shown(norm)} at step {shown(row.step)}: "
                "a NaN loss that was written as 0"
            )
        healthy = norm is not None and 0 < norm < math.inf
        high = bool(self.before) and min(self.before) > self.thresholds["loss_before_min"]
        if healthy or not high or self.zero_rows < self.thresholds["zero_rows"]:
            return None
        return (
            f"loss has been exactly 0 for {self.zero_rows} rows up to step {shown(row.step)}, "
            f"after {shown(self._last_good())}: a NaN that was written as 0"
        )

    def _usual(self, row: Row) -> bool:
        # Policies have losses of 0, and small ones are rounded to 0: beside one of those, a
        # single infinite norm is a step that the loss scaler skipped, and no NaN.
        small = self.thresholds["loss_usual_min"]
        return row.loss_wanders or any(abs(loss) < small for loss in self.before)

    def _root(self, row: Row, loss: float | None, norm: float | None) -> str | None:
        if norm is None or loss is None:
            return None
        square = round(norm * norm) if 0 < norm < ROOTS_MAX else 0
        at_root = 0 < square <= ROOTS_MAX
        at_root = at_root and abs(norm - math.sqrt(square)) <= self.thresholds["root_error_max"]
        if not at_root or not self._stuck(row, loss):
            self.root = self.root_rows = 0
            return None
        self.root_rows = self.root_rows + 1 if square == self.root else 1
        self.root = square
        if self.root_rows < self.thresholds["root_rows"]:
            return None
        return (
            f"grad norm has stayed at {shown(norm)}, the root of {square}, for {self.root_rows} "
            f"rows up to step {shown(row.step)} and the loss does not move: clipped NaN gradients"
        )

    def _stuck(self, row: Row, loss: float) -> bool:
        if not math.isfinite(loss):
            return True
        return (loss == 0 or loss == self.last_loss) and not self._usual(row)

    def _null(self, row: Row, loss: float | None) -> str | None:
        if "loss" not in row.nulls:
            if loss is not None:
                # A trainer that writes null between its losses does so from the beginning.
                if self.loss_rows < self.thresholds["loss_rows_min"]:
                    self.null_usual = max(self.null_usual, self.null_rows)
                self.null_rows = 0
            return None
        if self.last_step is not None and row.step <= self.last_step:
            return None
        self.null_rows += 1
        few = self.loss_rows < self.thresholds["loss_rows_min"]
        if few or self.null_rows < self.thresholds["null_rows"] + self.null_usual:
            return None
        return (
            f"loss has been null for {self.null_rows} rows up to step {shown(row.step)}, after "
            f"{self.loss_rows} rows with a number: a NaN that was written as null"
        )

    def _counted(self, row: Row, count: float) -> str | None:
        if not math.isfinite(count):
            return None
        known, self.nan_count = self.nan_count, count
        if known is None or count <= known:
            return None
        return (
            f"the trainer's count of NaN iterations grew from {shown(known)} to {shown(count)} "
            f"at step {shown(row.step)}"
        )
