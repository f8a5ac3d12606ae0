"""One page for a run and category in an hour, and what lifts that."""

from __future__ import annotations

from dataclasses import replace

from tailwatch.core.findings import Evidence, Mark, Severity, Transition, TransitionKind
from tailwatch.paging import PAGE_INTERVAL_S, Paged, may_page

FIRING = Transition(
    category="nan_loss",
    severity=Severity.CRITICAL,
    kind=TransitionKind.FIRING,
    segment=1,
    mark=Mark(1, 1, 0),
    evidence=Evidence("m", {}, None),
    suggestion="s",
)
RESOLVED = replace(FIRING, kind=TransitionKind.RESOLVED)


def test_one_page_in_an_hour_and_era() -> None:
    """The second within the hour waits; a new era, or the hour's end, lifts it."""
    paged: dict[str, Paged] = {}
    assert may_page(paged, FIRING, 1000.0)
    assert not may_page(paged, FIRING, 1000.0 + PAGE_INTERVAL_S - 1)
    assert may_page(paged, replace(FIRING, era=2), 1001.0)
    assert may_page(paged, replace(FIRING, era=2), 1001.0 + PAGE_INTERVAL_S)


def test_resolved_follows_its_page() -> None:
    """Nobody hears of the end of what they were not told of, nor twice."""
    paged: dict[str, Paged] = {}
    assert not may_page(paged, RESOLVED, 1000.0)
    assert may_page(paged, FIRING, 1000.0)
    assert may_page(paged, RESOLVED, 1001.0)
    assert not may_page(paged, RESOLVED, 1002.0)


def test_what_continues_or_is_told_elsewhere_is_silent() -> None:
    """And leaves no trace: the next one of its own may page."""
    paged: dict[str, Paged] = {}
    assert not may_page(paged, replace(FIRING, continues=True), 1000.0)
    assert not may_page(paged, replace(FIRING, told_elsewhere=True), 1000.0)
    assert may_page(paged, FIRING, 1000.0)


def test_a_clock_that_was_set_back_silences_nobody() -> None:
    """A last page in the future is none."""
    paged = {"nan_loss": Paged(1e9, 0, True)}
    assert may_page(paged, FIRING, 1000.0)
