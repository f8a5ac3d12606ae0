"""loss_scale_collapse in motion."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.checks.loss_scale_collapse import LossScaleCollapse
from tailwatch.core.findings import Mark
from tests.checks.lists import levels, rows_of
from tests.checks.runs import Run

HIGH = 65536.0


def scales(run: Run, *values: float) -> str:
    return run.feed("loss_scale", values)


def test_four_falls_without_a_rise() -> None:
    """The fourth fall fires at once, however much calm lies between."""
    run = Run(LossScaleCollapse)
    falls = [x for n in (1, 2, 3, 4) for x in [HIGH / 2**n] * 30]
    assert scales(run, *[HIGH] * 20, *falls).index("F") == 20 + 90
    assert run.said == (
        "loss scale has fallen to 4096 at step 1110, from 65536, without a rise between"
    )
    evidence = run.transitions[0].evidence
    assert evidence.values == {"loss_scale": 4096.0, "before": HIGH}
    assert Mark(111, 1110, 11100) == evidence.mark


def test_falls_and_rises_are_normal() -> None:
    """A scale that halves and doubles again is at work."""
    run = Run(LossScaleCollapse)
    assert scales(run, *[HIGH, HIGH / 2, HIGH / 4, HIGH / 8] * 50) == "-" * 200


@pytest.mark.parametrize(("low", "edge"), [(1.0, "F"), (1.01, "-"), (0.25, "F")])
def test_at_or_below_one(low: float, edge: str) -> None:
    """A scale of 1 that was higher before fires with a single fall."""
    run = Run(LossScaleCollapse)
    assert edge == scales(run, *[HIGH] * 20, low)[-1]


def test_a_scale_of_one_all_along_is_normal() -> None:
    """bf16 under a trainer that logs a scale all the same."""
    run = Run(LossScaleCollapse)
    assert scales(run, *[1.0] * 200) == "-" * 200


def test_the_search_at_the_beginning_is_normal() -> None:
    """Falls within the first 20 rows are not counted."""
    run = Run(LossScaleCollapse)
    assert scales(run, *[2.0 ** (32 - n) for n in range(20)], *[2.0**13] * 50) == "-" * 70
    assert scales(run, *[2.0 ** (12 - n) for n in range(4)]) == "---F"


def test_a_search_that_ends_at_one() -> None:
    """A scale that fell to 1 within the first 20 rows is told of after them."""
    run = Run(LossScaleCollapse)
    assert scales(run, *[2.0 ** max(0, 16 - n) for n in range(21)]) == "-" * 20 + "F"


def test_a_rise_ends_it() -> None:
    """It is over with the next rise, and only with that."""
    run = Run(LossScaleCollapse)
    scales(run, *[HIGH] * 20, 1.0)
    assert scales(run, *[1.0] * 50, 0.5, 1.0) == "-" * 51 + "R"
    assert scales(run, 2.0, 1.0) == "-C"


def test_scales_that_are_not_finite_are_passed() -> None:
    """A NaN is neither a fall nor a rise."""
    run = Run(LossScaleCollapse)
    said = scales(run, *[HIGH] * 20, *[x for n in (1, 2, 3) for x in (HIGH / 2**n, math.nan)])
    assert said == "-" * 26
    assert scales(run, math.inf, HIGH / 16) == "-F"


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.sampled_from([0.5, 1.0, 0.5, -1.0, 0.0]), max_size=60),
    st.sampled_from([1.0, 8.0, HIGH]),
)
def test_levels_are_those_of_the_lists(turns: list[float], first: float) -> None:
    """On each row the level is what the list of all scales gives."""
    values = [first]
    for turn in turns:
        values.append(values[-1] * turn if turn > 0 else values[-1] * (2.0 if turn else 4.0))
    expected = []
    for n, scale in enumerate(values, 1):
        rises = [k for k in range(1, n) if values[k] > values[k - 1]]
        since = rises[-1] if rises else 0
        falls = sum(values[k] < values[k - 1] for k in range(max(since + 1, 20), n))
        expected.append(n > 20 and (falls >= 4 or scale <= 1 < values[since]))
    assert expected == levels(LossScaleCollapse(), rows_of("loss_scale", values))
