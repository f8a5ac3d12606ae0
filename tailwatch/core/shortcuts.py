"""Lines of a shape that is known: decoded no further than their plan reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Self

from .decoding import PASSED, Member, as_dict, decoder_of
from .plans import Found, Plan, nested_shape, size
from .readings import denominator

KEYS_MAX = 512
"""Keys of a row, nested ones included, beyond which there is no shortcut."""


class Shortcut:
    r"""
    Read the fields of lines of one shape.

    It reads a line as `FieldMap.read` reads what `decoding.objects` makes of it, or not at all:
    a line with other keys, with a NaN or with a value of an unusual kind is left to those two.
    Values that nobody reads are checked to be JSON, and not made into anything.

    Attributes:
        plain: Whether all that is read are numbers as they stand, of a row of training.
        usual: Then, the sources of its fields, and their names: what `Sources` settles.

    >>> from tailwatch.core.fields import FieldMap
    >>> shortcut = FieldMap().shortcut({"step": 1, "loss": 2.5, "note": {"of": ["no", "use"]}})
    >>> record, found = shortcut.read(b'{"step": 2, "loss": 2, "note": 7}')
    >>> found.values
    {'step': 2.0, 'loss': 2.0}
    >>> shortcut.read(b'{"step": 3, "loss": null, "note": 7}')
    >>> shortcut.read(b'{"step": 4, "loss": 1.5, "note": 7, "more": 1}')
    """

    def __init__(
        self,
        plan: Plan,
        nested: Mapping[str, object],
        members: Sequence[Member],
        numbers: Mapping[str, str],
    ) -> None:
        plain = bool(numbers)
        self.usual = plan.ranks, tuple(numbers.values())
        self._plan, self._nested, self.plain = plan, nested, plain
        self._decode = decoder_of(members)
        read = [member for member in members if not member.name.startswith("_")]
        self._names = [member.name if plain else member.key for member in read]
        # Of one attribute alone it would give the bare value; `zip` leaves out what is too much.
        self._get = attrgetter(*(member.name for member in read), read[0].name)
        self._all = plain and len(read) == len(members)

    @classmethod
    def of(cls, record: Mapping[str, Any], plan: Plan, heads: Collection[str]) -> Self | None:
        """
        The shortcut for rows of the shape of *record*; None if there is none.

        Args:
            record: A row.
            plan: What is read of it.
            heads: The keys below which fields may be nested.
        """
        nested = {key: nested_shape(record[key]) for key in record if key in heads}
        few = len(record) + size(tuple(nested.values())) <= KEYS_MAX
        if not few or _order_matters(plan) or not all(map(_plain_key, record)):
            return None
        numbers = {} if nested else _numbers(record, plan)
        names = numbers or {key: f"value_{n}" for n, key in enumerate(_read(plan, nested))}
        members: list[Member] = []
        for n, (key, value) in enumerate(record.items()):
            if key in names:
                members.append(Member(key, names[key], float if numbers else Any))
            else:
                # Only of lists and objects it is cheaper to make nothing.
                kind = PASSED if type(value) in (dict, list) else Any
                members.append(Member(key, f"_{n}", kind))
        return cls(plan, nested, members, numbers) if names else None

    def read(self, line: bytes) -> tuple[dict[str, Any], Found] | None:
        """What is read of the object of *line*, and its fields; None if that needs all of it."""
        values = self.values(line)
        if values is None:
            return None
        if self.plain:
            # All floats, each from the best source of its field.
            in_order = {name: values[name] for name in self.usual[1]}
            return values, Found(in_order, {}, (), self._plan.ranks, self._plan)
        for key, shape in self._nested.items():
            if nested_shape(values[key]) != shape:
                return None
        return values, self._plan.read(values)

    def values(self, line: bytes) -> dict[str, Any] | None:
        """Field -> number of a *plain* shape, key -> value of another; None as for `read`."""
        try:
            decoded = self._decode(line)
        except (ValueError, RecursionError):
            return None
        if self._all:
            return as_dict(decoded)
        return dict(zip(self._names, self._get(decoded), strict=False))


def _numbers(record: Mapping[str, Any], plan: Plan) -> dict[str, str]:
    """Key -> field, in the order of the table, if such a shape is plain; else nothing."""
    fields: dict[str, str] = {}
    texts = {c.key for c in plan.candidates if c.reading is denominator}
    for name, _, key, _, reading, as_is, more in plan.candidates:
        if reading is denominator or (name in fields.values() and not more):
            continue
        if key is None or more or not as_is or key in fields:
            return {}
        if type(record[key]) not in (int, float):
            return {}
        fields[key] = name
    # Of a number there is no right side of "10/438".
    usual = not plan.special and not plan.evals and texts <= fields.keys()
    trains = not {"loss", "grad_norm"}.isdisjoint(fields.values())
    return fields if usual and trains else {}


def _order_matters(plan: Plan) -> bool:
    """Whether of the same keys in another order something else might be read."""
    several = {(c.field, c.rank) for c in plan.candidates if c.more}
    places = [{path[0] for _, path in plan.evals}] + [
        {c.path[0] for c in plan.candidates if (c.field, c.rank) == one} for one in several
    ]
    return any(len(tops) > 1 for tops in places)


def _read(plan: Plan, heads: Iterable[str]) -> set[str]:
    """The keys at the top of a row that are looked at, or below which something is."""
    tops = {c.path[0] for c in plan.candidates} | {path[0] for _, path in plan.evals}
    return {*tops, *plan.labels, *plan.data_keys, *heads}


def _plain_key(key: str) -> bool:
    return key.isascii() and key.isprintable() and not {'"', "\\"} & set(key)
