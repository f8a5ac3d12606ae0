"""A curve in one line of text."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core.sparkline import sparkline

BARS = "▁▂▃▄▅▆▇█"
finite = st.floats(allow_nan=False, allow_infinity=False)


@settings(deadline=None, max_examples=300)
@given(st.lists(finite, min_size=1, max_size=50), st.integers(1, 40))
def test_any_finite_values_can_be_drawn(values: list[float], width: int) -> None:
    """One bar a value, the last *width* of them, from the lowest bar up, whatever the size."""
    line = sparkline(values, width)
    assert min(len(values), width) == len(line)
    assert set(line) <= set(BARS)
    assert BARS[0] == line[values[-width:].index(min(values[-width:]))]


@settings(deadline=None, max_examples=300)
@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=30))
def test_higher_values_have_higher_bars(values: list[int]) -> None:
    """Bars are in the order of their values, and the highest value has the highest bar."""
    line = sparkline(values)
    pairs = sorted(zip(values, line, strict=True))
    assert sorted(line) == [bar for _, bar in pairs]
    if min(values) < max(values):
        assert BARS[-1] == pairs[-1][1]


def test_extremes() -> None:
    """Nothing draws nothing; level is level; the largest doubles of both signs do not overflow."""
    assert sparkline([]) == ""
    assert sparkline([0.0] * 3) == "▁▁▁"
    assert sparkline([-1.7976931348623157e308, 0.0, 1.7976931348623157e308]) == "▁▄█"
    assert sparkline([5e-324, 0.0]) == "▁▁"
    assert len(sparkline(range(100))) == 30
