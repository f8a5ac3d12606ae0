"""Plans: what to read of rows of one shape, found once and then kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import NamedTuple

from . import aliases, labels
from .aliases import ALIASES, WRAPPERS, Source
from .numbers import number
from .readings import AS_IS, READINGS

Path = tuple[str, ...]

DEPTH_MAX = 5
"""How deep fields are nested at most."""
_NESTED_KEYS_MAX = 512


class Candidate(NamedTuple):
    """
    One place where a field of a row may be.

    Attributes:
        field: The canonical field.
        rank: How far down the table its source stands.
        key: Its key at the top of the row; None if it is nested.
        path: The keys that lead to it.
        reading: How its value becomes a number.
        as_is: Whether that leaves a float as it is.
        more: Whether it is one more place of the source before it: another policy's.
    """

    field: str
    rank: int
    key: str | None
    path: Path
    reading: Callable[[object], float | None]
    as_is: bool
    more: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """
    What to read of rows of one shape.

    Attributes:
        candidates: In the order of the table.
        ranks: Field -> rank, if each first candidate holds a number.
        evals: The evaluation losses: their key, and where they are.
        labels: The keys whose text may say what the row is.
        data_keys: The keys that may tell an example of a data set.
        is_summary: Whether it sums up the run.
        is_metadata: Whether it describes the run, if it has no loss.
        has_score: Whether it has what only an evaluation has, a loss aside.
        special: Whether its keys alone do not tell what a row is about.
    """

    candidates: tuple[Candidate, ...]
    ranks: dict[str, int]
    evals: tuple[tuple[str, Path], ...]
    labels: tuple[str, ...]
    data_keys: tuple[str, ...]
    is_summary: bool
    is_metadata: bool
    has_score: bool
    special: bool

    def read(self, record: Mapping[str, object]) -> Found:
        """Return the fields of *record*, a row of this shape."""
        values: dict[str, float] = {}
        ranks = self.ranks
        nulls: tuple[str, ...] = ()
        for name, rank, key, path, reading, as_is, more in self.candidates:
            if name in values or name in nulls:
                # Of several policies the one that is not finite speaks for them all.
                if more and rank == ranks[name]:
                    other = reading(get(record, path))
                    if other is not None and not isfinite(other):
                        values[name] = other
                continue
            raw = record[key] if key is not None else get(record, path)
            if as_is and type(raw) is float:
                value: float | None = raw
            elif raw is None:
                nulls += (name,)
                continue
            else:
                value = reading(raw)
            if value is not None:
                values[name] = value
                if rank != ranks[name]:
                    ranks = {**ranks, name: rank}
        evals: dict[str, float] = {}
        for key, path in self.evals:
            raw = get(record, path)
            if raw is None:
                nulls += ("eval_loss",)
            elif (value := number(raw)) is not None:
                evals[key] = value
        if evals:
            values["eval_loss"] = next(iter(evals.values()))
        return Found(values, evals, nulls, ranks, self)


@dataclass(slots=True)
class Found:
    """
    The fields of one row.

    Attributes:
        values: Canonical field -> number; NaN and infinities are numbers.
        evals: Key -> evaluation loss, for each evaluation set.
        nulls: Fields whose best source is there, and null.
        ranks: Canonical field -> which of its sources was read, if it has a value. Not to be
            changed: rows share it.
        plan: What was looked for.
    """

    values: dict[str, float]
    evals: dict[str, float]
    nulls: tuple[str, ...]
    ranks: dict[str, int]
    plan: Plan


class Planner:
    """
    Make plans by the table.

    Args:
        mapped: Canonical field -> a key that is its best source, whatever the table says.
        ignored: Keys that mean nothing here.

    Attributes:
        heads: The keys below which a field may be nested.

    >>> plan = Planner({}, ()).plan({"iteration": 5, "data": {"actor/pg_loss": 0.5}})
    >>> [(c.field, c.path) for c in plan.candidates if c.field != "planned_steps"]
    [('step', ('iteration',)), ('loss', ('data', 'actor/pg_loss'))]
    """

    def __init__(self, mapped: Mapping[str, str], ignored: Iterable[str]) -> None:
        self._ignored = frozenset(ignored)
        self._sources = _ranked(mapped)
        self._own_eval = mapped.get("eval_loss")
        keys = [source.key for _, _, source in self._sources] + [self._own_eval or ""]
        self.heads = frozenset(WRAPPERS) | {key.split(".")[0] for key in keys if "." in key}
        # A key is looked for as it is and below each wrapper; one with `*`, wherever it fits.
        self._places: dict[str, list[tuple[int, int]]] = {}
        self._patterns: list[tuple[int, re.Pattern[str]]] = []
        for order, (_, _, source) in enumerate(self._sources):
            if "*" in source.key:
                pattern = re.escape(source.key).replace(r"\*", r"[^.]+")
                self._patterns.append((order, re.compile(pattern)))
                continue
            wrapped = [f"{wrapper}.{source.key}" for wrapper in WRAPPERS]
            for place, key in enumerate([source.key, *wrapped]):
                self._places.setdefault(key, []).append((order, place))

    def plan(self, record: Mapping[str, object]) -> Plan:
        """What to read of rows of the shape of *record*."""
        flat = _flatten(record, self.heads)
        if self._ignored:
            ignored = self._ignored
            flat = {k: p for k, p in flat.items() if k not in ignored and p[-1] not in ignored}
        candidates = tuple(self._candidates(record, flat))
        taken = {c.path for c in candidates if c.field == "loss"}
        bare = [
            (path[-1] if path[0] in WRAPPERS else key, key, path) for key, path in flat.items()
        ]
        evals = tuple(
            (name, path)
            for name, key, path in bare
            if key == self._own_eval or (path not in taken and _is_eval_loss(name))
        )
        named = tuple(key for key in labels.LABEL_KEYS if key in record)
        data_keys = tuple(key for key in record if key in labels.DATA_KEYS)
        is_summary = not set(aliases.SUMMARY_KEYS).isdisjoint(record)
        is_metadata = not labels.METADATA_KEYS.isdisjoint(record)
        return Plan(
            candidates,
            {c.field: c.rank for c in reversed(candidates)},
            evals,
            named,
            data_keys,
            is_summary,
            is_metadata,
            any(_is_eval_score(name) for name, _, _ in bare),
            special=bool(named or data_keys or is_summary or is_metadata),
        )

    def _candidates(
        self, record: Mapping[str, object], flat: Mapping[str, Path]
    ) -> Iterable[Candidate]:
        hits = [
            (order, place, path)
            for key, path in flat.items()
            for order, place in self._places.get(key, ())
        ]
        dotted = [(key, path) for key, path in flat.items() if "." in key]
        for order, pattern in self._patterns:
            fits = [path for key, path in dotted if pattern.fullmatch(key)]
            hits += [(order, place, path) for place, path in enumerate(fits)]
        for order, place, path in sorted(hits, key=lambda hit: hit[:2]):
            name, rank, source = self._sources[order]
            if not set(source.unless).isdisjoint(record):
                continue
            if source.beside and set(source.beside).isdisjoint(flat):
                continue
            key = path[0] if len(path) == 1 else None
            as_is, more = source.reading in AS_IS, "*" in source.key and place > 0
            yield Candidate(name, rank, key, path, READINGS[source.reading], as_is, more)

    def shape(self, record: Mapping[str, object]) -> tuple[object, ...]:
        """What two records have in common if one plan is good for both."""
        keys = tuple(record)
        if self.heads.isdisjoint(record):
            return keys
        return (keys, *((key, nested_shape(record[key])) for key in record if key in self.heads))


def size(shape: object) -> int:
    """How many keys a shape holds on to."""
    return sum(map(size, shape)) if type(shape) is tuple else 1


def get(record: Mapping[str, object], path: Path) -> object:
    """The value at *path*, which must be there."""
    value: object = record
    for part in path:
        value = value[part]  # type: ignore[index]
    return value


# Sets have no order of their own from one process to the next.
TABLE = repr(
    [
        sorted(value) if isinstance(value, frozenset) else value
        for module in (aliases, labels)
        for name, value in sorted(vars(module).items())
        if name.isupper() and not name.startswith("_")
    ]
)
"""All of the tables, as text that changes when they do."""


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


def _is_eval_score(key: str) -> bool:
    return aliases.EVAL_SCORE.fullmatch(key) is not None and not _is_eval_loss(key)


def nested_shape(value: object, depth: int = 1) -> object:
    """What the value of a head contributes to the shape of its row."""
    if type(value) is not dict or depth >= DEPTH_MAX:
        return None
    return (
        tuple(value),
        *((key, nested_shape(v, depth + 1)) for key, v in value.items() if type(v) is dict),
    )


def _flatten(record: Mapping[str, object], heads: frozenset[str]) -> dict[str, Path]:
    """Every key, dotted where it is nested below one of *heads*, with its path."""
    flat: dict[str, Path] = {key: (key,) for key in record}
    queue: list[Path] = [(key,) for key in record if key in heads and type(record[key]) is dict]
    while queue and len(flat) < _NESTED_KEYS_MAX:
        path = queue.pop(0)
        inner: dict[str, object] = get(record, path)  # type: ignore[assignment]
        for key in inner:
            deeper = (*path, key)
            flat.setdefault(".".join(deeper), deeper)
            if type(inner[key]) is dict and len(deeper) < DEPTH_MAX:
                queue.append(deeper)
    return flat
