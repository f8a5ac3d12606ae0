"""Faults: what is written under the trainer's own key is what the reader then reads."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from tailwatch.bench.faults import FAULTS, Fault, edited, usual
from tailwatch.checks import CATEGORIES
from tailwatch.core.decoding import objects
from tailwatch.core.fields import FieldMap
from tailwatch.core.rows import Row

FIELDS = FieldMap()
NAN = math.nan
LINES = {
    "flat": b'{"step": 7, "loss": 2.5, "grad_norm": 1.5, "lr": 1e-4}\n',
    "text": b'{"step": 7, "train/loss": "2.5", "gnorm": "1.5"}\n',
    "nested": b'{"step": 7, "data": {"actor/pg_loss": 2.5, "actor/grad_norm": 1.5}}\n',
    "objects": b'{"step": 7, "Loss/G/loss": {"num": 4, "mean": 2.5}, "grad_norm": 1.5}\n',
    "printed": b"12:00 INFO {'step': 7, 'loss': 2.5, 'grad_norm': np.float64(1.5)}\n",
    "last": b'{"step": 7, "loss": 2.5, "grad_norm": 1.5}',
}


def values(line: bytes) -> dict[str, Any]:
    """What the reader makes of a line: null as None."""
    ((record,), broken) = objects(line.rstrip(b"\n"))
    found = FIELDS.read(record)
    assert broken is None
    return found.values | dict.fromkeys(found.nulls)


def same(a: Any, b: Any) -> bool:
    return repr(a) == repr(b)  # NaN is NaN here.


@pytest.mark.parametrize("shape", LINES)
@pytest.mark.parametrize(
    "new", [{"loss": 7.5}, {"loss": NAN}, {"loss": None}, {"loss": 0.0, "grad_norm": math.inf}]
)
def test_an_edit_is_read_as_it_was_meant(shape: str, new: dict[str, Any]) -> None:
    """Of every shape of row the fields named have their new values, all others their old."""
    line = edited(LINES[shape], FIELDS, new)

    assert line is not None
    assert line.endswith(b"}\n")
    assert same(sorted(values(line).items()), sorted((values(LINES[shape]) | new).items()))


@pytest.mark.parametrize(
    "line", [b"no json\n", b"[1]\n", b'{"loss": 1}{"loss": 2}\n', b'{"step": 1}\n', b'{"lo']
)
def test_what_cannot_be_edited_is_left(line: bytes) -> None:
    """A line that is not one object with the field gives None."""
    assert edited(line, FIELDS, {"loss": 1.0}) is None


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
@pytest.mark.parametrize("size", [0.0, 0.35, 0.99])
def test_every_fault_arrives(fault: Fault, size: float) -> None:
    """Whatever its size, a fault changes what the reader reads, and to its own values."""
    own = {"loss": 2.5, "grad_norm": 1.5}
    new = fault.effect(3, own, {"loss": 2.0, "grad_norm": 1.0, "last_loss": 2.25}, size)
    line = edited(LINES["flat"], FIELDS, new)
    assert line is not None
    read = values(line)

    for name, value in new.items():
        expected = float(value) if type(value) is str else value
        assert same(read[name], expected)
        assert not same(read[name], own[name])
    assert set(fault.right) <= set(CATEGORIES)


def test_the_sizes_are_as_named() -> None:
    """A spike adds twice the usual loss; ramps compound; norms grow 5 to 100 times."""
    effect = {fault.name: fault.effect for fault in FAULTS}
    own, usually = {"loss": 2.1, "grad_norm": 1.1}, {"loss": 2.0, "grad_norm": 1.0}
    ramp = [effect["ramp +3% a row"](k, own, usually, 0)["loss"] for k in (0, 1, 23)]
    norms = [effect["grad norm 5x-100x"](0, own, usually, s)["grad_norm"] for s in (0, 1)]

    assert effect["spike 3x, 5 rows"](4, own, usually, 0) == {"loss": 6.1}
    assert ramp == pytest.approx([2.16, 2.2218, 4.1656], rel=1e-4)
    assert norms == pytest.approx([5.1, 100.1])


def rows(count: int, loss: float = 1.0, *, norm: float | None = 1.0, **more: bool) -> list[Row]:
    norms = {} if norm is None else {"grad_norm": norm}
    return [Row(n, n, {"loss": loss, **norms}, 0, **more) for n in range(count)]


@pytest.mark.parametrize(
    ("before", "suited"),
    [
        (rows(20), "spike ramp ramp NaN 0+NaN root null norm"),
        (rows(20, norm=None), "spike ramp ramp NaN 0 null"),
        (rows(20, 0.1, norm=None), "spike ramp ramp NaN null"),
        (rows(20, -1.0), "NaN 0+NaN null norm"),
        (rows(20, rewarded=True), "NaN 0+NaN root null norm"),
        (rows(20, adversarial=True), "NaN 0+NaN root null norm"),
        ([*rows(19), *rows(1, NAN)], ""),
        ([*rows(19), *rows(1, norm=math.inf)], ""),
    ],
)
def test_faults_are_put_where_they_mean_something(before: list[Row], suited: str) -> None:
    """No ratios of losses below zero or of RL; nothing where something is wrong already."""
    names = ("spike", "ramp", "ramp", "NaN", "0+NaN", "0", "root", "null", "norm")
    found = [
        name
        for name, fault in zip(names, FAULTS, strict=True)
        if all(need in before[0].values for need in fault.needs) and fault.suits(before, before)
    ]

    assert suited.split() == found


def test_what_is_usual() -> None:
    """The means of the rows that have the field, and the last loss."""
    before = [Row(1, 1, {"loss": 1.0}, 0), Row(2, 2, {"loss": 3.0, "grad_norm": 4.0}, 0)]

    assert usual(before) == {"loss": 2.0, "grad_norm": 4.0, "last_loss": 3.0}


def test_edits_keep_the_order_of_keys() -> None:
    """The shape of the row stays, so that it is read by the same plan."""
    line = edited(LINES["flat"], FIELDS, {"loss": 1.0})
    assert line is not None

    assert list(json.loads(line)) == list(json.loads(LINES["flat"]))
