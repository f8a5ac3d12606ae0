"""One rule says which JSON values are numbers, and which of those are finite."""

from __future__ import annotations

import json
import math
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core.numbers import jsonable, number, shown

NAN, INF = math.nan, math.inf


def same(expected: float | None, got: float | None) -> bool:
    """Equal, where NaN equals NaN, None only None, and the type is float."""
    if expected is None or got is None:
        return expected is got
    return type(got) is float and (expected == got or (math.isnan(expected) and math.isnan(got)))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2, 2.0),
        (0, 0.0),
        (-7, -7.0),
        (2.5, 2.5),
        (-0.0, -0.0),
        (5e-324, 5e-324),
        (1e308, 1e308),
        (10**308, 1e308),
        ("2.31", 2.31),
        ("2e-4", 2e-4),
        ("+.5", 0.5),
        ("5.", 5.0),
        ("-3E+2", -300.0),
        ("  7\n", 7.0),
        ("007", 7.0),
    ],
)
def test_finite_numbers_and_numeric_text(value: object, expected: float) -> None:
    """Integers, floats and text that spells a decimal number are that number, as a float."""
    assert same(expected, number(value))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (NAN, NAN),
        (INF, INF),
        (-INF, -INF),
        (10**400, INF),
        (-(10**400), -INF),
        ("1e999", INF),
        ("-1e999", -INF),
        ("9" * 400, INF),
        ("nan", NAN),
        ("NaN", NAN),
        ("NAN", NAN),
        ("-nan", NAN),
        ("+nan", NAN),
        (" nan ", NAN),
        ("inf", INF),
        ("+inf", INF),
        ("-inf", -INF),
        ("Inf", INF),
        ("Infinity", INF),
        ("-Infinity", -INF),
        ("infinity", INF),
        ("tensor(nan)", NAN),
        ("tensor(nan, device='cuda:0')", NAN),
        ("tensor(-inf, device='cuda:0', dtype=torch.bfloat16)", -INF),
        ("tensor( inf )", INF),
        ("tensor(nan, device='cuda:0', grad_fn=<NllLossBackward0>)", NAN),
        ("tensor(nan,\n       device='cuda:0')", NAN),
    ],
)
def test_every_spelling_of_a_non_finite_number(value: object, expected: float) -> None:
    """NaN and the infinities are numbers however a trainer spells them, overflow included."""
    assert same(expected, number(value))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        [],
        [1.0],
        {},
        {"value": 1.0},
        Decimal(1),
        "",
        " ",
        "info",
        "nanometre",
        "banana",
        "inf.",
        "nan nan",
        "1_000",
        "1,000",
        "0x10",
        "1e",
        ".",
        "+",
        "--1",
        "1 2",
        "2.3.4",
        "2.31e",
        "none",
        "null",
        "true",
        "١٢",
        "１",
        "²",
        "tensor(2.3)",
        "tensor(2.3, device='cuda:0')",
        "tensor([nan])",
        "tensor([nan, 1.0])",
        "tensor()",
        "tensor(nan",
        "torch.tensor(nan)",
        "1" * 513,
        "nan" + " " * 512,
    ],
)
def test_what_is_no_number_is_missing(value: object) -> None:
    """Null, booleans, containers and other text hold no number, whatever `float` makes of them."""
    assert number(value) is None


def oracle(text: str) -> float | None:
    """What `float` reads, less the two things it reads beyond decimal numbers."""
    if len(text) > 512 or "_" in text or not text.strip().isascii():
        return None
    try:
        return float(text)
    except ValueError:
        return None


@settings(deadline=None, max_examples=400)
@given(
    st.text(alphabet="0123456789+-.eE_ naifty١", max_size=12)
    | st.text(max_size=8)
    | st.floats().map(repr)
    | st.integers().map(str)
)
def test_text_is_read_as_float_reads_it(text: str) -> None:
    """Outside of tensors, text is the number that `float` reads, in ASCII and without underscores."""
    assert same(oracle(text), number(text))


@settings(deadline=None, max_examples=200)
@given(st.integers() | st.integers(-(10**330), 10**330) | st.floats())
def test_numbers_keep_their_value(value: float) -> None:
    """A float is itself; an integer is its nearest float, or infinite beyond the largest."""
    big = isinstance(value, int) and abs(value) >= 2**1024
    expected = (INF if value > 0 else -INF) if big else value
    got = number(value)
    assert got is not None
    assert (math.isnan(expected) and math.isnan(got)) or got == float(expected)


@settings(deadline=None, max_examples=200)
@given(st.none() | st.floats())
def test_jsonable_is_strict_json_and_reads_back(value: float | None) -> None:
    """What `jsonable` gives passes the strict writer, and `number` reads the same value back."""
    text = json.dumps(jsonable(value), allow_nan=False)
    assert same(value, number(json.loads(text)))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "none"),
        (NAN, "NaN"),
        (INF, "Infinity"),
        (-INF, "-Infinity"),
        (1200, "1200"),
        (1200.0, "1200"),
        (-3, "-3"),
        (0.123456789, "0.1235"),
        (2.5, "2.5"),
        (1e-7, "1e-07"),
        (999_999_999_999_999, "999999999999999"),
        (1e15, "1e+15"),
        (1.7e308, "1.7e+308"),
    ],
)
def test_numbers_for_people(value: float | None, expected: str) -> None:
    """Whole numbers are shown whole, others with four digits, non-finite ones in JSON's words."""
    assert expected == shown(value)
