"""steps_interleaved in motion."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.checks.steps_interleaved import StepsInterleaved
from tailwatch.core.rows import Row, RowKind
from tests.checks.lists import levels
from tests.checks.runs import Run


def steps(run: Run, values: Sequence[float]) -> str:
    edges = ""
    for step in values:
        run.step = step
        edges += run.losses(1.0)
    return edges


def test_two_writers() -> None:
    """Steps that fall back a little in more than a fifth of the last 50 rows fire, once."""
    run = Run(StepsInterleaved)
    edges = steps(run, [n + 2 if n % 2 else n for n in range(1, 200)])
    assert edges.index("F") == 49
    assert edges.count("-") == 198
    assert (
        run.said
        == "steps fell back in 24 of the last 50 rows up to step 50: two writers in one file"
    )


@pytest.mark.parametrize(("falls", "found"), [(10, False), (11, True)])
def test_more_than_a_fifth(falls: int, found: bool) -> None:
    """10 falls in 50 rows are none, 11 are."""
    values = list(range(10, 610, 10))
    for n in range(falls):
        values[12 + 3 * n], values[13 + 3 * n] = values[13 + 3 * n], values[12 + 3 * n]
    assert found == ("F" in steps(Run(StepsInterleaved), values))


def test_the_same_step_twice_is_none() -> None:
    """Trainers that write each row twice have one writer."""
    assert "F" not in steps(Run(StepsInterleaved), [10 * (n // 2 + 1) for n in range(300)])


def test_resumes_are_none() -> None:
    """A fall of more than 2 intervals is a resume, however often there is one."""
    values = [10 * (n - 5 * (n // 8) + 1) for n in range(300)]
    assert "F" not in steps(Run(StepsInterleaved), values)


def test_evaluations_and_rows_without_a_step_are_passed() -> None:
    """Only training rows with a step of their own count."""
    run = Run(StepsInterleaved)
    for n in range(10, 200):
        run.step = n
        run.losses(1.0)
        run.step = n - 1
        assert run.other(RowKind.EVAL, loss=1.0) == "-"
        run.step = n - 1
        assert run.other(has_step=False, loss=1.0) == "-"


def test_it_ends_with_the_segment() -> None:
    """Two writers are two writers, until a new segment begins."""
    run = Run(StepsInterleaved, segments=True)
    steps(run, [n + 2 if n % 2 else n for n in range(3, 100)])
    assert steps(run, range(100, 300)) == "-" * 200
    assert steps(run, [3]) == "R"


@settings(deadline=None, max_examples=100)
@given(st.lists(st.sampled_from([10, 10, 10, 20, 0, -5, -10, -20, -21, -90]), max_size=120))
def test_levels_are_those_of_the_lists(turns: list[int]) -> None:
    """On each row the level is what the list of all steps gives."""
    values = [1000]
    for turn in turns:
        values.append(values[-1] + turn)
    expected = []
    for n in range(1, len(values) + 1):
        falls = 0
        for k in range(max(1, n - 50), n):
            rises = [b - a for a, b in itertools.pairwise(values) if b > a]
            interval = rises[-1] if rises else 0
            falls += 0 < values[k - 1] - values[k] <= 2 * interval
        expected.append(n >= 50 and falls > 10)
    rows = [Row(n, step, {"loss": 1.0}, 0) for n, step in enumerate(values, 1)]
    assert expected == levels(StepsInterleaved(), rows)
