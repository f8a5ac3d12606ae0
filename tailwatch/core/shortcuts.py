"""Lines of a shape that is known: decoded no further than their plan reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Self

from .decoding import NO_OBJECT, PASSED, Member, as_dict, decoder_of
from .plans import DEPTH_MAX, Found, Path, Plan, get, nested_shape, size
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
        members: Sequence[Member],
        read: Mapping[str, str],
        *,
        plain: bool,
        nested: Mapping[str, object],
    ) -> None:
        self._plan, self._nested, self.plain = plan, nested, plain
        self._decode = decoder_of(members)
        self._names = tuple(read)
        self.usual = plan.ranks, self._names
        # Of one attribute alone it would give the bare value; `zip` leaves out what is too much.
        self._get = attrgetter(*read.values(), *list(read.values())[:1])
        self._all = plain and {member.name for member in members} == read.keys()

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
        paths = list(_paths(record, heads))
        named = all(_plain_key(path[-1]) for path in paths)
        if not few or not named or _order_matters(plan):
            return None
        alone = len(paths) == len({".".join(path) for path in paths})
        if alone and (numbers := _numbers(record, plan)):
            members, read = _members(record, numbers, heads)
            read = {name: read[name] for name in numbers.values()}
            return cls(plan, members, read, plain=True, nested={})
        keys = {(key,): f"value_{n}" for n, key in enumerate(_read(plan, nested))}
        members = [
            Member(key, keys.get((key,), f"_{n}"), Any if (key,) in keys else _passed(record[key]))
            for n, key in enumerate(record)
        ]
        read = {key: name for (key,), name in keys.items()}
        return cls(plan, members, read, plain=False, nested=nested) if keys else None

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


def _numbers(record: Mapping[str, Any], plan: Plan) -> dict[Path, str]:
    """Path -> field, in the order of the table, if such a shape is plain; else nothing."""
    fields: dict[Path, str] = {}
    texts = {c.path for c in plan.candidates if c.reading is denominator}
    for name, _, _, path, reading, as_is, more in plan.candidates:
        if reading is denominator or (name in fields.values() and not more):
            continue
        if more or not as_is or path in fields or type(get(record, path)) not in (int, float):
            return {}
        fields[path] = name
    # Of a number there is no right side of "10/438".
    usual = not plan.special and not plan.evals and texts <= fields.keys()
    trains = not {"loss", "grad_norm"}.isdisjoint(fields.values())
    return fields if usual and trains else {}


def _paths(record: Mapping[str, Any], heads: Collection[str], to: Path = ()) -> Iterator[Path]:
    """Where everything is that the shape of a row consists of."""
    for key, value in record.items():
        yield (*to, key)
        if type(value) is dict and (to or key in heads) and len(to) + 1 < DEPTH_MAX:
            yield from _paths(value, heads, (*to, key))


def _members(
    record: Mapping[str, Any],
    numbers: Mapping[Path, str],
    heads: Collection[str],
    to: Path = (),
) -> tuple[list[Member], dict[str, str]]:
    """The members of rows of a plain shape, and where a decoder puts each field."""
    members: list[Member] = []
    read: dict[str, str] = {}
    for n, (key, value) in enumerate(record.items()):
        path, name, kind = (*to, key), f"_{n}", _passed(value)
        if path in numbers:
            name, kind = numbers[path], float
            read[name] = name
        elif to or key in heads:
            # Another shape within is another shape of the row.
            kind = NO_OBJECT
            if type(value) is dict and len(path) < DEPTH_MAX:
                kind, below = _members(value, numbers, heads, path)
                read |= {field: f"{name}.{at}" for field, at in below.items()}
            elif type(value) is dict:
                kind = dict
        members.append(Member(key, name, kind))
    return members, read


def _passed(value: object) -> Any:
    # Only of lists and objects it is cheaper to make nothing.
    return PASSED if type(value) in (dict, list) else Any


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
