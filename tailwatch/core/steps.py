"""Steps: one axis for all rows of a run, whatever each row counts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from .rows import Row, RowKind


@dataclass(slots=True)
class StepAxis:
    """
    Give the rows of one run their steps.

    A trainer that counts within the epoch (mmcv's `iter`) gets a running count; one
    that writes whole epochs only, the epoch; an evaluation that counts epochs under
    the name of the step (mmengine), the training step before it; a row without any,
    the step before it, or its number in a run without steps.

    >>> axis = StepAxis()
    >>> rows = [Row(n, n, {"loss": 1.0, "epoch": e, "iter": i}, 0, has_step=False)
    ...         for n, (e, i) in enumerate([(1.0, 50.0), (1.0, 100.0), (2.0, 50.0), (1.0, 50.0)])]
    >>> [axis.place(row).step for row in rows]
    [50, 100, 150, 50]

    Attributes:
        last: The last training step.
        epoch: The newest epoch, where steps are counted within it.
        first_epoch: The first one.
        base: The steps before *epoch*.
        last_iter: The newest count within *epoch*.
        fractional: An epoch was no whole number: epochs are no steps.
    """

    last: float | None = None
    epoch: float | None = None
    first_epoch: float = 0.0
    base: float = 0.0
    last_iter: float = 0.0
    fractional: bool = False

    def place(self, row: Row) -> Row:
        """Set the step of the next row; returns *row*."""
        trains = row.kind is RowKind.TRAIN
        iteration = row.values.pop("iter", None)
        if not row.has_step:
            self._find(row, iteration, trains)
        elif row.kind is RowKind.EVAL and self.last is not None and row.step < self.last / 2:
            row.step, row.has_step = _whole(self.last), False
        if trains and row.has_step:
            self.last = float(row.step)
        return row

    def _find(self, row: Row, iteration: float | None, trains: bool) -> None:
        epoch = row.values.get("epoch")
        if epoch is not None and abs(epoch) < 1e18:
            self.fractional = self.fractional or not epoch.is_integer()
            if trains and iteration is not None and abs(iteration) < 1e18:
                row.step, row.has_step = _whole(self._count(epoch, iteration)), True
                return
            if trains and iteration is None and not self.fractional and self.epoch is None:
                row.step, row.has_step = int(epoch), True
                return
        if self.last is not None:
            row.step = _whole(self.last)

    def _count(self, epoch: float, iteration: float) -> float:
        if self.epoch is None:
            self.first_epoch = epoch
        elif epoch > self.epoch:
            self.base += self.last_iter
        elif epoch < self.epoch:
            # Back to an epoch whose beginning is not kept: epochs are taken as equally long.
            done = max(0.0, epoch - self.first_epoch) / (self.epoch - self.first_epoch or 1.0)
            self.base *= done
            self.first_epoch = min(self.first_epoch, epoch)
        self.epoch, self.last_iter = epoch, iteration
        return self.base + iteration

    def to_state(self) -> dict[str, Any]:
        """A small dict of numbers, for `StepAxis(**state)`."""
        return asdict(self)


def _whole(step: float) -> int | float:
    return int(step) if step.is_integer() else step
