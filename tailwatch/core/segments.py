"""Segments: has the trainer gone on, resumed, or started anew?"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from .plain import fields_of
from .rows import Row, RowKind

SEGMENT_ROWS_MIN = 10
# Two writers in one file, or a row that came late, fall back by an interval or two; that is
# no restart, and taking it for one would lift the page limit at every such row.
JITTER_INTERVALS = 2


class Course(enum.Enum):
    """What a row says about the trainer's life."""

    SAME = "same"
    RESUMED = "resumed"
    NEW_SEGMENT = "new_segment"


@dataclass(slots=True)
class SegmentTracker:
    """
    Follow the steps of one run.

    Only training rows drive it: evaluation rows of some trainers count epochs
    under the same key.

    >>> tracker = SegmentTracker()
    >>> rows = [Row(n, step, {"loss": 1.0}, 0) for n, step in enumerate([*range(50, 170, 10),
    ...                                                                   100, 110, 50])]
    >>> [tracker.update(row).value for row in rows][-3:]
    ['resumed', 'same', 'new_segment']
    """

    first_step: float | None = None
    last_step: float | None = None
    interval: float = 0.0
    rows: int = 0
    seen_loss: bool = False
    restarted: bool = False

    def update(self, row: Row) -> Course:
        """Take in the next row."""
        last = self.last_step
        if last is not None and self.seen_loss and not self.restarted and row.step > last:
            # Nearly every row: the trainer goes on.
            self.rows += 1
            if row.kind is RowKind.TRAIN and row.has_step and "loss" in row.values:
                self.interval, self.last_step = row.step - last, row.step
            return Course.SAME
        course = self._judge(row)
        if course is Course.NEW_SEGMENT:
            self._begin()
        self.rows += 1
        if "loss" in row.values:
            if not self.seen_loss:
                self.first_step = self.last_step = None
            self.seen_loss = True
        if self._drives(row):
            if self.last_step is not None and row.step > self.last_step:
                self.interval = row.step - self.last_step
            self.last_step = row.step
            if self.first_step is None:
                self.first_step = row.step
        return course

    def source_restarted(self) -> None:
        """The file was truncated or replaced: unless its steps go on, a segment begins."""
        self.restarted = True

    def _judge(self, row: Row) -> Course:
        if self.restarted and row.kind is not RowKind.METADATA:
            self.restarted = False
            if not self.rows:
                return Course.SAME
            # A rotated log goes on where it was: the trainer was not started again.
            goes_on = row.has_step and self.last_step is not None and row.step > self.last_step
            return Course.SAME if goes_on else Course.NEW_SEGMENT
        # Steps before the first loss may have been of another kind.
        first_loss = "loss" in row.values and not self.seen_loss
        if first_loss or not self._drives(row) or self.last_step is None:
            return Course.SAME
        if row.step >= self.last_step:
            return Course.SAME
        assert self.first_step is not None
        if row.step <= self.first_step and self.rows >= SEGMENT_ROWS_MIN:
            return Course.NEW_SEGMENT
        fall = self.last_step - row.step
        return Course.RESUMED if fall > JITTER_INTERVALS * self.interval else Course.SAME

    def _drives(self, row: Row) -> bool:
        trains = row.kind is RowKind.TRAIN and row.has_step
        return trains and ("loss" in row.values or not self.seen_loss)

    def _begin(self) -> None:
        self.first_step = self.last_step = None
        self.interval, self.rows, self.seen_loss = 0.0, 0, False

    def to_state(self) -> dict[str, Any]:
        """A small dict of numbers, for `SegmentTracker(**state)`."""
        return fields_of(self)
