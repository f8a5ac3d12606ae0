"""The usual silences of a run."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core.silence import DECAY, Arrivals

gaps = st.lists(
    st.tuples(st.floats(0, 1e6), st.sampled_from(["train", "eval", "save"])), max_size=60
)


def test_nothing_is_usual_at_first() -> None:
    """Before the second arrival there is no silence to go by."""
    assert (Arrivals().usual_s, Arrivals().gaps) == (0.0, 0)


def test_an_evaluation_is_remembered_until_the_next() -> None:
    """However many training rows come between, the silence of an evaluation does not fade."""
    arrivals = Arrivals()
    arrivals.add(1800.0, "eval")
    for _ in range(5000):
        arrivals.add(1.0, "train")
    assert arrivals.usual_s == 1800.0
    assert arrivals.gaps == 5001


@settings(deadline=None)
@given(gaps)
def test_the_longest_of_each_class_faded(story: list[tuple[float, str]]) -> None:
    """Each silence fades with the later ones of its class; the longest that is left is usual."""
    arrivals = Arrivals()
    for gap_s, kind in story:
        arrivals.add(gap_s, kind)
    left = []
    for n, (gap_s, kind) in enumerate(story):
        later = sum(other == kind for _, other in story[n + 1 :])
        left.append(gap_s * DECAY**later)
    assert max(left, default=0.0) == pytest.approx(arrivals.usual_s)
    assert Arrivals(**arrivals.to_state()) == arrivals
