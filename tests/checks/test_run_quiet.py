"""run_quiet: the silences it is asked about."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.checks.run_quiet import RunQuiet
from tailwatch.core.silence import Silence
from tests.checks.silences import WRITER, life, said


@pytest.mark.parametrize(
    ("silence", "found"),
    [
        (Silence(120.0, 12.0, 50), False),
        (Silence(120.1, 12.0, 50), True),
        (Silence(9900.0, 1980.0, 50), False),
        (Silence(9901.0, 1980.0, 50), True),
        (Silence(1e6, 12.0, 2), False),
        (Silence(1e6, 12.0, 50, finished="it wrote a summary"), False),
        (Silence(1e6, 12.0, 50, unfinished=WRITER), False),
    ],
)
def test_thresholds(silence: Silence, found: bool) -> None:
    """Longer than 2 minutes and 5 usual silences, of which 3 are known; the end is not known."""
    assert found == (said(RunQuiet, silence) is not None)


def test_it_fires_at_once_and_ends_with_the_next_row() -> None:
    """One look is enough; a row ends it."""
    quiet = Silence(1e6, 12.0, 50)
    assert life(RunQuiet, [None, quiet, quiet, None, quiet]) == "-F-RC"


@settings(deadline=None, max_examples=100)
@given(st.floats(0, 1e6), st.floats(0, 1e5), st.integers(0, 5), st.booleans(), st.booleans())
def test_as_it_is_defined(
    silence_s: float, usual_s: float, gaps: int, finished: bool, unfinished: bool
) -> None:
    """The rule in one line."""
    silence = Silence(
        silence_s, usual_s, gaps, "done" if finished else "", WRITER if unfinished else ""
    )
    expected = silence_s > 120 and silence_s > 5 * usual_s and gaps >= 3
    expected = expected and not (unfinished or finished)
    assert expected == (said(RunQuiet, silence) is not None)
