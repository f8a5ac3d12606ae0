"""An object of a metric file becomes a row; nothing that a trainer writes raises."""

from __future__ import annotations

import json
import math
import time
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core.decoding import objects
from tailwatch.core.fields import FieldMap, Sources
from tailwatch.core.notices import utc
from tailwatch.core.rows import Row, RowKind, make_row


def row(record: dict[str, Any], number: int = 1) -> Row:
    return make_row(record, FieldMap(), Sources(), number, 7)


def row_of(data: bytes, number: int = 1) -> Row:
    (record,), broken = objects(data)
    assert broken is None
    return row(record, number)


@pytest.mark.parametrize(
    "data",
    [
        b'{"step": 5, "loss": 0.5}',
        b'{"step": 5, "loss": 0.5}\r',
        b'  {"step": 5, "loss": 0.5}\t',
        b'\xef\xbb\xbf{"step": 5, "loss": 0.5}',
        b"\0" * 100 + b'{"step": 5, "loss": 0.5}',
        b'{"step": 5, "loss": 0.5, "nan": NaN}',
        b'{"step": 5.0, "loss": "0.5"}',
        b'{"step": "5", "loss": 0.5, "x": ' + b"9" * 5000 + b"}",
        b'{"step": 5, "loss": 0.9, "loss": 0.5}',
        b'{"step": 5, "loss": 0.5, "note": "\\ud800"}',
        b'{"step": 5, "loss": 0.5, "x": 1e999}',
        b'{"step": 5, "loss": 0.5, "x": ' + b"[" * 50 + b"]" * 50 + b"}",
    ],
)
def test_what_writers_put_around_a_row(data: bytes) -> None:
    """CRLF, a byte order mark, NULs before it, NaN and huge numbers beside it spoil no row."""
    row = row_of(data)
    assert row.values == {"loss": 0.5}
    assert row.step == 5
    assert type(row.step) is int
    assert row.has_step


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"NaN", math.nan),
        (b"Infinity", math.inf),
        (b"-Infinity", -math.inf),
        (b"1e999", math.inf),
        (b"-1e999", -math.inf),
        (b"1" * 400, math.inf),
        (b"-" + b"1" * 401, -math.inf),
        (b"1" * 5000, math.inf),
        (b'"tensor(nan)"', math.nan),
        (b"1e-999", 0.0),
        (b"18446744073709551616", 2.0**64),
    ],
)
def test_numbers_beyond_json(text: bytes, expected: float) -> None:
    """Bare NaN and infinities, overflowing literals and huge integers are read as losses."""
    row = row_of(b'{"loss": ' + text + b"}")
    assert repr(expected) == repr(row.values["loss"])


@pytest.mark.parametrize(
    ("step", "expected", "known"),
    [
        (b"12", 12, True),
        (b"12.5", 12.5, True),
        (b'"12"', 12, True),
        (b"0", 0, True),
        (b"-3", -3, True),
        (b"null", 4, False),
        (b"true", 4, False),
        (b"NaN", 4, False),
        (b"Infinity", 4, False),
        (b"-Infinity", 4, False),
        (b"1e18", 4, False),
        (b"-1e18", 4, False),
        (b"1" * 5000, 4, False),
        (b'"twelve"', 4, False),
    ],
)
def test_step_or_else_the_row_number(step: bytes, expected: float, known: bool) -> None:
    """A step that is no finite number of a sane size is replaced by the number of the row."""
    row = row_of(b'{"loss": 1, "step": ' + step + b"}", 4)
    assert (expected, known) == (row.step, row.has_step)
    assert "step" not in row.values


@pytest.mark.parametrize(
    ("data", "training", "values"),
    [
        (b'{"loss": null}', True, {}),
        (b'{"loss": [1]}', False, {}),
        (b'{"loss": "ce"}', False, {}),
        (b'{"eval_loss": 2}', True, {"eval_loss": 2.0}),
        (b'{"step": 1, "lr": 0.1}', True, {"learning_rate": 0.1}),
        (b'{"lr": 0.1}', False, {}),
        (b'{"step": 1, "reward": 2}', True, {"reward": 2.0}),
        (b'{"reward": 2}', False, {"reward": 2.0}),
        (b'{"epoch": 1}', False, {"epoch": 1.0}),
        (b"{}", False, {}),
    ],
)
def test_training_fields(data: bytes, training: bool, values: dict[str, float]) -> None:
    """A row has a training field when the key is there, though its value may be missing."""
    row = row_of(data)
    assert (training, values) == (row.has_training_field, row.values)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("1767225600", 1767225600.0),
        ("1767225600.25", 1767225600.25),
        ('"1767225600"', 1767225600.0),
        ('"2026-01-01T00:00:00Z"', 1767225600.0),
        ('"2026-01-01T00:00:00"', 1767225600.0),
        ('"2026-01-01 01:00:00+01:00"', 1767225600.0),
        ('"2026-01-01"', 1767225600.0),
        ("1767225600000", None),
        ("12.5", None),
        ("-1", None),
        ("NaN", None),
        ("Infinity", None),
        ("null", None),
        ("true", None),
        ('"yesterday"', None),
        ('"1999-01-01T00:00:00Z"', None),
        ('"0001-01-01T00:00:00+14:00"', None),
        ('"9999-12-31T23:59:59-14:00"', None),
        ('"2026-01-01T00:00:00Z' + " " * 40 + '"', None),
        ('["2026-01-01"]', None),
    ],
)
def test_a_rows_own_time(raw: str, expected: float | None) -> None:
    """Seconds or ISO 8601 text between 2001 and 2096 are the row's time; all else is none."""
    row = row_of(b'{"loss": 1, "timestamp": ' + raw.encode() + b"}")
    assert expected == row.timestamp_s
    assert row.values == {"loss": 1.0}


def test_a_time_without_zone_is_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """A time that names no zone is UTC, in whatever zone this host is."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        row = row_of(b'{"loss": 1, "timestamp": "2026-01-01T00:00:00"}')
    finally:
        monkeypatch.undo()
        time.tzset()
    assert row.timestamp_s == 1767225600.0


@settings(deadline=None, max_examples=200)
@given(
    st.text(max_size=30)
    | st.text(alphabet="0123456789-:TZ+W. ", max_size=30)
    | st.datetimes(
        timezones=st.none()
        | st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m)))
    ).map(datetime.isoformat)
)
def test_any_time_can_be_told(text: str) -> None:
    """Whatever text stands as a row's time, what is read of it can be written in a notice."""
    stamp = row_of(json.dumps({"loss": 1, "timestamp": text}).encode()).timestamp_s
    if stamp is not None:
        moment = datetime.fromtimestamp(int(stamp), tz=UTC)
        assert f"{moment:%Y-%m-%dT%H:%M:%SZ}" == utc(stamp)


@pytest.mark.parametrize(
    ("record", "kind", "values"),
    [
        ({"step": 1, "loss": 2.0}, "train", {"loss": 2.0}),
        ({"step": 1, "loss": None, "grad_norm": 1.0}, "train", {"grad_norm": 1.0}),
        ({"step": 1, "loss": None}, "train", {}),
        ({"step": 1, "reward": 2.0}, "train", {"reward": 2.0}),
        ({"step": 1, "lr": 0.1}, "train", {"learning_rate": 0.1}),
        ({"step": 1, "loss": 2.0, "val_loss": 3.0}, "train", {"loss": 2.0, "eval_loss": 3.0}),
        ({"step": 1, "loss": 2.0, "mode": "train"}, "train", {"loss": 2.0}),
        ({"step": 1, "eval_loss": 3.0}, "eval", {"eval_loss": 3.0}),
        ({"step": 1, "loss": None, "eval_loss": 3.0}, "eval", {"eval_loss": 3.0}),
        ({"step": 1, "loss": 3.0, "mode": "val", "lr": 0.1}, "eval", {"eval_loss": 3.0}),
        ({"step": 1, "loss": 3.0, "split": "Validation"}, "eval", {"eval_loss": 3.0}),
        ({"step": 1, "mode": "val", "bbox_mAP": 0.3}, "eval", {}),
        ({"current_steps": 9, "loss": None, "eval_loss": None, "reward": None}, "other", {}),
        ({"step": 9, "train_loss": 0.5, "train_runtime": 3.0}, "end", {}),
        ({"step": 9, "total_flos": 1e18, "train_loss": 0.5}, "end", {}),
        ({"event": "finish", "steps": 9}, "end", {}),
        ({"event": "summary", "loss": 0.5, "val_loss": 0.5}, "end", {}),
        ({"event": "summary", "epoch": 2, "loss": 0.5}, "train", {"epoch": 2, "loss": 0.5}),
        ({"step": 1, "eval_accuracy": 0.5, "tps": 9.0}, "eval", {}),
        ({"eval_steps": 100, "val_size": 0.1}, "other", {}),
        ({"eval_steps": 100, "lr": 0.1}, "metadata", {}),
        ({"step": 1, "mAP": 0.5, "time": 9.0, "data_time": 1.0}, "eval", {}),
        ({"step": 1, "loss": 2.5, "text": "a sample"}, "train", {"loss": 2.5}),
        ({"_step": 1, "loss": 2.5, "completions": {"_type": "table"}}, "train", {"loss": 2.5}),
        ({"_step": 1, "reward": 1.5, "completions": {"_type": "table"}}, "train", {"reward": 1.5}),
        ({"step": 12, "global_step": 112, "loss": 2.5}, "train", {"loss": 2.5}),
        ({"event": "config", "lr": 1e-6, "max_grad_norm": 1.0}, "metadata", {}),
        ({"type": "config", "model": "a"}, "metadata", {}),
        ({"lr": 0.1, "batch_size": 32}, "metadata", {}),
        ({"env_info": "...", "seed": 0, "exp_name": "a"}, "metadata", {}),
        ({"global_step": 9, "best_metric": 0.5, "log_history": [{"loss": 1.0}]}, "metadata", {}),
        ({"step": 1, "weight_decay": 0.1, "learning_rate": 0.1}, "metadata", {}),
        ({"step": 1, "weight_decay": 0.1, "loss": 0.2}, "train", {"loss": 0.2}),
        ({"step": 1, "prompt": "a", "completion": "b", "reward": 1.0}, "other", {}),
        ({"text": "once", "loss": 2.5}, "other", {}),
        ({"step": 1, "tokens": 12, "text": 3, "loss": 2.5}, "train", {"loss": 2.5}),
        ({"step": 1, "note": "x"}, "other", {}),
    ],
)
def test_what_a_row_is_about(record: dict[str, Any], kind: str, values: dict[str, float]) -> None:
    """Training, evaluation, metadata, the end or none of it: only the first two have values."""
    got = row(record)
    assert (RowKind(kind), values) == (got.kind, got.values)
    trains = kind in ("train", "eval") and ("loss" in record or bool(values))
    assert trains == got.has_training_field
    assert kind in ("train", "eval") or not got.evals


def test_an_evaluation_teaches_no_source() -> None:
    """The name under which an evaluation has its loss does not decide where training has it."""
    own = Sources()
    records = [{"mode": "val", "loss": 3.0}, {"mode": "train", "train_loss": 2.0}]
    rows = [make_row(record, FieldMap(), own, 1, 0) for record in records * 2]
    assert [r.values for r in rows] == [{"eval_loss": 3.0}, {"loss": 2.0}] * 2


def test_metadata_teaches_no_source() -> None:
    """A row that describes the run does not decide from which key its fields are read."""
    own = Sources()
    for record in ({"event": "config", "learning_rate": 0.1}, {"step": 1, "loss": 1, "lr": 0.2}):
        got = make_row(record, FieldMap(), own, 1, 0)
    assert got.values == {"loss": 1.0, "learning_rate": 0.2}


def test_a_null_is_told_from_a_missing_field() -> None:
    """A strict JSON writer turns NaN into null: that the field is there must not be lost."""
    assert row({"step": 1, "loss": None}).nulls == ("loss",)
    assert row({"step": 1, "grad_norm": 1.0}).nulls == ()
