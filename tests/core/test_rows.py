"""A line is a row, a counted bad line, or blank; nothing that a trainer writes raises."""

from __future__ import annotations

import json
import math
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core.fields import FieldMap
from tailwatch.core.lines import Line
from tailwatch.core.notices import utc
from tailwatch.core.rows import BAD_LINE_REASONS, Malformed, Row, decode, parse_row


def parse(data: bytes, number: int = 1) -> Row | Malformed | None:
    return parse_row(Line(data, 7, 8 + len(data)), FieldMap(), number)


def row_of(data: bytes) -> Row:
    row = parse(data)
    assert isinstance(row, Row)
    assert (row.number, row.offset) == (1, 7)
    return row


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**40), 10**40)
    | st.floats()
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None, max_examples=300)
@given(json_values, st.booleans(), st.sampled_from([None, 1]))
def test_decode_is_the_standard_decoder(value: object, ascii_only: bool, indent: None) -> None:
    """On anything the standard library writes, NaN included, `decode` gives what it reads."""
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    data = text.encode("utf-8", "surrogatepass")
    try:
        expected = repr(json.loads(data.decode()))
    except UnicodeDecodeError:
        with pytest.raises(UnicodeDecodeError):
            decode(data)
    else:
        assert expected == repr(decode(data))


@settings(deadline=None, max_examples=400)
@given(
    st.binary(max_size=40)
    | st.lists(
        st.sampled_from(
            [
                b"{",
                b"}",
                b"[",
                b"]",
                b'"loss"',
                b":",
                b",",
                b"1",
                b"-",
                b".5",
                b"e9",
                b"0",
                b"NaN",
                b"Infinity",
                b"null",
                b" ",
                b"\t",
                b"\0",
                b"\xff",
                b'"\\ud800"',
                b"tru",
            ]
        ),
        max_size=12,
    ).map(b"".join)
)
def test_no_bytes_raise(data: bytes) -> None:
    """Any bytes are a row, a bad line with a known reason and its own offset, or blank."""
    parsed = parse(data)
    if isinstance(parsed, Malformed):
        assert parsed.reason in BAD_LINE_REASONS
        assert parsed.offset == 7
    elif parsed is None:
        assert data.strip(b" \t\r\n\0") == b""
    else:
        assert parsed.number == 1
        assert parsed.offset == 7


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"loss": 1', "not_json"),
        (b"loss=1", "not_json"),
        (b"{'loss': 1}", "not_json"),
        (b'{"loss": 1}{"loss": 2}', "not_json"),
        (b'{"loss": \xff}', "not_json"),
        (b'{"loss": 1, "note": "\xff\xfe"}', "not_json"),
        (b'{"loss": 1,}', "not_json"),
        (b'{"a\0b": 1} \0 x', "not_json"),
        (b"\xef\xbb\xbf", "not_json"),
        (b"[1, 2]", "not_object"),
        (b"1", "not_object"),
        (b"NaN", "not_object"),
        (b"null", "not_object"),
        (b'"{}"', "not_object"),
        (b"1" * 5000, "not_object"),
        (b"[" * 100_000, "too_deep"),
        (b'{"a":' * 100_000, "too_deep"),
        (b'{"loss": 1, "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "too_deep"),
    ],
)
def test_bad_lines_have_a_reason(data: bytes, reason: str) -> None:
    """A line that is no JSON, no object, or nested beyond reason is named as that."""
    expected = Malformed(reason, 7)
    assert expected == parse(data)


def test_too_long_line() -> None:
    """A line that was dropped for its length is counted as too long, not as blank."""
    expected = Malformed("too_long", 3)
    assert expected == parse_row(Line(b"", 3, 9, too_long=True), FieldMap(), 1)


@pytest.mark.parametrize("data", [b"", b" ", b"\r", b"\t \r", b"\0" * 4096, b"\0 \r"])
def test_blank_lines_are_nothing(data: bytes) -> None:
    """Blanks, a lone carriage return, and a hole of NULs are neither rows nor bad lines."""
    assert parse(data) is None


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
    row = parse(b'{"loss": 1, "step": ' + step + b"}", 4)
    assert isinstance(row, Row)
    assert (expected, known) == (row.step, row.has_step)
    assert "step" not in row.values


@pytest.mark.parametrize(
    ("data", "training", "values"),
    [
        (b'{"loss": null}', True, {}),
        (b'{"loss": [1]}', True, {}),
        (b'{"eval_loss": 2}', True, {"eval_loss": 2.0}),
        (b'{"lr": 0.1}', True, {"learning_rate": 0.1}),
        (b'{"step": 1, "reward": 2}', False, {}),
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
