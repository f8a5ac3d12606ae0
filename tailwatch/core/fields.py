"""Find the canonical fields of a trainer's rows, by the table in `aliases`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from . import aliases
from .aliases import ALIASES, WRAPPERS, Source
from .numbers import number
from .readings import READINGS

WORSE_ROWS_MAX = 10
"""For so many rows in a row a worse source of a field is not believed, once a better spoke."""
_DEPTH_MAX = 5
_NESTED_KEYS_MAX = 512


class _Candidate(NamedTuple):
    field: str
    rank: int
    path: tuple[str, ...]
    reading: Callable[[object], float | None]


class Plan(NamedTuple):
    """
    What to read of rows of one shape.

    Attributes:
        candidates: In the order of the table.
        evals: The evaluation losses: their key, and where they are.
        labels: The keys whose text may say what the row is.
        data_keys: The keys that may tell an example of a data set.
        is_summary: Whether it sums up the run.
        is_metadata: Whether it describes the run, if it has no loss.
    """

    candidates: tuple[_Candidate, ...]
    evals: tuple[tuple[str, tuple[str, ...]], ...]
    labels: tuple[str, ...]
    data_keys: tuple[str, ...]
    is_summary: bool
    is_metadata: bool

    @property
    def special(self) -> bool:
        """Whether its keys alone do not tell what a row is about."""
        return bool(self.labels or self.data_keys or self.is_summary or self.is_metadata)


@dataclass(slots=True)
class Found:
    """
    The fields of one row.

    Attributes:
        values: Canonical field -> number; NaN and infinities are numbers.
        evals: Key -> evaluation loss, for each evaluation set.
        nulls: Fields whose best source is there, and null.
        ranks: Canonical field -> which of its sources was read.
        plan: What was looked for.
    """

    values: dict[str, float]
    evals: dict[str, float]
    nulls: tuple[str, ...]
    ranks: dict[str, int]
    plan: Plan


@dataclass(slots=True)
class Sources:
    """
    Which sources a run's fields were read from: kept for each run.

    A log may hold the loss of each step and, now and then, an average under a worse
    name: two series that must not be mixed.
    """

    rank: dict[str, int] = field(default_factory=dict)
    worse_rows: dict[str, int] = field(default_factory=dict)

    def settle(self, found: Found) -> None:
        """Take out of *found* what came from a worse source than the run's own."""
        for name, rank in found.ranks.items():
            known = self.rank.get(name)
            if known == rank:
                if self.worse_rows:
                    self.worse_rows.pop(name, None)
            elif known is None or rank < known:
                self.rank[name] = rank
                self.worse_rows.pop(name, None)
            else:
                missed = self.worse_rows.get(name, 0) + 1
                if missed <= WORSE_ROWS_MAX:
                    self.worse_rows[name] = missed
                    found.values.pop(name, None)
                else:
                    self.rank[name] = rank
                    del self.worse_rows[name]


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

    _PLANS_MAX = 256

    def __init__(
        self, mapped: Mapping[str, str] | None = None, ignored: Iterable[str] = ()
    ) -> None:
        self._ignored = frozenset(ignored)
        self._sources = _ranked(mapped or {})
        self.own_eval = (mapped or {}).get("eval_loss")
        keys = [source.key for _, _, source in self._sources] + [self.own_eval or ""]
        self._heads = frozenset(WRAPPERS) | {key.split(".")[0] for key in keys if "." in key}
        self._plans: dict[tuple[object, ...], Plan] = {}
        own = repr((sorted((mapped or {}).items()), sorted(self._ignored)))
        self.version = hashlib.sha256((_TABLE + own).encode()).hexdigest()[:16]

    def ignores(self, key: str) -> bool:
        """Whether a setting says that *key* means nothing here."""
        return not self._ignored.isdisjoint((key, key.rpartition(".")[2]))

    def read(self, record: Mapping[str, object]) -> Found:
        """Return the fields that *record* has."""
        plan = self.plan(record)
        values: dict[str, float] = {}
        ranks: dict[str, int] = {}
        nulls: tuple[str, ...] = ()
        for name, rank, path, reading in plan.candidates:
            if name in values or name in nulls:
                continue
            raw = record[path[0]] if len(path) == 1 else _get(record, path)
            if raw is None:
                nulls += (name,)
                continue
            # Most values are floats, and most sources plain numbers.
            value = raw if type(raw) is float and reading is number else reading(raw)
            if value is not None:
                values[name] = value
                ranks[name] = rank
        evals: dict[str, float] = {}
        for key, path in plan.evals:
            raw = _get(record, path)
            if raw is None:
                nulls += ("eval_loss",)
            elif (value := number(raw)) is not None:
                evals[key] = value
        if evals:
            values["eval_loss"] = next(iter(evals.values()))
        return Found(values, evals, nulls, ranks, plan)

    def plan(self, record: Mapping[str, object]) -> Plan:
        """What to read of rows of the shape of *record*."""
        shape: tuple[object, ...] = tuple(record)
        if not self._heads.isdisjoint(record):
            shape = (shape, *((key, _shape(record[key])) for key in record if key in self._heads))
        plan = self._plans.get(shape)
        if plan is None:
            plan = self._make_plan(record)
            if len(self._plans) >= self._PLANS_MAX:
                self._plans.clear()
            self._plans[shape] = plan
        return plan

    def _make_plan(self, record: Mapping[str, object]) -> Plan:
        flat = {
            key: path
            for key, path in _flatten(record, self._heads).items()
            if self._ignored.isdisjoint((key, path[-1]))
        }
        candidates = []
        for name, rank, source in self._sources:
            if not set(source.unless).isdisjoint(record):
                continue
            if source.beside and set(source.beside).isdisjoint(flat):
                continue
            for path in _paths(source.key, flat):
                candidates.append(_Candidate(name, rank, path, READINGS[source.reading]))
        taken = {c.path for c in candidates if c.field == "loss"}
        evals = [
            (path[-1] if path[0] in WRAPPERS else key, path)
            for key, path in flat.items()
            if key == self.own_eval
            or (path not in taken and _is_eval_loss(path[-1] if path[0] in WRAPPERS else key))
        ]
        return Plan(
            tuple(candidates),
            tuple(evals),
            tuple(key for key in aliases.LABEL_KEYS if key in record),
            tuple(key for key in record if key in aliases.DATA_KEYS),
            not set(aliases.SUMMARY_KEYS).isdisjoint(record),
            not aliases.METADATA_KEYS.isdisjoint(record),
        )


_TABLE = repr((ALIASES, aliases.EVAL_LOSS.pattern, sorted(aliases.EVAL_LOSS_KEYS)))


def _ranked(mapped: Mapping[str, str]) -> list[tuple[str, int, Source]]:
    ranked: list[tuple[str, int, Source]] = []
    for name, groups in ALIASES.items():
        rank = 0
        if name in mapped:
            first = groups[0]
            reading = first.reading if isinstance(first, Source) else "number"
            ranked.append((name, rank, Source(mapped[name], reading)))
        for group in groups:
            rank += 1
            members = [group] if isinstance(group, (str, Source)) else group
            for member in members:
                source = member if isinstance(member, Source) else Source(member)
                ranked.append((name, rank, source))
    return ranked


def _is_eval_loss(key: str) -> bool:
    return key in aliases.EVAL_LOSS_KEYS or aliases.EVAL_LOSS.fullmatch(key) is not None


def _get(record: Mapping[str, object], path: tuple[str, ...]) -> object:
    value: object = record
    for part in path:
        value = value[part]  # type: ignore[index]
    return value


def _shape(value: object, depth: int = 1) -> object:
    if type(value) is not dict or depth >= _DEPTH_MAX:
        return None
    return (
        tuple(value),
        *((key, _shape(v, depth + 1)) for key, v in value.items() if type(v) is dict),
    )


def _flatten(record: Mapping[str, object], heads: frozenset[str]) -> dict[str, tuple[str, ...]]:
    """Every key, dotted where it is nested below one of *heads*, with its path."""
    flat: dict[str, tuple[str, ...]] = {key: (key,) for key in record}
    queue: list[tuple[str, ...]] = [
        (key,) for key in record if key in heads and type(record[key]) is dict
    ]
    while queue and len(flat) < _NESTED_KEYS_MAX:
        path = queue.pop(0)
        inner: dict[str, object] = _get(record, path)  # type: ignore[assignment]
        for key in inner:
            deeper = (*path, key)
            flat.setdefault(".".join(deeper), deeper)
            if type(inner[key]) is dict and len(deeper) < _DEPTH_MAX:
                queue.append(deeper)
    return flat


def _paths(key: str, flat: Mapping[str, tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Where *key* is in a row: as it is, below a wrapper, or, with `*`, anywhere it fits."""
    if "*" in key:
        pattern = re.compile(re.escape(key).replace(r"\*", r"[^.]+"))
        return [path for each, path in flat.items() if pattern.fullmatch(each)]
    return [
        flat[each] for each in (key, *(f"{wrapper}.{key}" for wrapper in WRAPPERS)) if each in flat
    ]
