"""Find the canonical fields of a trainer's rows, by the table in `aliases`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .plans import TABLE, Found, Plan, Planner, size
from .shortcuts import Shortcut

WORSE_ROWS_MAX = 10
"""For so many rows in a row a worse source of a field is not believed, once a better spoke."""


@dataclass(slots=True)
class Sources:
    """
    Which sources a run's fields were read from: kept for each run.

    A log may hold the loss of each step and, now and then, an average under a worse
    name: two series that must not be mixed.

    Attributes:
        rank: Field -> which of its sources is the run's own.
        worse_rows: Field -> in how many rows running there was a worse one.
        agreed: Sources and names of the fields of the last row, if it was as it should be: a row
            of the same needs no settling.
    """

    rank: dict[str, int] = field(default_factory=dict)
    worse_rows: dict[str, int] = field(default_factory=dict)
    agreed: tuple[dict[str, int], tuple[str, ...]] | None = field(default=None, repr=False)

    def settle(self, found: Found) -> None:
        """Take out of *found* what came from a worse source than the run's own."""
        # Nearly every row: the same fields, from the same sources as those of the row before.
        names = tuple(found.values)
        agreed = self.agreed
        if agreed is not None and found.ranks is agreed[0] and names == agreed[1]:
            return
        for name in names:
            if name in found.ranks and not self._own(name, found.ranks[name]):
                del found.values[name]
        self.agreed = None if self.worse_rows else (found.ranks, names)

    def _own(self, name: str, rank: int) -> bool:
        """Whether a field's source is the run's own; now and then it becomes that."""
        known = self.rank.get(name)
        missed = 0 if known is None or rank <= known else self.worse_rows.get(name, 0) + 1
        if 0 < missed <= WORSE_ROWS_MAX:
            self.worse_rows[name] = missed
            return False
        self.worse_rows.pop(name, None)
        self.rank[name] = rank
        return True

    def to_state(self) -> dict[str, Any]:
        """What to keep across a restart, for `Sources(**state)`."""
        return {"rank": self.rank, "worse_rows": self.worse_rows}


class FieldMap:
    """
    Find the canonical fields of rows.

    Trainers write the same keys in row after row, so the shape of a row is turned
    into a short plan once, and the plan is kept.

    Args:
        mapped: Canonical field -> a key that is its best source, whatever the table says.
        ignored: Keys that mean nothing here.

    Attributes:
        own_eval: The key that *mapped* has for an evaluation loss.
        version: Changes with anything that decides what a key means.

    >>> fields = FieldMap()
    >>> fields.read({"current_steps": 5, "loss": 0.5, "lr": 1e-4, "note": "hi"}).values
    {'step': 5.0, 'loss': 0.5, 'learning_rate': 0.0001}
    >>> found = fields.read({"step": 3, "data": {"actor/pg_loss": None}})
    >>> found.values, found.nulls
    ({'step': 3.0}, ('loss',))
    >>> fields.read({"train_loss": 1.5, "train_runtime": 360.0}).values
    {}
    """

    # Rows that each have keys of their own, perhaps thousands, must not grow our memory.
    _PLANS_MAX = 256
    _KEYS_MAX = 20_000

    def __init__(
        self, mapped: Mapping[str, str] | None = None, ignored: Iterable[str] = ()
    ) -> None:
        self._ignored = ignored = frozenset(ignored)
        self.own_eval = (mapped or {}).get("eval_loss")
        self._planner = Planner(mapped or {}, ignored)
        self._plans: dict[tuple[object, ...], Plan] = {}
        self._shortcuts: dict[tuple[object, ...], Shortcut | None] = {}
        self._keys = 0
        own = repr((sorted((mapped or {}).items()), sorted(ignored)))
        self.version = hashlib.sha256((TABLE + own).encode()).hexdigest()[:16]

    def ignores(self, key: str) -> bool:
        """Whether a setting says that *key* means nothing here."""
        return not self._ignored.isdisjoint((key, key.rpartition(".")[2]))

    def read(self, record: Mapping[str, object]) -> Found:
        """Return the fields that *record* has."""
        return self.plan(record).read(record)

    def plan(self, record: Mapping[str, object]) -> Plan:
        """What to read of rows of the shape of *record*."""
        shape = self._planner.shape(record)
        plan = self._plans.get(shape)
        if plan is None:
            plan = self._keep(shape, self._planner.plan(record))
        return plan

    def shortcut(self, record: Mapping[str, Any]) -> Shortcut | None:
        """How to read more rows of the shape of *record*; None if that needs whole rows."""
        shape, plan = self._planner.shape(record), self.plan(record)
        if shape not in self._shortcuts:
            self._shortcuts[shape] = Shortcut.of(record, plan, self._planner.heads)
        return self._shortcuts[shape]

    def _keep(self, shape: tuple[object, ...], plan: Plan) -> Plan:
        keys = size(shape)
        if self._keys + keys > self._KEYS_MAX or len(self._plans) >= self._PLANS_MAX:
            self._plans.clear()
            self._shortcuts.clear()
            self._keys = 0
        self._plans[shape] = plan
        self._keys += keys
        return plan
