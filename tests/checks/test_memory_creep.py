"""memory_creep in motion."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.checks.memory_creep import MemoryCreep
from tests.checks.lists import above, deviation, levels, mean, noise, rows_of
from tests.checks.runs import Run


def memory(run: Run, *values: float) -> str:
    return run.feed("memory_gib", values)


def test_memory_that_grows_block_by_block() -> None:
    """The third block of 100 rows with a new maximum fires, once, and for the whole segment."""
    run = Run(MemoryCreep)
    edges = memory(run, *[10 + n / 100 for n in range(1, 1000)])
    assert edges.index("F") == 199
    assert run.said == (
        "allocated GPU memory reached 12 GiB at step 2000, from 10.42, and keeps growing"
    )
    assert edges.count("-") == 998
    assert memory(run, *[10.0] * 500) == "-" * 500


def test_less_than_a_gibibyte_is_none() -> None:
    """However often it grows, it has to grow by something."""
    assert memory(Run(MemoryCreep), *[10 + n / 1000 for n in range(900)]) == "-" * 900


def test_less_than_five_percent_is_none() -> None:
    """1 GiB on a card of 80 is not much."""
    assert memory(Run(MemoryCreep), *[70 + n / 500 for n in range(1500)]) == "-" * 1500


@pytest.mark.parametrize(
    ("first", "last", "found"),
    [(10.0, 10.9, False), (10.0, 11.2, True), (60.0, 62.9, False), (60.0, 63.3, True)],
)
def test_by_a_gibibyte_and_five_percent(first: float, last: float, found: bool) -> None:
    """1 GiB of 10, 3 of 60."""
    steps = [first] * 60 + [first + 0.1] * 100 + [first + 0.2] * 100 + [last - 0.05] * 60
    assert found == ("F" in memory(Run(MemoryCreep), *steps, last))


def test_growth_within_two_blocks_is_none() -> None:
    """Longer batches come early; after that the maximum stands."""
    values = [10.0] * 60 + [12.0] * 30 + [14.0] * 800
    assert memory(Run(MemoryCreep), *values) == "-" * 890


def test_single_rows_that_need_more_are_none() -> None:
    """A longest batch of its own in each of many blocks leaves the level where it was."""
    values = [22.0 + n / 1000 if n % 100 == 99 else 20.0 for n in range(1500)]
    assert memory(Run(MemoryCreep), *values) == "-" * 1500


def test_noise_is_none() -> None:
    """New maxima of noise come in many blocks; the level does not rise."""
    noise = random.Random(5)
    values = [noise.gauss(40, 2) for _ in range(20_000)]
    assert memory(Run(MemoryCreep), *values) == "-" * 20_000


def test_a_count_of_retries_that_grows() -> None:
    """One more retry fires at once; where the count begins is no news."""
    run = Run(MemoryCreep)
    assert run.feed("oom_count", [3.0, 3.0, 4.0, 5.0]) == "--F-"
    assert run.said == "the count of out-of-memory retries grew from 3 to 4 at step 30"


@pytest.mark.parametrize("odd", [0.0, -1.0, math.nan, math.inf, 1e300])
def test_values_that_are_none_are_passed(odd: float) -> None:
    """What cannot be the memory of a card, or a count, does not spoil what is known."""
    run = Run(MemoryCreep)
    assert memory(run, *[10.0, odd] * 300) == "-" * 600
    counts = [1.0, odd, 1.0] if odd else [1.0]
    assert run.feed("oom_count", counts) == "-" * len(counts)


def test_a_new_segment_begins_anew() -> None:
    """After a restart from the first step the memory may be another."""
    run = Run(MemoryCreep, segments=True)
    for _ in range(3):
        for n in range(1, 150):
            run.step = n
            assert run.row(loss=1.0, memory_gib=10 + n / 40) == "-"


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.tuples(st.sampled_from([10.0, 10.7, 11.3, 12.9, 15.1]), st.sampled_from([5, 30, 90])),
        max_size=8,
    )
    | noise(10.0, 0.02, 0.01, 320).map(lambda values: [(value, 1) for value in values])
)
def test_levels_are_those_of_the_lists(parts: list[tuple[float, int]]) -> None:
    """On each row the level is what the list of all values gives."""
    values = [x for x, count in parts for _ in range(count)][:330]
    smooth = [mean(values[:n], 0.1) for n in range(1, len(values) + 1)]
    expected, blocks = [], set()
    for n, value in enumerate(values, 1):
        if n <= 50 or value <= max(values[: n - 1]):
            expected.append(False)
            continue
        blocks.add(n // 100)
        lowest = min(smooth[50:n])
        rises = above(value - lowest, max(1.0, 0.05 * lowest))
        moved = above(smooth[n - 1] - lowest, 3 * deviation(values[:n], 0.1))
        expected.append(len(blocks) >= 3 and rises and moved)
    assert expected == levels(MemoryCreep(), rows_of("memory_gib", values))
