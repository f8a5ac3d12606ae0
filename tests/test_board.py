"""The board: one reference to the newest snapshot."""

from __future__ import annotations

from tailwatch.board import Board
from tailwatch.messages import Snapshot
from tests.shell.helpers import run_view, snapshot


def test_empty_board_says_so() -> None:
    """Before the engine has said anything there is no snapshot and no beat."""
    board = Board()
    assert (board.snapshot, board.beat_s) == (None, None)


def test_newest_snapshot_replaces_the_last() -> None:
    """A reader that holds a snapshot keeps it as it was; the next reader gets the new one."""
    board = Board()
    first, second = snapshot(), snapshot(run_view())
    board.publish(first)
    held = board.snapshot
    board.publish(second)
    assert held is first
    assert board.snapshot is second
    assert held.runs == {}


def test_beat_is_kept_and_passed_on() -> None:
    """Each turn's time is kept for the health page and handed to whoever wants to know."""
    beats: list[tuple[float, Snapshot | None]] = []
    board = Board(lambda *beat: beats.append(beat))
    board.beat(1.0)
    first = Snapshot(True, {}, {}, {}, None)
    board.publish(first)
    board.beat(2.5)
    assert (board.beat_s, beats) == (2.5, [(1.0, None), (2.5, first)])
