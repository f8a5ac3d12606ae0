"""The median and the largest of a long series, in bounded memory."""

from __future__ import annotations

import statistics

from hypothesis import given
from hypothesis import strategies as st

from tailwatch.core.sample import VALUES_MAX, Sample


def sample_of(values: list[float]) -> Sample:
    sample = Sample()
    for value in values:
        sample.add(value)
    return sample


@given(st.lists(st.floats(0, 1e9), max_size=200))
def test_a_short_series_is_exact(values: list[float]) -> None:
    """Count, largest and median are those of all values."""
    sample = sample_of(values)

    assert sample.count == len(values)
    assert sample.largest == max(values, default=None)
    assert sample.median == (statistics.median_low(values) if values else None)


def test_a_long_series_is_bounded_and_evenly_sampled() -> None:
    """However long it is, so many values are kept, from all of it, and the largest is exact."""
    count = 100 * VALUES_MAX + 7
    sample = sample_of([float(n) for n in range(count)])

    assert len(sample._values) <= VALUES_MAX
    assert sample.largest == count - 1
    assert sample.median is not None
    assert abs(sample.median - count / 2) < count / 100
    gaps = {b - a for a, b in zip(sample._values, sample._values[1:], strict=False)}
    assert gaps == {float(sample._stride)}


def test_it_says_which_value_is_the_largest() -> None:
    """Adding gives True for a value above all before, and else False."""
    sample = Sample()

    assert [sample.add(x) for x in (1.0, 3.0, 3.0, 2.0, 4.0)] == [True, True, False, False, True]
