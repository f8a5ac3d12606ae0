"""Steps: one axis for all rows of a run, whatever each row counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .plain import fields_of
from .rows import Row, RowKind, whole

_SANE = 1e18


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
        counts: What it counts: "step", "iter" or "epoch"; "" if there is none yet.
        wraps: Whether a step begins anew in each epoch; None before the second one.
        epoch: The newest epoch, where there is a count beside it.
        first_epoch: The first one.
        base: The steps before *epoch*.
        count: The newest count within *epoch*.
        fractional: An epoch was no whole number: epochs are no steps.
    """

    last: float | None = None
    counts: str = ""
    wraps: bool | None = None
    epoch: float | None = None
    first_epoch: float = 0.0
    base: float = 0.0
    count: float = 0.0
    fractional: bool = False

    def place(self, row: Row) -> Row:
        """Set the step of the next row; returns *row*."""
        values = row.values
        iteration = values.pop("iter", None)
        epoch = values.get("epoch")
        if epoch is not None and not abs(epoch) < _SANE:
            epoch = None
        trains = row.kind is RowKind.TRAIN
        if not row.has_step:
            self._find(row, iteration, epoch, trains)
        elif trains:
            if self.counts == "iter":
                self.epoch, self.base = None, 0.0
            self.last, self.counts = float(row.step), "step"
            if epoch is not None:
                self.last = self._count(epoch, self.last, falls=self.last < self.count)
                if self.base:
                    row.step = whole(self.last)
        elif self.last is not None and (self.base or row.step < self.last / 2):
            row.step, row.has_step = whole(self.last), False
        return row

    def source_restarted(self) -> None:
        """What follows is of another file: no row of it lacks a step of the old one."""
        self.last = None

    def _find(self, row: Row, iteration: float | None, epoch: float | None, trains: bool) -> None:
        if epoch is not None and not epoch.is_integer() and not self.fractional:
            self.fractional = True
            if self.counts == "epoch":
                self.last, self.counts = None, ""
        own: tuple[float, str] | None = None
        if epoch is not None and self.counts != "step":
            if iteration is not None and trains and abs(iteration) < _SANE:
                falls = iteration <= self.count
                own = self._count(epoch, iteration, falls=falls, within=True), "iter"
            elif self.counts != "iter" and not self.fractional and (trains or self.last is None):
                own = epoch, "epoch"
        if own is not None:
            row.step, row.has_step = whole(own[0]), True
            if trains:
                self.last, self.counts = own
        elif self.last is not None:
            row.step = whole(self.last)

    def _count(self, epoch: float, count: float, *, falls: bool, within: bool = False) -> float:
        if self.epoch is None:
            self.first_epoch = epoch
        elif epoch > self.epoch:
            # A step that was seen to go on over an epoch falls for another reason: a resume.
            if self.wraps is None:
                self.wraps = falls
            if falls and (within or self.wraps):
                self.base += self.count
        elif epoch < self.epoch:
            # Back to an epoch whose beginning is not kept: epochs are taken as equally long.
            done = max(0.0, epoch - self.first_epoch) / (self.epoch - self.first_epoch or 1.0)
            self.base *= done
            self.first_epoch = min(self.first_epoch, epoch)
        self.epoch, self.count = epoch, count
        return self.base + count

    def to_state(self) -> dict[str, Any]:
        """A small dict of numbers, for `StepAxis(**state)`."""
        return fields_of(self)
