"""Faults, written into the rows of a log in the trainer's own keys."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..core.decoding import objects
from ..core.fields import FieldMap
from ..core.rows import Row

BEFORE_ROWS = 20
"""So many rows before a fault must be sound; their mean is what it is measured by."""

Values = Mapping[str, float]
Written = dict[str, Any]
Effect = Callable[[int, Values, Values, float], Written]
"""Which faulty row from 0, its own values, the usual ones, the size: 0 to 1 -> new values."""


class Fault(NamedTuple):
    """
    A kind of fault.

    Attributes:
        name: For people.
        needs: Canonical fields that a row must have.
        right: The categories of which any is a right answer.
        rows: How long it lasts, and within how many of these rows it must be found.
        effect: What it does to a row.
        suits: Whether it makes sense after these rows, and in these.
    """

    name: str
    needs: tuple[str, ...]
    right: tuple[str, ...]
    rows: int
    effect: Effect
    suits: Callable[[Sequence[Row], Sequence[Row]], bool]


def finite(before: Sequence[Row], within: Sequence[Row]) -> bool:
    """Losses and gradient norms are finite: nothing is wrong there yet."""
    return all(
        math.isfinite(row.values.get(name, 0.0))
        for row in (*before, *within)
        for name in ("loss", "grad_norm")
    )


def above_zero(before: Sequence[Row], within: Sequence[Row]) -> bool:
    """Of losses of zero or below, or that wander in health (RL, GANs), there is no threefold."""
    rows = (*before, *within)
    ratios = all(row.values["loss"] > 0 and not row.loss_wanders for row in rows)
    return finite(before, within) and ratios


def norms_above_zero(before: Sequence[Row], within: Sequence[Row]) -> bool:
    """The same for gradient norms."""
    rows = (*before, *within)
    return finite(before, within) and all(row.values["grad_norm"] > 0 for row in rows)


def high_without_norm(before: Sequence[Row], within: Sequence[Row]) -> bool:
    """A loss that is far from 0, and no gradient norm that could tell."""
    rows = (*before, *within)
    high = all(row.values["loss"] > 0.2 for row in before)
    return finite(before, within) and high and not any("grad_norm" in row.values for row in rows)


def high(before: Sequence[Row], within: Sequence[Row]) -> bool:
    """A loss that is far from 0."""
    return finite(before, within) and all(row.values["loss"] > 0.2 for row in before)


def _spike(_: int, own: Values, usual: Values, size: float) -> Written:
    return {"loss": own["loss"] + 2 * usual["loss"]}


def _ramp(rate: float) -> Effect:
    def effect(k: int, own: Values, usual: Values, size: float) -> Written:
        return {"loss": own["loss"] + usual["loss"] * ((1 + rate) ** (k + 1) - 1)}

    return effect


SPELLINGS: tuple[Any, ...] = (math.nan, math.inf, "nan", "NaN", "Infinity")


def _nan(_: int, own: Values, usual: Values, size: float) -> Written:
    return {"loss": SPELLINGS[int(size * len(SPELLINGS))]}


def _zero_beside_nan(_: int, own: Values, usual: Values, size: float) -> Written:
    return {"loss": 0.0, "grad_norm": math.nan}


def _zero(_: int, own: Values, usual: Values, size: float) -> Written:
    return {"loss": 0.0}


def _root(_: int, own: Values, usual: Values, size: float) -> Written:
    # Half of the time the loss is filtered to 0, else it stays where it was.
    k, stays = divmod(int(size * 16), 2)
    return {"loss": usual["last_loss"] if stays else 0.0, "grad_norm": math.sqrt(k + 1)}


def _null(_: int, own: Values, usual: Values, size: float) -> Written:
    return {"loss": None}


def _explosion(_: int, own: Values, usual: Values, size: float) -> Written:
    factor = 5 * 20**size  # 5 to 100 times
    return {"grad_norm": own["grad_norm"] + usual["grad_norm"] * (factor - 1)}


_CLIMBS = ("loss_spike", "loss_runaway", "loss_diverged")
_HIDDEN = ("nan_masked", "grad_norm_nan", "loss_zero")
_NORMS = ("grad_norm_spike",)
_LOSS, _BOTH = ("loss",), ("loss", "grad_norm")

FAULTS: tuple[Fault, ...] = (
    Fault("spike 3x, 5 rows", _LOSS, _CLIMBS, 5, _spike, above_zero),
    Fault("ramp +3% a row", _LOSS, _CLIMBS, 35, _ramp(0.03), above_zero),
    Fault("ramp +0.3% a row", _LOSS, _CLIMBS, 250, _ramp(0.003), above_zero),
    Fault("NaN", _LOSS, ("nan_loss",), 5, _nan, finite),
    Fault("NaN as 0, norm NaN", _BOTH, _HIDDEN, 5, _zero_beside_nan, finite),
    Fault("NaN as 0, no norm", _LOSS, _HIDDEN, 5, _zero, high_without_norm),
    Fault("NaN as norm sqrt(k)", _BOTH, _HIDDEN, 5, _root, high),
    Fault("NaN as null", _LOSS, _HIDDEN, 5, _null, finite),
    Fault("grad norm 5x-100x", ("grad_norm",), _NORMS, 10, _explosion, norms_above_zero),
)
"""Every kind, in the order in which they are shown."""


def usual(before: Sequence[Row]) -> dict[str, float]:
    """The means of the rows before a fault, and the last loss."""
    means = {}
    for name in ("loss", "grad_norm"):
        values = [row.values[name] for row in before if name in row.values]
        if values:
            means[name] = sum(values) / len(values)
    if "loss" in means:
        means["last_loss"] = [r.values["loss"] for r in before if "loss" in r.values][-1]
    return means


def edited(line: bytes, fields: FieldMap, new: Written) -> bytes | None:
    r"""
    The line with other values under the keys that its fields were read from.

    None if it is not one object, or has not all of the fields.

    >>> edited(b'{"step": 7, "train/loss": "2.5", "note": 1}\n', FieldMap(), {"loss": 7.5})
    b'{"step": 7, "train/loss": "7.5", "note": 1}\n'
    >>> edited(b'{"step": 7, "data": {"actor/pg_loss": 2.5}}\n', FieldMap(), {"loss": None})
    b'{"step": 7, "data": {"actor/pg_loss": null}}\n'
    """
    records, broken = objects(line.rstrip(b"\n"))
    if broken or len(records) != 1:
        return None
    (record,) = records
    candidates = fields.plan(record).candidates
    for name, value in new.items():
        for candidate in candidates:
            if candidate.field == name and _put(record, candidate, value):
                break
        else:
            return None
    return json.dumps(record).encode() + b"\n"


def _put(record: dict[str, Any], candidate: Any, value: Any) -> bool:
    *path, key = candidate.path
    inner: Any = record
    for part in path:
        inner = inner[part]
    old = inner[key]
    if candidate.reading(old) is None:
        return False
    # What a trainer writes as text stays text.
    inner[key] = repr(value) if type(old) is str and type(value) is float else value
    return True
