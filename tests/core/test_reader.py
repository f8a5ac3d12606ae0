"""Bytes in, transitions out, and neither chunks nor restarts can be seen from outside."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.checks import CHECKS
from tailwatch.core.check import RunConfig
from tailwatch.core.findings import Transition
from tailwatch.core.lines import Line
from tailwatch.core.reader import SKIP_BYTES, RunReader
from tailwatch.core.rows import Row

HEALTHY = b"".join(b'{"step": %d, "loss": 2.%03d}\n' % (n, 999 - n) for n in range(1, 15))
STORY = (
    b"\n"
    + HEALTHY
    + b"not json\n"
    + b'{"step": 15, "loss": NaN, "_timestamp": 1767225600}\r\n'
    + b'[1]\n{"note": "hi"}\n'
    + b'{"step": 16, "eval_loss": 2.0}\n'
    + b'{"step": 9, "loss": 1.9}\n{"step": 10, "loss": "nan"}\n'
    + b'{"step": 1, "loss": 2.0}\n'
    + b"".join(b'{"step": %d, "loss": 9.5}\n' % n for n in range(2, 9))
    + b'{"step": 9, "loss": 2.5}'
)


@dataclass
class Told:
    """Everything that can be seen of a reader from outside."""

    transitions: list[str] = field(default_factory=list)
    bad: Counter[str] = field(default_factory=Counter)

    def add(self, reader: RunReader, transitions: list[Transition]) -> None:
        self.transitions += [repr(t) for t in transitions]
        self.bad += reader.take_bad_lines()

    def of(self, reader: RunReader) -> tuple[Any, ...]:
        return (
            self.transitions,
            self.bad,
            reader.bad_lines,
            reader.rows,
            reader.offset,
            repr(reader.monitor.diagnose()),
            [(t.category, t.mark, repr(t.evidence)) for t in reader.monitor.firing()],
            reader.first_step,
            repr(reader.last_loss),
            reader.last_timestamp_s,
            reader.first_line,
            reader.monitor.segment,
        )


def restart(reader: RunReader) -> RunReader:
    """The reader as a new process has it, from what is on disk."""
    packed = msgspec.msgpack.encode(reader.to_state())
    return RunReader.from_state(CHECKS, None, msgspec.msgpack.decode(packed))


def at_once(data: bytes, config: RunConfig | None = None) -> tuple[Any, ...]:
    reader, told = RunReader(CHECKS, config), Told()
    told.add(reader, reader.feed(data))
    told.add(reader, reader.rest())
    return told.of(reader)


def test_one_cut_anywhere_is_invisible() -> None:
    """Cut in two at any byte, with or without a restart there, a file tells the same."""
    expected = at_once(STORY)
    for place in range(len(STORY) + 1):
        for again in (False, True):
            reader, told = RunReader(CHECKS), Told()
            told.add(reader, reader.feed(STORY[:place]))
            if again:
                told.add(reader, [])
                reader = restart(reader)
                assert reader.offset <= place
                told.add(reader, reader.feed(STORY[reader.offset :]))
            else:
                told.add(reader, reader.feed(STORY[place:]))
            told.add(reader, reader.rest())
            assert expected == told.of(reader)


def test_the_story_has_something_to_tell() -> None:
    """The file of these tests fires, resolves, resumes, restarts and holds bad lines."""
    transitions, bad, *_, segment = at_once(STORY)
    assert sum("FIRING" in t for t in transitions) >= 3
    assert sum("RESOLVED" in t for t in transitions) >= 2
    assert bad == {"not_json": 1, "not_object": 1}
    assert segment == 2


lines = st.sampled_from(
    [
        b'{"step": %d, "loss": %s}\n' % (n, loss)
        for n in (1, 2, 50)
        for loss in (b"2", b"NaN", b"9")
    ]
    + [b'{"loss": 2.0, "grad_norm": 70}\n', b'{"step": 3, "loss": null}\n', b"{}\n", b"\n"]
    + [b"broken\n", b'{"a": \xff}\n', b'{"eval_loss": 1}\r\n', b"\0\0\0", HEALTHY, b"[]\n"]
)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(lines, max_size=25).map(b"".join),
    st.sampled_from([b"", b'{"step": 4, "loss": 2}', b'{"step": 4, "lo', b"\0", b"5"]),
    st.lists(st.tuples(st.integers(0, 4000), st.booleans()), max_size=10),
)
def test_chunks_and_restarts_are_invisible(
    data: bytes, tail: bytes, cuts: list[tuple[int, bool]]
) -> None:
    """Whatever the lines, the cuts and the restarts between them, a file tells the same."""
    data += tail
    config = RunConfig(learning_rate=0.1)
    reader, told = RunReader(CHECKS, config), Told()
    places = sorted((place % (len(data) + 1), again) for place, again in cuts)
    for (a, _), (b, again) in pairwise([(0, False), *places, (len(data), False)]):
        assert a == reader.received
        told.add(reader, reader.feed(data[a:b]))
        if again:
            reader = restart(reader)
            told.add(reader, reader.feed(data[reader.offset : b]))
    told.add(reader, reader.rest())
    assert at_once(data, config) == told.of(reader)


@pytest.mark.parametrize(
    ("tail", "rows", "offset"),
    [
        (b'{"step": 1, "loss": 2}', 1, 22),
        (b'{"step": 1, "loss": 2}\r', 1, 23),
        (b'INFO {"step": 1, "loss": 2}', 1, 27),
        (b"{'step': 1, 'loss': nan}", 1, 24),
        (b'{"step": 1}{"step": 2, "lo', 0, 0),
        (b'{"step": 1, "loss": 2', 0, 0),
        (b"12", 0, 0),
        (b" ", 0, 0),
        (b"", 0, 0),
    ],
)
def test_a_last_line_without_newline(tail: bytes, rows: int, offset: int) -> None:
    """At rest it counts if it is a whole object; otherwise it waits, and is no bad line."""
    reader = RunReader(CHECKS)
    reader.feed(tail)
    assert reader.rows == 0
    reader.end_tail()
    assert (rows, offset) == (reader.rows, reader.offset)
    assert not reader.bad_lines
    assert reader.end_tail() == []
    assert rows == reader.rows


def test_the_newline_after_a_settled_tail_is_nothing() -> None:
    """When the newline of a tail that was taken comes later, no row counts twice."""
    reader = RunReader(CHECKS)
    reader.feed(b'{"step": 1, "loss": 2}')
    reader.end_tail()
    reader.feed(b'\n{"step": 2, "loss": 2}\n')
    assert reader.rows == 2
    assert not reader.bad_lines


def test_an_endless_line_at_rest() -> None:
    """A tail beyond the limit is neither row nor crash at rest; its newline makes it bad."""
    reader = RunReader(CHECKS)
    reader.feed(b'{"step": 1, "loss": 2}\n' + b"x" * (2 << 20))
    assert reader.end_tail() == []
    reader.feed(b'\n{"step": 2, "loss": 2}\n')
    assert (reader.rows, reader.bad_lines) == (2, Counter(too_long=1))


def test_rest_takes_the_tail_and_fires_the_pending() -> None:
    """At rest the last line counts, newline or not, and after it the run is judged."""
    reader = RunReader(CHECKS)
    reader.feed(b'{"step": 1, "loss": 2}\n{"step": 2, "loss": NaN}')
    assert [t.category for t in reader.rest()] == ["nan_loss"]
    assert reader.rest() == []


def test_rows_without_a_value_keep_the_last() -> None:
    """The last loss and the last time stay what they were through rows that have none."""
    reader = RunReader(CHECKS)
    reader.feed(b'{"loss": 2.5, "timestamp": 1767225600}\n{"eval_loss": 1.0}\n')
    assert (reader.last_loss, reader.last_timestamp_s) == (2.5, 1767225600.0)


def test_a_restored_reader_is_of_a_metric_file() -> None:
    """Only runs are stored, so a reader that comes from the store is never skippable."""
    reader = RunReader(CHECKS)
    reader.feed(b'{"loss": 2.5}\n')
    again = restart(reader)
    again.feed(b'{"note": "' + b"x" * SKIP_BYTES + b'"}\n{"note": 1}\n')
    assert again.is_metric
    assert not again.skippable
    assert again.rows == 3


def test_rewind_drops_the_torn_line() -> None:
    """After a rewind the line is fed again from its first byte."""
    reader = RunReader(CHECKS)
    reader.feed(b'{"step": 1, "loss": 2}\n{"step": 9')
    reader.rewind()
    assert (reader.offset, reader.received) == (23, 23)
    reader.feed(b'{"step": 2, "loss": 3}\n')
    assert (reader.rows, reader.last_loss, reader.bad_lines) == (2, 3.0, Counter())


@pytest.mark.parametrize(("step", "segment"), [(1, 2), (14, 2), (15, 1)])
def test_a_file_written_anew(step: int, segment: int) -> None:
    """Bytes count from 0 again; rows go on; a new segment begins unless the steps go on."""
    reader = RunReader(CHECKS)
    reader.feed(HEALTHY + b'{"torn')
    reader.source_restarted()
    assert (reader.offset, reader.received) == (0, 0)
    line = b'{"step": %d, "loss": 2}\n' % step
    reader.feed(line)
    assert (segment, 15, len(line)) == (reader.monitor.segment, reader.rows, reader.offset)
    assert line.strip() == reader.first_line


def test_no_metric_file() -> None:
    """A file is skippable once 64 KiB of whole lines had no training field, and not before."""
    reader = RunReader(CHECKS)
    line = b'{"prompt": "' + b"x" * 1000 + b'"}\n'
    while reader.offset < SKIP_BYTES:
        assert not reader.skippable
        reader.feed(line)
    assert reader.skippable
    assert not reader.is_metric


@pytest.mark.parametrize(("begins", "is_metric"), [(SKIP_BYTES - 1, True), (SKIP_BYTES, False)])
@pytest.mark.parametrize("size", [1 << 20, 1000, 7])
def test_what_is_skipped_does_not_depend_on_chunks(
    begins: int, is_metric: bool, size: int
) -> None:
    """A training field counts when its line begins within the first 64 KiB, however it is read."""
    data = b"{}" + b" " * (begins - 3) + b"\n" + b'{"loss": null}\n{"loss": 1.0}\n'
    reader = RunReader(CHECKS)
    for start in range(0, len(data), size):
        reader.feed(data[start : start + size])
    assert is_metric == reader.is_metric
    assert is_metric != reader.skippable


def test_bad_lines_are_given_once() -> None:
    """`take_bad_lines` tells what is new since it was last asked; the sum stays."""
    reader = RunReader(CHECKS)
    reader.feed(b"x\n[]\n")
    assert reader.take_bad_lines() == {"not_json": 1, "not_object": 1}
    assert reader.take_bad_lines() == {}
    reader.feed(b"y\n")
    assert reader.take_bad_lines() == {"not_json": 1}
    assert reader.bad_lines == {"not_json": 2, "not_object": 1}
    assert restart(reader).take_bad_lines() == {}


def test_first_line_is_the_first_that_is_not_blank() -> None:
    """What tells two files of a name apart is the start of the first line with content."""
    reader = RunReader(CHECKS)
    reader.feed(b"\n \nnot json " + b"x" * 1000 + b'\n{"loss": 1}\n')
    assert (b"not json " + b"x" * 1000)[:256] == reader.first_line


def test_a_hole_before_the_first_row_is_no_reason_to_skip() -> None:
    """NULs before a row do not count as lines without a training field."""
    reader = RunReader(CHECKS)
    reader.feed(bytes(300_000) + b"garbage\n" + b'{"step": 1, "loss": 1.0}\n')

    assert (reader.is_metric, reader.skippable) == (True, False)


def test_glued_rows_are_rows_of_one_line() -> None:
    """Two objects on a line are two rows at the same offset, once each."""
    reader = RunReader(CHECKS)
    reader.feed(b'{"step": 1, "loss": 1.0}{"step": 2, "loss": NaN}\n')
    assert (reader.rows, reader.bad_lines.total(), reader.monitor.last.step) == (2, 0, 2)


def test_reinforcement_learning_is_not_judged_by_its_first_loss() -> None:
    """Live, a loss that grows with the reward is no divergence; the batch rule stays the rule."""
    rows = b"".join(
        b'{"step": %d, "loss": %d, "reward": %d}\n' % (n, 2**n, n) for n in range(1, 12)
    )
    reader = RunReader(CHECKS)
    assert reader.feed(rows) + reader.rest() == []
    assert [finding.category for finding in reader.monitor.diagnose()] == ["loss_diverged"]


def test_a_configuration_in_the_log_itself() -> None:
    """A first metadata row says the learning rate, unless a file beside the log does."""
    row = b'{"event": "config", "learning_rate": 0.1, "max_steps": 50}\n{"step": 1, "loss": 2}\n'
    reader = RunReader(CHECKS)
    assert [t.category for t in reader.feed(row)] == ["lr_too_high"]
    assert reader.monitor.config.planned_steps == 50
    assert reader.monitor.config.source == "its own first rows"
    again = RunReader.from_state(CHECKS, None, reader.to_state())
    again.configure(RunConfig(learning_rate=1e-4))
    assert (again.monitor.config.learning_rate, again.monitor.config.planned_steps) == (1e-4, 50)
    beside = RunReader(CHECKS, RunConfig(learning_rate=1e-4))
    assert beside.feed(row) == []


class Listening:
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def line(self, line: Line) -> None:
        self.told.append(("line", line.offset))

    def bad_line(self, reason: str) -> None:
        self.told.append(("bad", reason))

    def row(self, record: dict[str, Any], row: Row) -> None:
        self.told.append(("row", row.number, record))


@given(chunk=st.integers(1, 300))
def test_an_observer_sees_all_and_changes_nothing(chunk: int) -> None:
    """Each line, bad line and row is told in order, and the reader says what it says without."""
    listening = Listening()
    observed, plain = RunReader(CHECKS, observer=listening), RunReader(CHECKS)
    told, untold = Told(), Told()
    for each, what in ((observed, told), (plain, untold)):
        for at in range(0, len(STORY), chunk):
            what.add(each, each.feed(STORY[at : at + chunk]))
        what.add(each, each.rest())
    kinds = Counter(one[0] for one in listening.told)

    assert told.of(observed) == untold.of(plain)
    assert kinds == {
        "line": STORY.count(b"\n") + 1,
        "bad": observed.bad_lines.total(),
        "row": observed.rows,
    }
    assert [one[1] for one in listening.told if one[0] == "row"] == [*range(1, observed.rows + 1)]
    assert listening.told[:3] == [("line", 0), ("line", 1), ("row", 1, {"step": 1, "loss": 2.998})]


def test_the_torn_line_can_be_looked_at() -> None:
    """What waits for its newline is there, until it has come."""
    reader = RunReader(CHECKS)
    reader.feed(b'{"loss": 1}\n{"lo')
    assert reader.torn == b'{"lo'
    reader.feed(b'ss": 2}\n')
    assert reader.torn == b""
