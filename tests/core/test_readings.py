"""A value becomes the number that its trainer meant."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwatch.core.readings import AS_IS, READINGS

SPELT: list[tuple[str, Any, float | None]] = [
    ("numerator", "10/438", 10.0),
    ("numerator", " 10 / 438 ", 10.0),
    ("numerator", "1/2/3", None),
    ("numerator", "12", 12.0),
    ("denominator", "10/438", 438.0),
    ("denominator", "438", None),
    ("denominator", 438, None),
    ("percent", "2.28%", 2.28),
    ("percent", "100 %", 100.0),
    ("percent", "half", None),
    ("largest", {"a": 1e-5, "b": None, "c": "3e-5"}, 3e-5),
    ("largest", [None, "x"], None),
    ("largest", {}, None),
    ("largest", True, None),
    ("duration", "0:01:08", 68.0),
    ("duration", "4 days, 7:18:24", 371904.0),
    ("duration", "1 day, 0:00:01", 86401.0),
    ("duration", "1m 42s", 102.0),
    ("duration", "6s", 6.0),
    ("duration", "2h 3m 4s", 7384.0),
    ("duration", "1d 2h 3m 4s", 93784.0),
    ("duration", "12.5", 12.5),
    ("duration", "", None),
    ("duration", "soon", None),
    ("clock", "2026-01-01T00:00:00Z", 1767225600.0),
    ("clock", 12.5, None),
    ("negated", -1.5, 1.5),
    ("thousandth", 250, 0.25),
    ("mebibytes", 1024, 1.0),
    ("inverse", 4, 0.25),
    ("inverse", -4, None),
    ("inverse", None, None),
]


@pytest.mark.parametrize(("reading", "value", "expected"), SPELT)
def test_spellings(reading: str, value: Any, expected: float | None) -> None:
    """Each spelling that trainers use, and what only looks like one."""
    assert expected == READINGS[reading](value)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@given(st.sampled_from(sorted(READINGS)), json_values | st.from_regex(r"[\d:./ dhms%-]{0,30}"))
def test_any_value_is_a_number_or_none(reading: str, value: Any) -> None:
    """No value raises; a number is a float."""
    got = READINGS[reading](value)
    assert got is None or type(got) is float


def test_nan_goes_through() -> None:
    """A NaN rate or share stays one."""
    for reading in ("number", "numerator", "percent", "largest", "duration"):
        got = READINGS[reading]("nan")
        assert got is not None
        assert math.isnan(got)


def test_as_is() -> None:
    """Exactly those that say so leave every float as it is."""
    floats = [0.25, -3.0, 2e9, math.inf]
    kept = {name for name, read in READINGS.items() if [read(f) for f in floats] == floats}
    assert kept == AS_IS
