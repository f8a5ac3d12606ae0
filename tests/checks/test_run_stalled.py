"""run_stalled: the silences it is asked about."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.checks.run_stalled import RunStalled
from tailwatch.core.silence import Silence
from tests.checks.silences import WRITER, life, said


def test_an_unfinished_run_that_is_silent() -> None:
    """It says how long, how long is usual, and why the run is not over."""
    assert said(RunStalled, Silence(700.0, 12.0, 50, unfinished=WRITER)) == (
        "no row for 12 min; usually one comes within 12 s, and a process holds its file open"
    )


@pytest.mark.parametrize(
    ("silence", "found"),
    [
        (Silence(600.0, 12.0, 50, unfinished=WRITER), False),
        (Silence(600.1, 12.0, 50, unfinished=WRITER), True),
        (Silence(19800.0, 1980.0, 50, unfinished=WRITER), False),
        (Silence(19801.0, 1980.0, 50, unfinished=WRITER), True),
        (Silence(1e6, 12.0, 2, unfinished=WRITER), False),
        (Silence(1e6, 12.0, 3, unfinished=WRITER), True),
        (Silence(1e6, 12.0, 50), False),
        (Silence(1e6, 12.0, 50, finished="it wrote a summary", unfinished=WRITER), False),
        (Silence(1e6, 12.0, 50, finished="it wrote a summary"), False),
    ],
)
def test_thresholds(silence: Silence, found: bool) -> None:
    """Longer than 10 minutes and 10 usual silences, of which 3 are known; and unfinished."""
    assert found == (said(RunStalled, silence) is not None)


def test_it_fires_at_once_and_ends_with_the_next_row() -> None:
    """One look is enough; further looks say nothing; a row ends it, and soon after it continues."""
    stalled = Silence(1e6, 12.0, 50, unfinished=WRITER)
    assert life(RunStalled, [None, stalled, stalled, None, None, stalled]) == "-F-R-C"


@settings(deadline=None, max_examples=100)
@given(st.floats(0, 1e6), st.floats(0, 1e5), st.integers(0, 5), st.booleans(), st.booleans())
def test_as_it_is_defined(
    silence_s: float, usual_s: float, gaps: int, finished: bool, unfinished: bool
) -> None:
    """The rule in one line."""
    silence = Silence(
        silence_s, usual_s, gaps, "done" if finished else "", WRITER if unfinished else ""
    )
    expected = silence_s > 600 and silence_s > 10 * usual_s and gaps >= 3
    expected = expected and unfinished and not finished
    assert expected == (said(RunStalled, silence) is not None)
