"""One followed file: reading on, starting over, coming to rest, and its state across restarts."""

from __future__ import annotations

import pytest

from tailwatch.checks import CHECKS
from tailwatch.core.check import RunConfig
from tailwatch.core.findings import TransitionKind
from tailwatch.core.reader import SKIP_BYTES
from tailwatch.pump import Pumped
from tailwatch.readers import KeptReader
from tailwatch.records import record_of, tracked_of
from tailwatch.shown import view_of
from tailwatch.tracked import REST_GAPS, REST_S, Tracked
from tests.one_file import new_file, pump, rows
from tests.shell.helpers import transition


@pytest.fixture
def file() -> Tracked:
    return new_file()


# Reading.


def test_chunks_come_to_the_same(file: Tracked) -> None:
    """However small the chunks, the same rows are read and the same is found."""
    content = rows(2.0, 1.5, float("nan"), 1.0)
    found = []
    while True:
        pumped = pump(file, content, 7)
        found += [t.category for t in pumped.transitions]
        if not pumped.more:
            break
    assert (["nan_loss"], 4, len(content), 0) == (
        found,
        file.reader.rows,
        file.cursor.offset,
        file.lag_bytes,
    )


def test_backlog_is_said(file: Tracked) -> None:
    """A read that does not reach the end says that there is more, and how much."""
    content = rows(*[1.0] * 10)
    pumped = pump(file, content, 20)
    assert (20, True, len(content) - 20) == (pumped.bytes_read, pumped.more, file.lag_bytes)


def test_unchanged_file_gives_nothing(file: Tracked) -> None:
    """A second look at the same file reads no byte and says no more."""
    content = rows(1.0)
    pump(file, content)
    assert Pumped([], 0, False, None) == pump(file, content)


def test_truncated_file_starts_over_with_its_run(file: Tracked) -> None:
    """The content after a truncation is read from its first byte, as rows of the same run."""
    pump(file, rows(3.0, 2.0, 1.0))
    file.history_end = file.backlog_end = file.rebuild_end = 50
    pumped = pump(file, rows(9.0))
    assert ("truncated", len(rows(9.0)), 4) == (
        pumped.restarted,
        pumped.bytes_read,
        file.reader.rows,
    )
    assert (file.history_end, file.backlog_end, file.rebuild_end) == (0, 0, 0)


def test_replaced_file_is_said_to_be_replaced(file: Tracked) -> None:
    """Another file with other content is another reason."""
    pump(file, rows(3.0, 2.0))
    assert pump(file, rows(9.0, 8.0, 7.0), inode=8).restarted == "replaced"


def test_copy_with_the_same_beginning_is_read_on(file: Tracked) -> None:
    """A copy of all that was read, and more, counts only what is more."""
    pump(file, rows(3.0, 2.0) + b'{"st')
    pumped = pump(file, rows(3.0, 2.0, 1.0), inode=8)
    assert (None, 3, len(rows(1.0))) == (pumped.restarted, file.reader.rows, pumped.bytes_read)


def test_last_line_of_a_finished_file_counts_before_a_restart(file: Tracked) -> None:
    """A whole row without a line end that is overwritten afterwards was a row."""
    pump(file, rows(3.0, 2.0).rstrip(b"\n"))
    assert file.reader.rows == 1
    pump(file, rows(9.0))
    assert file.reader.rows == 3


# Candidates.


def test_file_without_training_fields_is_skipped(file: Tracked) -> None:
    """After 64 KiB of other JSON a file is read no more, and is behind with nothing."""
    other = b'{"prompt": "x", "answer": "y"}\n' * 5000
    file.name = None
    pumped = pump(file, other, SKIP_BYTES + 100)
    assert (file.skipped, file.lag_bytes, pumped.more) == (True, 0, False)
    assert pump(file, other + rows(1.0)).bytes_read == 0


def test_skipped_file_is_looked_at_again_when_replaced(file: Tracked) -> None:
    """A new file under a skipped name is judged anew."""
    file.name = None
    pump(file, b'{"prompt": "x"}\n' * 5000)
    assert file.skipped
    pumped = pump(file, rows(2.0, 1.0), inode=8)
    assert (pumped.restarted, file.skipped, file.reader.is_metric) == ("replaced", False, True)
    assert file.reader.rows == 2


def test_short_candidate_waits_for_more(file: Tracked) -> None:
    """A file with a few rows of other fields may still become a metric file."""
    file.name = None
    start = b'{"version": 1}\n'
    pump(file, start)
    assert (file.skipped, file.reader.is_metric) == (False, False)
    pump(file, start + rows(1.0))
    assert file.reader.is_metric


# Times.


def test_silence_before_rest_grows_with_the_gaps_of_the_run(file: Tracked) -> None:
    """A run that writes rarely is given longer before it is called quiet."""
    file.read_at_s = 100.0
    pump(file, rows(1.0))
    file.arrived(1000.0, 100.0)
    assert file.rest_due_s() == 100.0 + REST_S
    pump(file, rows(1.0, 2.0))
    file.arrived(1300.0, 400.0)
    assert file.rest_due_s() == 400.0 + 300.0 * REST_GAPS


def test_a_run_says_since_when_it_is_in_its_state(file: Tracked) -> None:
    """Active since rows came, at rest since the last one, active anew with the next; restarts
    change nothing.
    """
    since_s = []
    for n, now_s in enumerate((1000.0, 1300.0, 5000.0), 1):
        if n == 3:
            file.rest()
            file = tracked_of(record_of(file), KeptReader(CHECKS))
            since_s.append(view_of(file, "quiet").since_s)
        pump(file, rows(*[1.0] * n))
        file.arrived(now_s, now_s)
        file = tracked_of(record_of(file), KeptReader(CHECKS))
        since_s.append(view_of(file, "active").since_s)
    assert since_s == [1000.0, 1000.0, 1300.0, 5000.0]


def test_backlog_says_nothing_about_gaps(file: Tracked) -> None:
    """Bytes that were there at the start came at once for us, not for the trainer."""
    content = rows(1.0, 2.0)
    file.backlog_end = len(content)
    pump(file, content)
    file.arrived(1000.0, 5000.0)
    assert file.arrivals.gaps == 0


def test_run_at_rest_or_behind_is_not_due(file: Tracked) -> None:
    """What rests already, is not read to its end, or is no run, cannot go quiet."""
    pump(file, rows(*[1.0] * 10), 20)
    assert None is file.rest_due_s()
    pump(file, rows(*[1.0] * 10))
    assert None is not file.rest_due_s()
    file.rest()
    assert None is file.rest_due_s()
    file.name, file.at_rest = None, False
    assert None is file.rest_due_s()


def test_rest_evaluates_a_whole_last_line(file: Tracked) -> None:
    """A last row without its line end counts when nothing more comes, and only once."""
    content = rows(2.0, 1.0).rstrip(b"\n")
    pump(file, content)
    assert file.reader.rows == 1
    file.rest()
    assert (2, len(content)) == (file.reader.rows, file.cursor.offset)
    pump(file, content + b"\n" + rows(0.5, first=3))
    assert (file.reader.rows, file.at_rest) == (3, False)


def test_row_time_is_its_own_or_the_files_or_now(file: Tracked) -> None:
    """A credible time in the row wins; what was there already has the file's; the rest is now."""
    file.backlog_end, file.mtime_s = 200, 500.0
    assert file.happened_s(transition(offset=300), 1000.0) == 1000.0
    assert file.happened_s(transition(offset=100), 1000.0) == 500.0
    assert file.happened_s(transition(offset=300, timestamp_s=900.0), 1000.0) == 900.0
    assert file.happened_s(transition(offset=300, timestamp_s=9999.0), 1000.0) == 1000.0
    file.mtime_s = 9999.0
    assert file.happened_s(transition(offset=100), 1000.0) == 1000.0


# Counting and paging.


def test_firing_is_counted_once(file: Tracked) -> None:
    """A firing counts, its resolution and its continuation do not; the newest time is kept."""
    file.count(transition(), 1000.0)
    file.count(transition(kind=TransitionKind.RESOLVED), 1100.0)
    file.count(transition(continues=True), 1200.0)
    file.count(transition(), 900.0)
    assert file.tallies == {"nan_loss": (2, 1000.0)}


def test_what_was_counted_by_other_code_is_known(file: Tracked) -> None:
    """Rows below the offset of an outdated state are evaluated again and counted once."""
    file.rebuild_end = 100
    assert [file.known(transition(offset=n)) for n in (99, 100)] == [True, False]


def test_history_is_what_was_there_before(file: Tracked) -> None:
    """A finding in bytes from before the first start is history, later ones are not."""
    file.history_end = 100
    assert [file.is_history(transition(offset=n)) for n in (99, 100)] == [True, False]


def test_end_of_history_is_told_once(file: Tracked) -> None:
    """When the last byte of history has been read, that is said once."""
    content = rows(1.0, 2.0)
    file.history_end = len(content)
    pump(file, content, 10)
    assert not file.history_read()
    pump(file, content)
    assert [file.history_read(), file.history_read()] == [True, False]


def test_view_shows_the_run(file: Tracked) -> None:
    """The view of a run has its newest numbers, its configuration and what stands."""
    file.configure(RunConfig(0.001, "/runs/a/args.json"))
    pump(file, rows(2.0, float("nan")))
    file.count(file.reader.monitor.firing()[0], 1000.0)
    view = view_of(file, "active")
    assert (
        view.name,
        view.state,
        view.rows,
        view.last_step,
        view.segment,
        view.run_config,
    ) == ("a/m", "active", 2, 2, 1, "/runs/a/args.json")
    assert [(s.category, s.row, s.since_s) for s in view.standing] == [("nan_loss", 2, 1000.0)]
