"""Which key feeds which field: counted against what the reader made of the rows."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.checks import CHECKS
from tailwatch.core.aliases import ALIASES, Source
from tailwatch.core.fields import FieldMap
from tailwatch.core.key_use import HINTS_MAX, KEYS_MAX, USES_MAX, KeyUse, Use, walk
from tailwatch.core.lines import Line
from tailwatch.core.reader import RunReader
from tailwatch.core.rows import Row, RowKind


class Kept:
    """An observer that keeps the rows, and counts their keys."""

    def __init__(self, fields: FieldMap) -> None:
        self.rows: list[Row] = []
        self.use = KeyUse(fields)

    def line(self, line: Line) -> None:
        pass

    def bad_line(self, reason: str) -> None:
        raise AssertionError(reason)

    def row(self, record: dict[str, Any], row: Row) -> None:
        self.rows.append(row)
        self.use.row(record, row)


def read(records: list[dict[str, Any]], fields: FieldMap | None = None) -> Kept:
    """Read records as the reader does."""
    fields = fields or FieldMap()
    kept = Kept(fields)
    data = "".join(f"{json.dumps(record)}\n" for record in records)
    RunReader(CHECKS, fields=fields, observer=kept).feed(data.encode())
    return kept


def use_of(kept: Kept, field: str, key: str) -> Use:
    return kept.use.uses[field, key]


keys = st.sampled_from(
    ["step", "loss", "train_loss", "total_loss", "eval_loss", "val_loss", "lr", "learning_rate",
     "grad_norm", "norm", "reward", "epoch", "iter", "mode", "current_steps", "prompt",
     "train_runtime", "weight_decay", "timestamp", "kl"]
)  # fmt: skip
values = st.sampled_from(
    [0, 1, 2.5, 30, math.nan, math.inf, None, "nan", "train", "val", "config", "7/9", 1.7e9, [1.0]]
)
records = st.dictionaries(keys, values, max_size=8)
stories = st.lists(
    records | st.fixed_dictionaries({"data": records, "step": st.integers(0, 99)}), max_size=25
)


@settings(deadline=None, max_examples=200)
@given(stories)
def test_what_is_counted_is_what_the_rows_have(story: list[dict[str, Any]]) -> None:
    """For each field the rows that keys have fed are the rows that have it, and no others."""
    kept = read(story)
    for name in ALIASES:
        fed = sum(use.fed for use in kept.use.uses.values() if use.field == name)
        if name == "step":
            # One that was counted from an epoch, or an iter, is nobody's.
            assert fed <= sum(row.has_step for row in kept.rows)
        elif name == "timestamp_s":
            assert fed == sum(row.timestamp_s is not None for row in kept.rows)
        elif name != "iter":
            assert fed == sum(name in row.values for row in kept.rows), name
    evals = sum(len(row.evals) for row in kept.rows if "eval_loss" in row.values)
    assert evals == sum(use.fed for use in kept.use.uses.values() if use.field == "eval_loss")


@settings(deadline=None, max_examples=100)
@given(stories)
def test_the_values_are_those_of_the_rows(story: list[dict[str, Any]]) -> None:
    """First, last, NaN and infinite of the loss are those of the rows' losses."""
    kept = read(story)
    losses = [row.values["loss"] for row in kept.rows if "loss" in row.values]
    uses = [use for use in kept.use.uses.values() if use.field == "loss" and use.fed]

    assert sum(use.nans for use in uses) == sum(map(math.isnan, losses))
    assert sum(use.infs for use in uses) == sum(map(math.isinf, losses))
    if losses:
        assert repr(losses[0]) in [repr(use.first) for use in uses]
        assert repr(losses[-1]) in [repr(use.last) for use in uses]


def test_why_a_key_is_not_the_field() -> None:
    """A worse key is beaten in the row of a better one, and doubted in rows without it."""
    kept = read(
        [{"step": 1, "loss": 2.0, "train_loss": 2.1}, {"step": 2, "train_loss": 9.0, "lr": 1}]
    )
    worse = use_of(kept, "loss", "train_loss")

    assert (worse.fed, worse.beaten, worse.doubted) == (0, 1, 1)
    assert use_of(kept, "loss", "loss").fed == 1


def test_a_row_that_describes_the_run_feeds_nothing() -> None:
    """The rate in a configuration is withheld; the loss of an evaluation is an evaluation loss."""
    kept = read([{"event": "config", "lr": 1e-6}, {"mode": "val", "loss": 3.0, "step": 5}])

    assert use_of(kept, "learning_rate", "lr").withheld == 1
    assert use_of(kept, "eval_loss", "loss").fed == 1
    assert [row.kind for row in kept.rows] == [RowKind.METADATA, RowKind.EVAL]


def test_settings_are_named() -> None:
    """A key that a setting maps says so, for evaluation losses too; an ignored one is no hint."""
    fields = FieldMap({"loss": "objective", "eval_loss": "held_out"}, ["loss_x"])
    kept = read([{"step": 1, "objective": 2, "loss": 3, "held_out": 4, "loss_x": 1}], fields)

    assert use_of(kept, "loss", "objective").mapped
    assert use_of(kept, "eval_loss", "held_out").mapped
    assert not use_of(kept, "loss", "loss").mapped
    assert kept.use.hints() == []


def test_hints_are_numeric_keys_that_feed_nothing() -> None:
    """Names with a word of a field, numbers below them, nested or not; no text, no settings."""
    record = {
        "objective_a": 1.5, "g_norm": "2.0", "opt": {"my_lr": 1e-4}, "ep_reward": 3,
        "val_loss_avg": 1, "inner_step": 4, "step": 1, "loss_note": "none", "weight_decay": 0.1,
        "config": {"loss_weight": 1}, "steps_per_second": 3, "color": 3,
    }  # fmt: skip
    found = {hint.key: hint.field for hint in read([record]).use.hints()}

    assert found == {
        "objective_a": "loss",
        "g_norm": "grad_norm",
        "opt.my_lr": "learning_rate",
        "ep_reward": "reward",
        "val_loss_avg": "eval_loss",
        "inner_step": "step",
    }


@settings(deadline=None, max_examples=100)
@given(
    st.recursive(
        st.just(1.5),
        lambda inner: st.dictionaries(
            st.sampled_from(["a_loss", "my_lr", "x.y", "grad", "data"]), inner, min_size=1
        ),
        max_leaves=6,
    )
)
def test_a_hint_can_be_mapped(value: Any) -> None:
    """Whatever a hint says can be said in the settings, and then feeds the field."""
    record = {"top": value}
    for hint in read([record]).use.hints():
        mapped = read([record], FieldMap({"loss": hint.key}))
        assert use_of(mapped, "loss", hint.key).fed == 1


def test_memory_is_bounded() -> None:
    """A file of ever new keys fills the tables and no more."""
    story = [
        {"loss": 1, **{f"loss_{n}_{i}": 1.0 for i in range(50)}, f"eval_{n}_loss": 1, "step": n}
        for n in range(400)
    ]
    kept = read(story)

    assert len(kept.use.uses) == USES_MAX
    assert len(kept.use.keys) == KEYS_MAX
    assert len(kept.use._hints) == HINTS_MAX
    assert len(kept.use._looks) <= KEYS_MAX
    assert use_of(kept, "loss", "loss").fed == 400


def test_a_huge_row_is_walked_in_part() -> None:
    """Keys beyond a number, below a depth, or of thousands of characters cost nothing."""
    wide: Mapping[str, Any] = {f"k{n}": {"x": n} for n in range(10_000)}
    deep: dict[str, Any] = {}
    for _ in range(50):
        deep = {"d": deep}

    assert len(list(walk(wide))) == 512
    assert [key for key, _ in walk(deep)][-1] == "d.d.d.d.d"
    assert max(len(key) for key, _ in walk({"k" * 5000: {"x": 1}})) == 200


def test_every_source_of_the_table_is_counted() -> None:
    """Each plain key of the alias table, alone beside a step, is seen to feed its field."""
    for field, sources in ALIASES.items():
        for source in sources:
            if not isinstance(source, str) or "*" in source or field in ("step", "timestamp_s"):
                continue
            kept = read([{"step": 3, "loss": 1.0, source: 2.0}])
            used = use_of(kept, field, source)
            assert used.fed + used.beaten == 1, source
    assert isinstance(ALIASES["step"][0], Source)
