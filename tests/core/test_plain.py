"""Records as dicts."""

from __future__ import annotations

from dataclasses import asdict

from tailwatch.core.check import RunConfig
from tailwatch.core.cursor import Cursor
from tailwatch.core.plain import fields_of
from tailwatch.core.progress import Progress
from tailwatch.core.segments import SegmentTracker
from tailwatch.core.steps import StepAxis
from tailwatch.core.trail import SaveEnd, Trail


def test_it_says_what_the_standard_library_says() -> None:
    """Of what is kept with it nothing is nested, so that no copy is needed."""
    trail = Trail(ends=(SaveEnd(3, 1),))
    for record in (RunConfig(), Cursor(trail=trail), Progress(), SegmentTracker(), StepAxis()):
        assert fields_of(record) == asdict(record)
