"""The alias table finds canonical fields, whatever else a row holds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core.fields import ALIASES, TRAINING_FIELDS, FieldMap


def naive(record: dict[str, object], aliases: dict[str, tuple[str, ...]]) -> dict[str, object]:
    """Try every source key on every row, best first; no plan, no cache."""
    found: dict[str, object] = {}
    for name, keys in aliases.items():
        for key in keys:
            if (name, key) == ("loss", "train_loss") and (
                "train_runtime" in record or "total_flos" in record
            ):
                continue
            if (name, key) == ("step", "iter") and "epoch" in record:
                continue
            if key in record:
                found[name] = record[key]
                break
            value: object = record
            for part in key.split("."):
                value = value.get(part, naive) if isinstance(value, dict) else naive
            if value is not naive:
                found[name] = value
                break
    return found


source_keys = sorted({key for keys in ALIASES.values() for key in keys})
keys = st.sampled_from(
    [*source_keys, "train_runtime", "total_flos", "data", "data.actor", "actor", "note"]
)
values = st.none() | st.integers(0, 9) | st.just("2.5")
nested = st.dictionaries(
    st.sampled_from(["actor/pg_loss", "actor/grad_norm", "actor/lr", "actor", "x"]),
    values | st.dictionaries(st.just("pg_loss"), values, max_size=1),
    max_size=4,
)
records = st.dictionaries(keys, values | nested | st.just([1]), max_size=8)


@settings(deadline=None, max_examples=200)
@given(st.lists(records, max_size=12))
def test_plans_agree_with_trying_every_key(rows: list[dict[str, object]]) -> None:
    """One map that keeps its plans finds on each row what trying every key anew finds."""
    fields = FieldMap()
    for row in [*rows, *rows]:
        assert naive(row, ALIASES) == fields.read(row)


@settings(deadline=None, max_examples=100)
@given(st.lists(records, max_size=6))
def test_own_aliases_with_deep_paths(rows: list[dict[str, object]]) -> None:
    """Paths of any depth, before or after flat keys, are found as trying every key finds them."""
    aliases = {
        "loss": ("data.actor.pg_loss", "actor.pg_loss", "loss", "data.x", "actor"),
        "step": ("data.actor/lr", "iter", "step"),
    }
    fields = FieldMap(aliases)
    for row in rows:
        assert naive(row, aliases) == fields.read(row)


@pytest.mark.parametrize("name", sorted(ALIASES))
def test_first_alias_wins(name: str) -> None:
    """Of two source keys of a field, the one that stands first in the table is read."""
    best, *others = ALIASES[name]
    for other in others:
        if "." not in other:
            assert FieldMap().read({other: 2, best: 1})[name] == 1
            assert FieldMap().read({other: 2})[name] == 2


def test_same_keys_with_other_nesting() -> None:
    """A kept plan does not remember values: the same keys may nest differently on the next row."""
    fields = FieldMap()
    rows: list[tuple[dict[str, object], dict[str, object]]] = [
        ({"data": {"actor/pg_loss": 1.5}, "actor/pg_loss": 9.0}, {"loss": 1.5}),
        ({"data": {"other": 1.5}, "actor/pg_loss": 9.0}, {"loss": 9.0}),
        ({"data": None, "actor/pg_loss": 9.0}, {"loss": 9.0}),
        ({"data": [{"actor/pg_loss": 1.5}], "actor/pg_loss": 9.0}, {"loss": 9.0}),
        ({"data": {"actor/pg_loss": None}, "actor/pg_loss": 9.0}, {"loss": None}),
    ]
    for row, expected in rows:
        assert expected == fields.read(row)


def test_a_dotted_key_as_it_is_written_beats_the_path() -> None:
    """A key with dots that stands in the row as such is read before the nested object."""
    row = {"data": {"actor/pg_loss": 1.0}, "data.actor/pg_loss": 2.0}
    assert FieldMap().read(row) == {"loss": 2.0}


def test_null_still_counts_as_there() -> None:
    """A field whose best key holds null is null: a worse key does not speak for it."""
    assert FieldMap().read({"loss": None, "train_loss": 2.0}) == {"loss": None}


@pytest.mark.parametrize("beside", ["train_runtime", "total_flos"])
def test_train_loss_of_a_summary_row_is_no_loss(beside: str) -> None:
    """Beside `train_runtime` or `total_flos`, `train_loss` is the run's average and not read."""
    assert FieldMap().read({"train_loss": 1.5, beside: 1.0}) == {}
    assert FieldMap().read({"train_loss": 1.5, "loss": 1.0, beside: 1.0}) == {"loss": 1.0}
    assert FieldMap().read({"train_loss": 1.5}) == {"loss": 1.5}


def test_iter_beside_epoch_is_no_step() -> None:
    """`iter` is the step only in a row without `epoch`, since it counts within the epoch."""
    assert FieldMap().read({"iter": 10, "loss": 1.0}) == {"step": 10, "loss": 1.0}
    assert FieldMap().read({"iter": 10, "epoch": 2}) == {"epoch": 2}
    assert FieldMap().read({"iter": 10, "epoch": 2, "step": 3}) == {"step": 3, "epoch": 2}


def test_plans_are_bounded() -> None:
    """Rows that each have keys of their own do not grow the memory of plans without end."""
    fields = FieldMap()
    for n in range(3000):
        assert fields.read({f"key{n}": 1, "loss": n}) == {"loss": n}
        assert len(fields._plans) <= 256


def test_the_row_is_not_touched() -> None:
    """Reading changes nothing in the record."""
    record = {"data": {"actor/pg_loss": 1.0}, "step": 3}
    FieldMap().read(record)
    assert record == {"data": {"actor/pg_loss": 1.0}, "step": 3}


def test_no_source_key_means_two_fields() -> None:
    """Each source key stands in the table once, and every training field has its row there."""
    all_keys = [key for keys in ALIASES.values() for key in keys]
    assert sorted(set(all_keys)) == sorted(all_keys)
    assert set(ALIASES) >= TRAINING_FIELDS
