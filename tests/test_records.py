"""What is kept of a file, and taken up again."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tailwatch.checks import CHECKS
from tailwatch.core.check import Check
from tailwatch.paging import may_page
from tailwatch.readers import KeptReader
from tailwatch.records import record_of, tracked_of
from tailwatch.tracked import Tracked
from tests.one_file import new_file, pump, rows
from tests.shell.helpers import transition


@pytest.fixture
def file() -> Tracked:
    return new_file()


def test_a_state_of_before_is_taken_up_without_what_it_lacks(file: Tracked) -> None:
    """What an older version did not keep has its value of the beginning."""
    record = record_of(file)
    del record.state["active_s"]
    assert tracked_of(record, KeptReader(CHECKS)).active_s is None


def _restored(file: Tracked, checks: Sequence[type[Check]] = CHECKS) -> Tracked:
    return tracked_of(record_of(file), KeptReader(checks))


@pytest.mark.parametrize("cut", [0, 1, 20, 28, 40, 80])
def test_restart_anywhere_changes_nothing(file: Tracked, cut: int) -> None:
    """A daemon that is stopped after any byte and started again finds the same and counts it once."""
    content = rows(2.0, 1.5, float("nan"), 1.0, float("nan"), 0.5)
    pump(file, content[:cut])
    for t in file.reader.monitor.firing():
        file.count(t, 1.0)
    again = _restored(file)
    found = [t.category for t in pump(again, content).transitions] + list(file.tallies)
    assert (["nan_loss"], 6, len(content)) == (found, again.reader.rows, again.cursor.received)


def test_record_keeps_what_was_counted_and_paged(file: Tracked) -> None:
    """Tallies, pages, the limits of history and the times come back as they were."""
    pump(file, rows(2.0, float("nan")))
    file.count(transition(), 1000.0)
    assert may_page(file.paged, transition(), 1000.0)
    file.arrivals.add(3.5, "train")
    file.history_end, file.last_row_s = 10, 999.0
    again = _restored(file)
    assert (file.tallies, file.paged) == (again.tallies, again.paged)
    assert (
        again.history_end,
        again.arrivals.usual_s,
        again.last_row_s,
        again.name,
        again.root,
    ) == (10, 3.5, 999.0, "a/m", "/runs")
    assert not may_page(again.paged, transition(), 1001.0)


def test_outdated_state_is_read_again_and_counted_once(
    file: Tracked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a check's code has changed, the file is read from byte 0 and known findings stay known."""
    content = rows(2.0, float("nan"))
    (first,) = pump(file, content).transitions
    check = next(c for c in CHECKS if c.category == "nan_loss")
    record = record_of(file)
    monkeypatch.setattr(check, "state_version", check.state_version + 1)
    again = tracked_of(record, KeptReader(CHECKS))
    assert (0, len(content)) == (again.cursor.offset, again.rebuild_end)
    (second,) = pump(again, content).transitions
    assert (first.mark, True) == (second.mark, again.known(second))
