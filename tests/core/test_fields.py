"""The alias table finds canonical fields, whatever else a row holds."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core.aliases import (
    ALIASES,
    WRAPPERS,
    Source,
)
from tailwatch.core.fields import WORSE_ROWS_MAX, FieldMap, Found, Sources
from tailwatch.core.readings import READINGS


def sources(name: str) -> list[Source]:
    flat: list[Any] = []
    for group in ALIASES[name]:
        flat += group if type(group) is tuple else [group]
    return [one if isinstance(one, Source) else Source(one) for one in flat]


def spread(record: dict[str, Any]) -> dict[str, Any]:
    """Every key of the row at any depth, dotted: another way than the plans go."""
    flat = dict(record)
    for key, value in record.items():
        if isinstance(value, dict) and "." not in key:
            for below, inner in spread(value).items():
                flat.setdefault(f"{key}.{below}", inner)
    return flat


def naive(record: dict[str, Any]) -> tuple[dict[str, float], set[str]]:
    """Try every source on every row, best first; no plan, no cache."""
    flat = spread(record)
    values: dict[str, float] = {}
    nulls: set[str] = set()
    for name in ALIASES:
        for source in sources(name):
            if name in values or name in nulls or any(key in record for key in source.unless):
                continue
            if source.beside and not any(key in flat for key in source.beside):
                continue
            if "*" in source.key:
                pattern = source.key.replace(".", r"\.").replace("*", r"[^.]+")
                raws = [value for key, value in flat.items() if re.fullmatch(pattern, key)]
            else:
                keys = [source.key, *(f"{wrapper}.{source.key}" for wrapper in WRAPPERS)]
                raws = [flat[key] for key in keys if key in flat]
            for raw in raws:
                value = READINGS[source.reading](raw)
                if name in values or name in nulls:
                    if "*" in source.key and value is not None and not math.isfinite(value):
                        values[name] = value
                elif raw is None:
                    nulls.add(name)
                elif value is not None:
                    values[name] = value
    return values, nulls


source_keys = sorted({s.key for name in ALIASES for s in sources(name) if "*" not in s.key})
keys = st.sampled_from([*source_keys, "train_runtime", "data_time", "data", "info", "note"])
values = st.none() | st.integers(0, 9) | st.sampled_from(["2.5", "3/9", math.inf, -math.inf])
inner_keys = st.sampled_from(["actor/pg_loss", "actor/lr", "learner", "p", "total_loss", "x"])
nested = st.recursive(
    values, lambda deeper: st.dictionaries(inner_keys, deeper, max_size=3), max_leaves=6
)
records = st.dictionaries(keys, values | nested | st.just([1]), max_size=8)


@settings(deadline=None, max_examples=300)
@given(st.lists(records, max_size=12))
def test_plans_agree_with_trying_every_key(rows: list[dict[str, Any]]) -> None:
    """One map that keeps its plans finds on each row what trying every key anew finds."""
    fields = FieldMap()
    for row in [*rows, *rows]:
        found = fields.read(row)
        expected, nulls = naive(row)
        got = {k: v for k, v in found.values.items() if k != "eval_loss"}
        assert (expected, nulls) == (got, set(found.nulls) - {"eval_loss"})


def test_every_source_is_read() -> None:
    """Each key of the table, alone in a row with what it asks for, gives its field a number."""
    for name in ALIASES:
        for source in sources(name):
            value: Any = {"denominator": "3/5", "numerator": "5/9", "clock": 1.7e9}.get(
                source.reading, 5
            )
            record: dict[str, Any] = {source.key: value}
            if "*" in source.key or "." in source.key:
                record = {}
                place = record
                *tables, last = source.key.replace("*", "p").split(".")
                for table in tables:
                    place = place.setdefault(table, {})
                place[last] = value
            record |= dict.fromkeys(source.beside, 1.0)
            assert READINGS[source.reading](value) == FieldMap().read(record).values[name], source


@pytest.mark.parametrize("name", sorted(ALIASES))
def test_first_alias_wins(name: str) -> None:
    """Of two source keys of a field, the one that stands first in the table is read."""
    best, *others = [s for s in sources(name) if s.reading in ("number", "largest")] or [None]
    for other in others:
        assert best is not None
        if "." not in other.key and not other.unless and not other.beside:
            assert FieldMap().read({other.key: 2, best.key: 1}).values[name] == 1


def test_same_keys_with_other_nesting() -> None:
    """A kept plan does not remember values: the same keys may nest differently on the next row."""
    fields = FieldMap()
    rows: list[tuple[dict[str, Any], dict[str, float]]] = [
        ({"data": {"actor/pg_loss": 1.5}}, {"loss": 1.5}),
        ({"data": {"other": 1.5}, "actor/pg_loss": 9.0}, {"loss": 9.0}),
        ({"data": {"other": 1.5}}, {}),
        ({"data": None, "actor/pg_loss": 9.0}, {"loss": 9.0}),
        ({"data": [{"actor/pg_loss": 1.5}], "actor/pg_loss": 9.0}, {"loss": 9.0}),
        ({"info": {"learner": {}}}, {}),
        ({"info": {"learner": {"a": {"total_loss": 3.0}}}}, {"loss": 3.0}),
        ({"info": {"learner": {"a": {"learner_stats": {"total_loss": 4.0}}}}}, {"loss": 4.0}),
    ]
    for row, expected in [*rows, *rows]:
        assert expected == fields.read(row).values


def test_null_still_counts_as_there() -> None:
    """A field whose best key holds null is null: a worse key does not speak for it."""
    found = FieldMap().read({"loss": None, "train_loss": 2.0})
    assert (found.values, found.nulls) == ({}, ("loss",))


def test_text_gives_way_to_a_number() -> None:
    """A best key that holds no number at all (the name of the loss) is passed over."""
    assert FieldMap().read({"loss": "ce", "train_loss": 2.0}).values == {"loss": 2.0}


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"train_loss": 1.5, "train_runtime": 9.0}, {}),
        ({"train_loss": 1.5, "total_flos": 9.0}, {}),
        ({"train_loss": 1.5}, {"loss": 1.5}),
        ({"iter": 10, "loss": 1.0}, {"step": 10, "loss": 1.0}),
        ({"iter": 10, "epoch": 2}, {"iter": 10, "epoch": 2}),
        ({"update": 0.004, "num_updates": "10"}, {"step": 10}),
        ({"time": 0.25}, {}),
        ({"time": 0.25, "data_time": 0.1}, {"step_time_s": 0.25}),
        ({"time": 1.7e9}, {"timestamp_s": 1.7e9}),
        ({"memory": 2048, "data_time": 0.1}, {"memory_gib": 2.0}),
        ({"memory": 2048}, {}),
        ({"norm": 1.5}, {"grad_norm": 1.5}),
        ({"param_norm": 1379.4, "weights_norm": 3.0}, {}),
        ({"iteration": "10/500"}, {"step": 10, "planned_steps": 500}),
        ({"global_step/max_steps": "10/438"}, {"step": 10, "planned_steps": 438}),
        ({"lr": {"backbone": 1e-5, "head": 1e-4}}, {"learning_rate": 1e-4}),
        ({"lr": [1e-5, 3e-5]}, {"learning_rate": 3e-5}),
        ({"lr": []}, {}),
        ({"percentage": "2.28%"}, {"percent": 2.28}),
        ({"train_speed(iter/s)": 4.0}, {"step_time_s": 0.25}),
        ({"train_speed(iter/s)": 0}, {}),
        ({"elapsed time per iteration (ms)": 250}, {"step_time_s": 0.25}),
        ({"train/entropy_loss": -1.5}, {"entropy": 1.5}),
        ({"loss_cls": 1.0, "loss_scale": 8.0, "policy_loss": 2.0}, {"loss_scale": 8.0}),
        ({"loss:sum": 5.0, "loss_scaled": 2.0}, {}),
        ({"lm_loss": 1.0, "total_loss": 3.0}, {"loss": 3.0}),
        ({"training/epoch": 2, "critic/lr": 1e-5}, {"epoch": 2}),
    ],
)
def test_what_a_key_means_depends_on_its_row(
    record: dict[str, Any], expected: dict[str, float]
) -> None:
    """The ambiguous keys, each as its trainer means it."""
    assert expected == FieldMap().read(record).values


def test_evaluation_sets_are_kept_apart() -> None:
    """Each evaluation set is a series of its own; the first stands for them all."""
    found = FieldMap().read({"eval_g0_loss": 1.0, "eval_g1_loss": math.inf, "eval_loss": None})
    assert found.evals == {"eval_g0_loss": 1.0, "eval_g1_loss": math.inf}
    assert found.values["eval_loss"] == 1.0
    assert found.nulls == ("eval_loss",)


@pytest.mark.parametrize(
    "key",
    ["eval_loss", "eval/loss", "val_loss", "val/loss", "valid_loss", "validation_loss",
     "validation/loss", "test_loss", "test/nll", "eval_wiki_loss", "val/code/loss", "val/bpb",
     "clip_val_loss", "valid/loss", "loss/validation/epoch_average"],
)  # fmt: skip
def test_evaluation_losses(key: str) -> None:
    """Every known name of an evaluation loss is one."""
    assert FieldMap().read({key: 2.0}).evals == {key: 2.0}


@pytest.mark.parametrize(
    "key", ["eval_loss_cls", "interval_loss", "loss_val", "train/loss", "val_acc"]
)
def test_no_evaluation_losses(key: str) -> None:
    """Components, and words that only end alike, are none."""
    assert FieldMap().read({key: 2.0}).evals == {}


def test_wrapped_evaluation_losses() -> None:
    """Below a wrapper, too, under the key alone."""
    assert FieldMap().read({"data": {"eval/loss": 2.0}}).evals == {"eval/loss": 2.0}


def test_plans_are_bounded() -> None:
    """Rows that each have keys of their own do not grow the memory of plans without end."""
    fields = FieldMap()
    for n in range(3000):
        assert fields.read({f"key{n}": 1, "loss": n}).values == {"loss": n}
        assert len(fields._plans) <= 256


def test_large_plans_are_bounded_by_their_keys() -> None:
    """Rows of thousands of keys, new ones each time, are not all held on to."""
    fields = FieldMap()
    for n in range(20):
        row = {f"key{n}_{m}": 1 for m in range(3000)}
        assert fields.read({"data": row, "loss": n}).values == {"loss": n}
        assert len(fields._plans) <= 6


def test_a_row_of_very_many_nested_keys_is_bounded() -> None:
    """A dump of a model below a wrapper costs no more than a bounded look."""
    plan = FieldMap().plan(
        {"data": {f"w{n}": {f"x{m}": 1 for m in range(50)} for n in range(999)}}
    )
    assert plan.candidates == ()


def test_the_row_is_not_touched() -> None:
    """Reading changes nothing in the record."""
    record = {"data": {"actor/pg_loss": 1.0}, "step": 3}
    FieldMap().read(record)
    assert record == {"data": {"actor/pg_loss": 1.0}, "step": 3}


def test_own_mapping_and_silence() -> None:
    """A mapped key is the best source of its field; an ignored one means nothing."""
    fields = FieldMap({"loss": "objective"}, ["val_loss"])
    found = fields.read({"objective": 2.0, "loss": 5.0, "val_loss": 1.0})
    assert (found.values, found.evals) == ({"loss": 2.0}, {})
    assert FieldMap({}, ["loss"]).read({"loss": 5.0, "train_loss": 4.0}).values == {"loss": 4.0}
    assert FieldMap({"loss": "val_loss"}).read({"val_loss": 1.0}).evals == {}
    nested = FieldMap({"loss": "a.b"}).read({"a": {"b": 1.5}})
    assert nested.values == {"loss": 1.5}


def test_version_tells_tables_apart() -> None:
    """Equal rules have equal versions; any other rule another."""
    versions = {
        FieldMap(mapped, ignored).version
        for mapped, ignored in [({}, []), ({"loss": "a"}, []), ({"loss": "b"}, []), ({}, ["a"])]
    }
    assert len(versions) == 4
    assert (
        FieldMap({"loss": "a"}, ["x", "y"]).version == FieldMap({"loss": "a"}, ["y", "x"]).version
    )


FIELDS = FieldMap()


def settle(own: Sources, record: dict[str, Any]) -> Found:
    found = FIELDS.read(record)
    own.settle(found)
    return found


def test_an_average_under_a_worse_name_is_not_mixed_in() -> None:
    """Once a run's loss came from a better key, a row with a worse one adds no loss."""
    own = Sources()
    assert settle(own, {"loss": 2.0}).values == {"loss": 2.0}
    assert settle(own, {"train_loss": 9.0}).values == {}
    assert settle(own, {"loss": 1.9}).values == {"loss": 1.9}


def test_a_better_name_takes_over_at_once_a_worse_one_in_the_end() -> None:
    """A run whose better key does not come back is not left without a loss for long."""
    own = Sources()
    settle(own, {"train_loss": 3.0})
    assert settle(own, {"loss": 2.0}).values == {"loss": 2.0}
    missed = [settle(own, {"train_loss": 3.0}).values for _ in range(WORSE_ROWS_MAX)]
    assert missed == [{}] * WORSE_ROWS_MAX
    assert settle(own, {"train_loss": 3.0}).values == {"loss": 3.0}


def test_a_row_that_agrees_is_not_looked_at_again_and_another_is() -> None:
    """Rows of the same keys, but from another source or with another field: all is as ever."""
    fields, own = FieldMap(), Sources()
    kept = []
    for record in [
        {"loss": 2.0, "train_loss": 3.0},
        {"loss": 1.9, "train_loss": 3.0},
        {"loss": "ce", "train_loss": 3.0},
        {"loss": 1.8, "train_loss": 3.0},
        {"loss": "ce", "train_loss": 3.0, "lr": 0.1},
        {"loss": 1.7, "train_loss": 3.0, "lr": 0.1},
    ]:
        found = fields.read(record)
        own.settle(found)
        kept.append(found.values.get("loss"))
    assert kept == [2.0, 1.9, None, 1.8, None, 1.7]
    assert own.to_state() == {"rank": {"loss": 1, "learning_rate": 2}, "worse_rows": {}}


def test_a_field_that_was_null_at_first() -> None:
    """Its source is known from the first row in which it has a value."""
    own = Sources()
    for rate in (None, 0.1):
        settle(own, {"loss": 2.0, "lr": rate})
    assert own.rank == {"loss": 1, "learning_rate": 2}


def test_equal_names_take_turns() -> None:
    """fairseq counts updates under three names, one for each kind of row."""
    own = Sources()
    for key in ("num_updates", "train_num_updates", "valid_num_updates"):
        assert settle(own, {key: "10"}).values == {"step": 10.0}
