"""Which key feeds which field, and which keys look as if they should."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .fields import FieldMap
from .labels import METADATA_KEYS, METADATA_LABELS
from .numbers import number
from .plans import Found
from .rows import Row, RowKind

USES_MAX = 256
HINTS_MAX = 256
KEYS_MAX = 1024
_KEY_CHARS_MAX = 200
_DEPTH_MAX = 5
_ROW_KEYS_MAX = 512
_LOOKS = (
    ("eval_loss", re.compile(r"(?:^|[^a-z])(?:eval|val|valid|validation|test|dev).*(?:loss|nll)")),
    ("loss", re.compile(r"loss|nll|perplexity|cross.?entropy|objective|^ppl$")),
    ("grad_norm", re.compile(r"grad|g_?norm")),
    ("learning_rate", re.compile(r"(?:^|[^a-z])lr(?:$|[^a-z])|learning.?rate")),
    ("reward", re.compile(r"reward|(?:^|[^a-z])return(?:$|[^a-z])")),
    (
        "step",
        re.compile(
            r"^(?!.*per.sec)(?:.*[^a-z])?(?:steps?|iters?|iterations?|updates?)(?:$|[^a-z])"
        ),
    ),
)


@dataclass(slots=True)
class Use:
    """
    What one key did for one field.

    Attributes:
        mapped: A setting says that the key is the field.
        fed: Rows in which it was the field.
        beaten: Rows in which a better key of the row was.
        doubted: Rows in which it was not believed, since a better key has spoken in others.
        withheld: Rows whose kind has no such field, or that had no use for it.
        nulls: Rows in which it was null.
        nans: Of the values that it fed, those that are NaN.
        infs: Those that are infinite.
        first: The first value that it fed.
        last: The last one.
    """

    field: str
    key: str
    mapped: bool = False
    fed: int = 0
    beaten: int = 0
    doubted: int = 0
    withheld: int = 0
    nulls: int = 0
    nans: int = 0
    infs: int = 0
    first: float | None = None
    last: float | None = None

    def feed(self, value: float) -> None:
        """It was the field in one more row."""
        self.fed += 1
        self.first = value if self.first is None else self.first
        self.last = value
        self.nans += math.isnan(value)
        self.infs += math.isinf(value)


@dataclass(slots=True)
class Hint:
    """A numeric key that means nothing to us, and the field that it looks like."""

    key: str
    field: str
    rows: int = 0
    last: float | None = None


class KeyUse:
    """
    Follow the keys of one file's rows.

    >>> use = KeyUse(FieldMap())
    >>> record = {"step": 1, "loss": 0.5, "train_loss": 0.6, "g_loss": 3}
    >>> use.row(record, Row(1, 1, {"loss": 0.5}, 0))
    >>> [(u.key, u.fed, u.beaten) for u in use.uses.values() if u.field == "loss"]
    [('loss', 1, 0), ('train_loss', 0, 1)]
    >>> [(hint.key, hint.field) for hint in use.hints()]
    [('g_loss', 'loss')]

    Attributes:
        uses: (field, key) -> what it did.
        keys: Every key seen, dotted where it is nested: the first `KEYS_MAX` of them.
    """

    def __init__(self, fields: FieldMap) -> None:
        self._fields = fields
        self.uses: dict[tuple[str, str], Use] = {}
        self.keys: dict[str, None] = {}
        self._hints: dict[str, Hint] = {}
        self._looks: dict[str, str] = {}

    def row(self, record: Mapping[str, Any], row: Row) -> None:
        """Take in an object and the row that was made of it."""
        found = self._fields.read(record)
        self._sources(record, found, row)
        for key, path in found.plan.evals:
            value = at(record, path)
            use = self._use("eval_loss", path, mapped=key == self._fields.own_eval)
            if use is None:
                continue
            if value is None:
                use.nulls += 1
            elif key in found.evals and "eval_loss" in row.values:
                use.feed(found.evals[key])
            else:
                use.withheld += 1
        self._look(record, row)

    def hints(self) -> list[Hint]:
        """The keys that look like a field and are none, in the order in which they came."""
        known = {key for _, key in self.uses}
        return [
            hint
            for hint in self._hints.values()
            if hint.key not in known and not self._fields.ignores(hint.key)
        ]

    def feeding(self, field: str) -> bool:
        """Whether any key has fed *field*."""
        return any(use.fed for use in self.uses.values() if use.field == field)

    def _sources(self, record: Mapping[str, Any], found: Found, row: Row) -> None:
        spoken: set[str] = set()
        for candidate in found.plan.candidates:
            name, rank, path = candidate.field, candidate.rank, candidate.path
            raw = at(record, path)
            value = None if raw is None else candidate.reading(raw)
            if raw is not None and value is None:
                continue
            fed = _fed(name, row)
            use = self._use(fed or name, path, mapped=rank == 0)
            if use is None:
                continue
            if value is None:
                use.nulls += 1
            elif name in spoken or found.ranks.get(name) != rank:
                use.beaten += 1
            elif fed is not None:
                use.feed(value)
            elif row.kind is RowKind.TRAIN:
                use.doubted += 1
            else:
                use.withheld += 1
            spoken |= {name} if value is not None and found.ranks.get(name) == rank else set()

    def _use(self, field: str, path: tuple[str, ...], *, mapped: bool) -> Use | None:
        key = ".".join(path)[:_KEY_CHARS_MAX]
        use = self.uses.get((field, key))
        if use is None and len(self.uses) < USES_MAX:
            use = self.uses[field, key] = Use(field, key, mapped)
        return use

    def _look(self, record: Mapping[str, Any], row: Row) -> None:
        """Note the keys, and those that look like a field."""
        # One with a step may be a point whose loss has a name that nobody knows.
        describes = row.kind is RowKind.METADATA and not row.has_step
        describes = describes or row.kind is RowKind.END
        for key, value in walk(record):
            if key not in self.keys and len(self.keys) < KEYS_MAX:
                self.keys[key] = None
            if describes or type(value) is dict or not (field := self._looks_like(key)):
                continue
            hint = self._hints.get(key)
            if hint is None and len(self._hints) < HINTS_MAX:
                hint = Hint(key, field)
            if hint is not None and (plain := number(value)) is not None:
                self._hints[key] = hint
                hint.rows, hint.last = hint.rows + 1, plain

    def _looks_like(self, key: str) -> str:
        known = self._looks.get(key)
        if known is None:
            if len(self._looks) >= KEYS_MAX:
                self._looks.clear()
            text = key.lower()
            named = key.rpartition(".")[2] not in METADATA_KEYS
            known = next((f for f, look in _LOOKS if named and look.search(text)), "")
            self._looks[key] = known
        return known


def _fed(name: str, row: Row) -> str | None:
    """Which field a value that was read as *name* has become in *row*; None if none."""
    if name == "step":
        return name if row.has_step else None
    if name == "iter":
        return name if row.has_step and row.kind is RowKind.TRAIN else None
    if name == "timestamp_s":
        return name if row.timestamp_s is not None else None
    if name in row.values:
        return name
    # What a row of an evaluation calls its loss is an evaluation loss.
    if name == "loss" and row.kind is RowKind.EVAL and "loss" in row.evals:
        return "eval_loss"
    return None


def at(record: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """What *record* has at *path*, which a plan found in it."""
    value: Any = record
    for part in path:
        value = value[part]
    return value


def walk(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """
    The keys of an object and of those in it, dotted, the outer ones first.

    What a row says of its configuration is left out, and so is what is beyond the first
    512 keys or nested deeper than 5.

    >>> list(walk({"a": {"b": 1}, "c": 2, "config": {"lr": 3}}))
    [('a', {'b': 1}), ('c', 2), ('config', {'lr': 3}), ('a.b', 1)]
    """
    level: list[tuple[str, Mapping[str, Any]]] = [("", record)]
    left = _ROW_KEYS_MAX
    for _ in range(_DEPTH_MAX):
        below: list[tuple[str, Mapping[str, Any]]] = []
        for prefix, table in level:
            for key, value in table.items():
                if left == 0:
                    return
                left -= 1
                dotted = (prefix + key)[:_KEY_CHARS_MAX]
                yield dotted, value
                if type(value) is dict and key not in METADATA_LABELS:
                    below.append((f"{dotted}.", value))
        level = below
