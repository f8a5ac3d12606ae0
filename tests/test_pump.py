"""Reading a followed file that changes under us: see also tests/model, which does it at random."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailwatch.checks import CHECKS
from tailwatch.pump import LAG_S, LINGER_S, pump, pump_previous, restart
from tailwatch.readers import KeptReader
from tailwatch.shell.follower import LocalFile, LocalFollower
from tailwatch.tracked import Tracked

ROW = b'{"step": %d, "loss": 1.0}\n'
BIG = 1 << 20


class Kit:
    """One real file, followed."""

    def __init__(self, path: Path, *, remote: bool = False) -> None:
        self.path = path
        self.follower = LocalFollower(lambda _: remote)
        self.tracked = Tracked(str(path), str(path.parent), KeptReader(CHECKS), "m")

    def opened(self) -> LocalFile:
        file = self.follower.open(str(self.path), self.tracked.cursor)
        assert isinstance(file, LocalFile)
        return file

    def pump(self, monotonic_s: float = 0.0) -> int:
        return pump(self.tracked, self.opened(), BIG, monotonic_s).bytes_read

    @property
    def rows(self) -> int:
        return self.tracked.reader.rows


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    return Kit(tmp_path / "m.jsonl")


@pytest.fixture
def far(tmp_path: Path) -> Kit:
    """The same on what calls itself a network file system."""
    return Kit(tmp_path / "m.jsonl", remote=True)


def test_a_change_between_look_and_read_is_seen(kit: Kit) -> None:
    """What was truncated and filled again after it was compared is not read as if it went on."""
    kit.path.write_bytes(ROW % 1 + ROW % 2)
    kit.pump()
    kit.path.write_bytes(ROW % 1 + ROW % 2 + ROW % 3)
    opened = kit.opened()
    kit.path.write_bytes((b'{"step": %d, "loss": 2.0}\n' % 7) * 9)
    pumped = pump(kit.tracked, opened, BIG, 0.0)

    assert (pumped.bytes_read, pumped.more, kit.rows) == (0, True, 2)
    kit.pump()
    assert kit.rows == 2 + 9


def test_a_hole_is_passed_without_being_read(kit: Kit) -> None:
    """A gigabyte that was never written costs no reads, and the row after it is found."""
    with kit.path.open("wb") as file:
        file.truncate(1 << 30)
        file.seek(0, 2)
        file.write(ROW % 1)
    opened = kit.opened()
    reads = []
    real = opened.read
    opened.read = lambda offset, size: reads.append(offset) or real(offset, size)  # type: ignore
    pump(kit.tracked, opened, BIG, 0.0)

    assert kit.rows == 1
    assert reads == [1 << 30]
    assert kit.tracked.cursor.offset == kit.path.stat().st_size


def test_a_hole_within_a_line_is_part_of_it(kit: Kit) -> None:
    """NULs after the beginning of a line spoil that line and no other."""
    kit.path.write_bytes(ROW % 1 + b'{"step"' + bytes(200_000) + b"\n" + ROW % 2)
    while kit.pump():
        pass

    assert (kit.rows, kit.tracked.reader.bad_lines.total()) == (2, 1)


def test_a_sparse_line_of_ten_gigabytes(kit: Kit) -> None:
    """A line that is mostly a hole is one bad line: no memory, few reads, the next row found."""
    with kit.path.open("wb") as file:
        file.write(ROW % 1 + b'{"step": 2, "note": "')
        file.seek(10 << 30, 1)
        file.write(b'"}\n' + ROW % 3)
    turns = 0
    while kit.tracked.cursor.offset < kit.path.stat().st_size:
        kit.pump()
        turns += 1

    assert (kit.rows, kit.tracked.reader.bad_lines["too_long"]) == (2, 1)
    assert turns < 20


def test_a_shorter_size_over_the_network_is_doubted(far: Kit) -> None:
    """It is believed only when it has lasted; data that was late is then read once."""
    far.path.write_bytes(ROW % 1 + ROW % 2)
    far.pump()
    far.path.write_bytes(ROW % 1)
    far.pump(10.0)
    far.path.write_bytes(ROW % 1 + ROW % 2 + ROW % 3)
    far.pump(20.0)

    assert far.rows == 3

    far.path.write_bytes(ROW % 9)
    far.pump(30.0)
    assert far.rows == 3
    far.pump(30.0 + LAG_S)
    assert far.rows == 4


def test_nuls_over_the_network_may_become_data(far: Kit) -> None:
    """Where NULs stand, data may come: what is behind them waits, for a time."""
    first, second = ROW % 1, ROW % 2
    far.path.write_bytes(first + bytes(len(second)) + ROW % 3)
    far.pump(0.0)
    assert far.rows == 1

    far.path.write_bytes(first + second + ROW % 3)
    far.pump(1.0)
    assert far.rows == 3

    far.path.write_bytes(first + second + ROW % 3 + bytes(10) + ROW % 4)
    far.pump(2.0)
    assert far.rows == 3
    far.pump(2.0 + LAG_S)
    assert far.rows == 4


def test_what_comes_late_to_a_rotated_file_is_read(kit: Kit) -> None:
    """A file that was rotated away is read on until it has been quiet for a while."""
    kit.path.write_bytes(ROW % 1 + b'{"step": 2, ')
    kit.pump()
    old = kit.opened()
    restart(kit.tracked, 0.0, linger=True)
    (previous,) = kit.tracked.previous
    with kit.path.open("ab") as file:
        file.write(b'"loss": 1.0}\n')
    pump_previous(kit.tracked, previous, old, BIG, 1.0)
    assert (2, [previous]) == (kit.rows, kit.tracked.previous)

    pump_previous(kit.tracked, previous, kit.opened(), BIG, 1.0 + LINGER_S)
    assert ([], [previous.cursor]) == (kit.tracked.previous, kit.tracked.past)
