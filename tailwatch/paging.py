"""How often a run may page: the limits of a finding's life, as far as people feel them."""

from __future__ import annotations

from typing import NamedTuple

from .core.findings import Transition, TransitionKind

PAGE_INTERVAL_S = 3600.0
"""At most one page for a run and category in this time, unless a new era began."""


class Paged(NamedTuple):
    """The last page of a category: when (Unix seconds), in which era, and if it still stands."""

    time_s: float
    era: int
    stands: bool


def may_page(paged: dict[str, Paged], transition: Transition, now_s: float) -> bool:
    """Whether anyone may be told, by the last page of each category; if so, it is noted."""
    if transition.continues or transition.told_elsewhere:
        return False
    last = paged.get(transition.category)
    if transition.kind is TransitionKind.RESOLVED:
        if last is None or not last.stands:
            return False
        paged[transition.category] = last._replace(stands=False)
        return True
    # A clock that was set back must not silence a run for years.
    recent = last is not None and 0 <= now_s - last.time_s < PAGE_INTERVAL_S
    if recent and last is not None and last.era == transition.era:
        return False
    paged[transition.category] = Paged(now_s, transition.era, True)
    return True
