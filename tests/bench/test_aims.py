"""The table of aims: what a cell says, and the parts that there are."""

from __future__ import annotations

import importlib

import pytest

from tests.bench.aims import PARTS, shown
from tests.bench.measure_daemon import Figure, quantile


def figures(*values: float) -> list[Figure]:
    return [Figure("a thing", "under 10 ms", value, "ms") for value in values]


def test_a_cell_is_median_least_and_most() -> None:
    """Large numbers without decimals, small ones with two; nothing measured is a dash."""
    assert shown(figures(3.0, 1.234, 20.26)) == "3.00 ms (1.23 to 20.3)"
    assert shown(figures(12345.6)) == "12,346 ms (12,346 to 12,346)"
    assert shown([]) == "-"


@pytest.mark.parametrize(("share", "value"), [(0.5, 50), (0.99, 99), (1.0, 100), (0.001, 1)])
def test_a_quantile_is_one_of_the_values(share: float, value: int) -> None:
    """The smallest that so many do not exceed, whatever their order."""
    assert quantile(range(100, 0, -1), share) == value


@pytest.mark.parametrize("part", PARTS)
def test_every_part_is_there(part: str) -> None:
    """Its module has the function that it names."""
    module, function, repeats = PARTS[part]
    found = importlib.import_module(f"tests.bench.{module}")

    assert callable(getattr(found, function))
    assert repeats >= 1
