"""The rows of one run, made of objects, or straight from lines that look like those before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .fields import FieldMap, Sources
from .lines import Line
from .plans import Plan
from .rows import Row, RowKind, plain_row, row_of
from .shortcuts import Shortcut
from .steps import StepAxis

ALIKE_MIN = 16
"""After so many rows of one shape the next lines are tried as more of it: a decoder for them
costs as much as it saves in about so many."""


class RowMaker:
    """
    Make rows, and give them their steps.

    Attributes:
        fields: What the keys mean.
        sources: Which of them the run's fields are read from.
        steps: The axis of the run's steps.
        rewarded, adversarial: What the rows so far have shown; see `Row`.

    >>> maker = RowMaker(FieldMap())
    >>> for n in range(1, 20):
    ...     row = maker.of_record({"step": n, "loss": 0.5}, n, 0)
    >>> maker.of_line(Line(b'{"step": 20, "loss": 0.25}', 500, 527), 20).values
    {'loss': 0.25}
    >>> maker.of_line(Line(b'{"step": 21, "loss": NaN}', 527, 553), 21)
    """

    def __init__(self, fields: FieldMap) -> None:
        self.fields = fields
        self.sources = Sources()
        self.steps = StepAxis()
        self.rewarded = self.adversarial = False
        self._plan: Plan | None = None
        self._alike = 0
        self._shortcut: Shortcut | None = None

    def of_record(self, record: dict[str, Any], number: int, offset: int) -> Row:
        """The row of an object."""
        found = self.fields.read(record)
        if found.plan is self._plan:
            self._alike += 1
            if self._alike == ALIKE_MIN:
                self._shortcut = self.fields.shortcut(record)
        else:
            self._plan, self._alike, self._shortcut = found.plan, 0, None
        return self._finish(row_of(record, found, self.sources, number, offset))

    def of_line(self, line: Line, number: int) -> Row | None:
        """The row of a line that looks like those before; None if its object is needed."""
        shortcut = self._shortcut
        if shortcut is None:
            return None
        if shortcut.plain and self.sources.agreed == shortcut.usual:
            # Nearly every line of nearly every run.
            values = shortcut.values(line.data)
            if values is not None:
                return self._finish(plain_row(values, number, line.offset))
        elif (read := shortcut.read(line.data)) is not None:
            row = row_of(*read, self.sources, number, line.offset)
            # What describes the run is wanted whole.
            return None if row.kind is RowKind.METADATA else self._finish(row)
        self._plan = self._shortcut = None
        return None

    def _finish(self, row: Row) -> Row:
        values = row.values
        self.rewarded = row.rewarded = self.rewarded or "reward" in values
        self.adversarial = row.adversarial = self.adversarial or "discriminator_loss" in values
        return self.steps.place(row)

    def source_restarted(self) -> None:
        """The file was truncated or replaced: it may begin with something else."""
        self._plan = self._shortcut = None
        self.steps.source_restarted()

    def to_state(self) -> dict[str, Any]:
        """What to keep across a restart, for `restore`."""
        return {
            "sources": self.sources.to_state(),
            "steps": self.steps.to_state(),
            "rewarded": self.rewarded,
            "adversarial": self.adversarial,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where `to_state` was called."""
        self.sources = Sources(**state["sources"])
        self.steps = StepAxis(**state["steps"])
        self.rewarded, self.adversarial = state["rewarded"], state["adversarial"]
