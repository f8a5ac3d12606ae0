"""A line is some objects, a counted bad line, or blank; nothing that a writer does raises."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core.decoding import decode, objects
from tailwatch.core.rows import BAD_LINE_REASONS

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
    found, broken = objects(data)
    assert broken is None or broken in BAD_LINE_REASONS
    assert all(type(one) is dict for one in found)
    assert found or broken


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"loss": 1', "not_json"),
        (b"loss=1", "not_json"),
        (b'{"loss": \xff}', "not_json"),
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
    assert objects(data) == ([], reason)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a": 1}{"a": 2}', [1, 2]),
        (b'{"a": 1} {"a": 2}, {"a": 3}', [1, 2, 3]),
        (b'2021-08-13 14:59:32 | INFO | train_inner | {"a": "20.7", "b": "1"}', ["20.7"]),
        (b'[2022-04-08 18:48:05,372][train_inner][INFO] - {"a": 1}', [1]),
        (b'INFO {not json} - {"a": 1}', [1]),
        (b"{'a': 0.5, 'b': nan, 'c': -inf, 'd': None, 'e': True}", [0.5]),
        (b"{'a': '0.2051', 'b': [1, (2,)], 'c': {'d': 1e-3}}", ["0.2051"]),
        (b'{"a": 1,}', [1]),
        (b"{'a': np.float64(0.25)}", [0.25]),
        (b"{'a': tensor(2.5, device='cuda:0')}", [2.5]),
        (b"  5%|#     | 5/100 [00:01<00:20]\r{'a': 1, 'b': nan}     ", [1]),
        (b'\r 10%|#  | 1/9\r{"a": 1}\r 20%|## | 2/9', [1]),
        (b'\x1b[32mINFO\x1b[0m {"a": \x1b[1m3\x1b[0m}', [3]),
        (b'\xef\xbb\xbf{"a": 1}\r', [1]),
        (b'\0\0{"a": 1}', [1]),
        (b'{"a": 1, "note": "\xff\xfe"}', [1]),
        (b'log {"a": {"b": {"c": 1}}}', [{"b": {"c": 1}}]),
    ],
)
def test_what_is_around_an_object(data: bytes, expected: list[Any]) -> None:
    """Glued objects, a logger's text, colours, progress bars, Python's own spelling."""
    found, broken = objects(data)
    assert (expected, None) == ([one["a"] for one in found], broken)


def test_python_not_a_number() -> None:
    """The NaN of a printed dict is one."""
    (one,), _ = objects(b"{'loss': nan, 'grad_norm': -inf}")
    assert math.isnan(one["loss"])
    assert one["grad_norm"] == -math.inf


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        # A writer was killed within a row, and the next one went on in the same line.
        (b'{"step": 1, "lo{"step": 2}', [{"step": 2}]),
        (b'{"step": 1}{"step": 2, "lo', [{"step": 1}]),
        # What is within a broken object is a value of it, and no row.
        (b'{"step": 7, "data": {"loss": 3.0}, garb', []),
        (b'{"step": 7, "data": {"loss": 3.0}', []),
        (b'{"step": 7, "list": [{"loss": 3.0}, {"loss": 4.0}', []),
    ],
)
def test_a_torn_object_is_counted_and_what_is_whole_is_read(
    data: bytes, expected: list[Any]
) -> None:
    """Beside a broken part, the line is bad and its whole objects are rows all the same."""
    assert (expected, "not_json") == objects(data)


@pytest.mark.parametrize(
    "data",
    [
        b"{'a': __import__('os').getpid()}",
        b"{'a': 1 + 1}",
        b"{'a': [x for x in (1,)]}",
        b"{'a': (lambda: 1)()}",
        b"{'a': open('/etc/passwd')}",
        b"{'a': f'{1}'}",
        b"{'a': " + b"[" * 5000 + b"]" * 5000 + b"}",
        b"{'a': " + b"-" * 5000 + b"1}",
        b"{'a': '\\x'}",
        b"{'a': 1if 1 else 2}",
        b"{'a': b'bytes'}",
        b"{'a': 1j}",
    ],
)
def test_python_is_parsed_and_never_evaluated(data: bytes) -> None:
    """A line that is more than a dict of plain values is a bad line."""
    assert objects(data) == ([], "not_json")


def test_many_braces_cost_little() -> None:
    """A line of nothing but braces, or of thousands of objects, is bounded."""
    assert objects(b"{" * 100_000 + b"x")[0] == []
    assert len(objects(b"x" + b'{"a": 1}' * 5000)[0]) <= 1024


def test_a_log_with_carriage_returns_alone() -> None:
    """Rows as Python prints them that only carriage returns part are all read."""
    found, broken = objects(b"\r".join(b"{'a': %d}" % n for n in range(40)))
    assert ([one["a"] for one in found], broken) == (list(range(40)), None)
