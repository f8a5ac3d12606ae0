"""Lines of a known shape are read as they are read in full, or not at all."""

from __future__ import annotations

import json
import os
import random
from typing import Any

import pytest

from tailwatch.core.decoding import objects
from tailwatch.core.fields import FieldMap, Sources
from tailwatch.core.rows import row_of
from tailwatch.core.shortcuts import KEYS_MAX, Shortcut
from tests.trainers.mutations import mutated

LINES = int(os.environ.get("TAILWATCH_FUZZ_LINES", "20000"))
RECORDS: dict[str, dict[str, Any]] = {
    "plain": {"step": 10, "loss": 2.5, "grad_norm": 1.5, "lr": 1e-4, "epoch": 0.5},
    "plain and more": {"loss": 2.5, "step": 10, "note": "a {[", "list": [1, {"step": 5}], "x": None},
    "two losses": {"iteration": 7, "loss": 2.5, "total_loss": 5, "epoch": 1},
    "texts": {"loss": "2.5", "iteration": "10/438", "lr": {"a": 1e-4}, "elapsed_time": "1m 42s"},
    "a null": {"step": 10, "loss": None, "eval_loss": 2.5, "epoch": 1},
    "a clock": {"step": 10, "loss": 2.5, "timestamp": "2025-07-23T13:15:53+00:00", "epoch": 1},
    "a label": {"mode": "val", "step": 10, "epoch": 3, "iter": 50, "loss": 2.5, "text": ["a"]},
    "an evaluation": {"eval_loss": 2.5, "step": 10, "epoch": 1, "eval_accuracy": 0.5},
    "below data": {"step": 10, "data": {"actor/pg_loss": 2.5, "training/epoch": 1, "deep": {"x": 1}}},
    "below info": {"info": {"learner": {"p": {"learner_stats": {"total_loss": 2.5, "kl": 1}}}},
                   "config": {"lr": 1, "all": [{"loss": 2.5}]}, "training_iteration": 10},
    "five deep": {"metrics": {"loss": 2.5, "b": {"c": {"d": {"e": {"f": 1}, "g": 10}}}}, "step": 10},
    "two policies": {"info": {"learner": {"p": {"total_loss": 2.5}, "q": {"total_loss": 5}}}, "step": 10},
}  # fmt: skip


def made(record: dict[str, Any]) -> Shortcut:
    shortcut = FieldMap().shortcut(record)
    assert shortcut is not None
    return shortcut


def alike(shortcut: Shortcut, line: bytes) -> bool:
    """Whether the line was read; then, as in full."""
    got = shortcut.read(line)
    if got is None:
        return False
    (record,), broken = objects(line)
    assert broken is None
    full = FieldMap().read(record)
    assert repr(sorted(got[1].values.items())) == repr(sorted(full.values.items()))
    for name in ("evals", "nulls", "ranks", "plan"):
        assert repr(getattr(got[1], name)) == repr(getattr(full, name))
    rows = [row_of(*one, Sources(), 7, 70) for one in (got, (record, full))]
    for row in rows:
        row.values = dict(sorted(row.values.items()))
    assert repr(rows[0]) == repr(rows[1])
    return True


@pytest.mark.parametrize("name", RECORDS)
def test_broken_lines_are_read_as_in_full_or_not_at_all(name: str) -> None:
    """Whatever is done to a line, it gives the row that the whole object gives, or none."""
    record, rng = RECORDS[name], random.Random(name)
    shortcut, line = made(record), json.dumps(record).encode()
    read = [alike(shortcut, mutated(rng, [line])) for _ in range(LINES // len(RECORDS))]

    assert alike(shortcut, line)
    assert len(read) / 10 < sum(read) < len(read)


VALUES = [
    "0", "-0", "-0.0", "1", "1.5", "1e999", "-1e999", "NaN", "-Infinity", "null", "true", '"nan"', '"7"', "1E5",
    "18446744073709551616", "-9223372036854775809", "9" * 400, "9" * 5000, "123456789012345678901234567890.5",
    "5e-324", "1e-400", "01", "1.", ".5", "-", '"\\ud800"', '"\\q"', '"\u00e9"', '"\t"', '"\x7f"', "{}", "[]",
    "[1e999]", "[NaN]", '{"a": 1, "a": 2}', '{"loss": 3}', "[[1, 2], 3]", '{"a": {"total_loss": NaN}}', "", "tru",
]  # fmt: skip


@pytest.mark.parametrize("name", RECORDS)
def test_any_value_is_read_as_in_full_or_not_at_all(name: str) -> None:
    """Every kind of number, text and object in the place of every value."""
    record = RECORDS[name]
    shortcut, line = made(record), json.dumps(record)
    for value in VALUES:
        for old in {json.dumps(v) for v in record.values()} | {"2.5", "10", "1"}:
            alike(shortcut, line.replace(old, value).encode())
            alike(shortcut, line.replace(old, value, 1).encode())
    for key in record:
        # Given twice: the last one counts, in the place of the first.
        alike(shortcut, line.replace("{", f'{{"{key}": 3.5, ', 1).encode())

    assert alike(shortcut, line.encode())


@pytest.mark.parametrize("key", ["note", "step", "loss"])
@pytest.mark.parametrize("pair", ["[]", ("{'':", "}")], ids=["lists", "objects"])
def test_a_passed_value_may_be_as_deep_as_any(key: str, pair: tuple[str, str]) -> None:
    """What is passed is not nested deeper than what is decoded may be."""
    shortcut = made({"step": 1, "loss": 2.5, "note": [1]})
    begin, end = (part.replace("'", '"') for part in pair)
    read = []
    for depth in range(800, 1100):
        line = json.dumps({"step": 1, "loss": 2.5, "note": [1]} | {key: "X"})
        line = line.replace('"X"', begin * depth + "1" + end * depth)
        read.append(alike(shortcut, line.encode()))

    assert any(read) == (key == "note")
    assert not all(read)


def test_text_that_is_no_utf8_is_left_alone() -> None:
    """A line that cannot be decoded is not read, wherever the bad byte stands."""
    for record in RECORDS.values():
        line = json.dumps(record | {"note": "é", "more": ["é"]}, ensure_ascii=False)
        shortcut = made(record | {"note": "é", "more": ["é"]})
        for at in range(2):
            parts = line.encode().split("é".encode())
            parts[at] += b"\xff" + parts.pop(at + 1)
            assert shortcut.read("é".encode().join(parts)) is None


def test_where_the_order_of_keys_matters_all_is_read() -> None:
    """Of two evaluation losses the first counts: a decoder that does not tell is not used."""
    fields = FieldMap()

    assert fields.shortcut({"step": 1, "eval_a_loss": 1.0, "eval_b_loss": 2.0}) is None
    assert made({"step": 1, "data": {"eval_a_loss": 1.0, "eval_b_loss": 2.0}}) is not None
    policy = {"learner_stats": {"total_loss": 1.0}}
    literal = "info.learner.q.learner_stats.total_loss"
    assert fields.shortcut({literal: 2.0, "info": {"learner": {"p": policy}}}) is None


def test_rows_of_numbers_alone_are_plain() -> None:
    """Nested ones, too, unless a key with a dot makes two places of one name."""
    plain = {name for name, record in RECORDS.items() if made(record).plain}
    one, other = {"a.b": {"c": 1}}, {"a": {"b.c": 2}}
    loss = {"loss": 2.5, "step": 1}

    assert {"plain", "plain and more", "two losses", "below data", "below info"} <= plain
    assert plain.isdisjoint({"texts", "a null", "a clock", "a label", "an evaluation"})
    assert made({"data": loss | one}).plain
    assert not made({"data": loss | one | other}).plain


def test_another_shape_within_is_another_shape() -> None:
    """An object for a number below a head, or for another object, is left to be read in full."""
    shortcut = made({"step": 1, "data": {"loss": 2.5, "x": 1, "y": {"z": 1}}})
    for data in (
        '{"loss": 2.5, "x": {}, "y": {"z": 1}}',
        '{"loss": 2.5, "x": 1, "y": 1}',
        '{"loss": 2.5, "x": 1, "y": {"z": 1, "more": 1}}',
        '{"loss": 2.5, "x": 1, "y": {}}',
    ):
        assert shortcut.read(b'{"step": 1, "data": %s}' % data.encode()) is None
    assert alike(shortcut, b'{"step": 1, "data": {"loss": 2, "x": [{}], "y": {"z": null}}}')


def test_strange_and_very_wide_rows_have_no_shortcut() -> None:
    """Keys that a decoder cannot be made for, too many of them, and nothing to read."""
    fields = FieldMap()
    for key in ('a"', "\\", "\n", "é", "\ud800"):
        assert fields.shortcut({"loss": 1.0, key: 1}) is None
    assert fields.shortcut({"loss": 1.0} | {f"k{n}": n for n in range(KEYS_MAX)}) is None
    assert fields.shortcut({"data": {"loss": 1.0} | {f"k{n}": n for n in range(KEYS_MAX)}}) is None
    assert fields.shortcut({"note": 1.0}) is None
    assert fields.shortcut({}) is None


def test_a_shortcut_is_made_once() -> None:
    """Runs of one shape share it."""
    fields = FieldMap()

    assert fields.shortcut({"loss": 1.0}) is fields.shortcut({"loss": 2.0})
    assert fields.shortcut({"loss": 1.0}) is not fields.shortcut({"loss": 2.0, "step": 1})
