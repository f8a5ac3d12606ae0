"""Levels become edges: hold, clear, reopen, rest and rearm."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core.findings import (
    REOPEN_ROWS,
    SEVERITIES,
    FindingState,
    Hold,
    Lifecycle,
    Severity,
    TransitionKind,
)

FIRING, RESOLVED = TransitionKind.FIRING, TransitionKind.RESOLVED


@dataclass
class Oracle:
    """
    The same life told from its whole history.

    Keeps every level since the last edge in a list, and the row at which each
    edge was; counts nothing as it goes.
    """

    hold: Hold
    levels: list[bool] = field(default_factory=list)
    total: int = 0
    firing: bool = False
    resolved_at: int | None = None

    def running(self, level: bool) -> int:
        count = 0
        for up in reversed(self.levels):
            if up is not level:
                break
            count += 1
        return count

    def fire(self, at: int) -> tuple[TransitionKind, bool]:
        continues = self.resolved_at is not None and at - self.resolved_at <= REOPEN_ROWS
        self.firing, self.levels, self.resolved_at = True, [], None
        return FIRING, continues

    def advance(self, up: bool) -> tuple[TransitionKind, bool] | None:
        self.total += 1
        self.levels.append(up)
        if not self.firing and self.hold.rows and self.running(True) >= self.hold.rows:
            return self.fire(self.total)
        clear = self.hold.clear_rows
        if self.firing and clear is not None and self.running(False) >= clear:
            return self.resolve()
        return None

    def rest(self, up: bool) -> tuple[TransitionKind, bool] | None:
        return self.fire(self.total) if up and not self.firing else None

    def resolve(self) -> tuple[TransitionKind, bool] | None:
        if not self.firing:
            return None
        self.firing, self.levels, self.resolved_at = False, [], self.total
        return RESOLVED, False

    @property
    def state(self) -> FindingState:
        if self.firing:
            return FindingState.FIRING
        up = bool(self.levels) and self.levels[-1]
        return FindingState.PENDING if up else FindingState.INACTIVE


levels = st.tuples(st.just("advance"), st.booleans(), st.integers(1, 60))
others = st.tuples(
    st.sampled_from(["rest", "resolve", "rearm", "save"]), st.booleans(), st.just(1)
)
holds = st.builds(Hold, st.integers(0, 4), st.none() | st.integers(1, 20))


@settings(deadline=None, max_examples=300)
@given(holds, st.lists(levels | others, max_size=25))
def test_the_life_agrees_with_its_whole_history(
    hold: Hold, acts: list[tuple[str, bool, int]]
) -> None:
    """At every row the counting machine says what the list of all levels says, saved or not."""
    life, oracle = Lifecycle(hold), Oracle(hold)
    for act, up, times in acts:
        for _ in range(times):
            expected = edge = None
            if act == "advance":
                expected, edge = oracle.advance(up), life.advance(up)
            elif act == "rest":
                expected, edge = oracle.rest(up), life.rest(up)
            elif act == "resolve":
                expected, edge = oracle.resolve(), life.resolve()
            elif act == "rearm":
                oracle.resolved_at = None
                life.rearm()
            else:
                life = Lifecycle.from_state(hold, life.to_state())
            assert (expected and expected[0]) == edge
            if edge is FIRING:
                assert expected is not None
                assert expected[1] == life.continues
            assert oracle.state == life.state


def feed(life: Lifecycle, levels: str) -> str:
    """`^` is a row with the level up, `.` one with it down; F and R are the edges."""
    letters = {None: "-", FIRING: "F", RESOLVED: "R"}
    return "".join(letters[life.advance(each == "^")] for each in levels)


@pytest.mark.parametrize(
    ("hold", "levels", "edges"),
    [
        (Hold(1, 20), "^", "F"),
        (Hold(1, 3), "^...", "F--R"),
        (Hold(1, 3), "^..^...", "F-----R"),
        (Hold(3, 2), "^^.^^^", "-----F"),
        (Hold(3, 2), "^^^..^^^", "--F-R--F"),
        (Hold(1, None), "^....", "F----"),
        (Hold(0, 1), "^^^^", "----"),
        (Hold(2, 1), "....", "----"),
    ],
)
def test_hold_and_clear(hold: Hold, levels: str, edges: str) -> None:
    """It fires after `rows` levels up running, and resolves after `clear_rows` down running."""
    assert edges == feed(Lifecycle(hold), levels)


@pytest.mark.parametrize(("rows", "continues"), [(1, True), (50, True), (51, False), (500, False)])
def test_reopening_within_50_rows_continues(rows: int, continues: bool) -> None:
    """Firing on the 50th row after it resolved is still the old finding, on the 51st a new one."""
    life = Lifecycle(Hold(1, 1))
    feed(life, "^.")
    feed(life, "." * (rows - 1))
    assert feed(life, "^") == "F"
    assert continues == life.continues


def test_rearm_makes_the_next_firing_new() -> None:
    """After the trainer resumed, firing at once is a new finding."""
    life = Lifecycle(Hold(1, 1))
    feed(life, "^.")
    life.rearm()
    assert feed(life, "^") == "F"
    assert not life.continues


def test_rest_fires_what_is_pending_once() -> None:
    """A run at rest fires what its hold kept back, and a second rest says nothing more."""
    life = Lifecycle(Hold(3, 20))
    feed(life, "^^")
    assert life.state is FindingState.PENDING
    assert life.rest(up=True) is FIRING
    assert life.rest(up=True) is None
    assert Lifecycle(Hold(3, 20)).rest(up=False) is None


def test_resolve_ends_only_what_fires() -> None:
    """Resolving from outside ends a firing finding, and is no edge of any other."""
    life = Lifecycle(Hold(2, 20))
    feed(life, "^")
    assert life.resolve() is None
    feed(life, "^")
    assert life.resolve() is RESOLVED
    assert life.resolve() is None


def test_severities_are_worst_first() -> None:
    """The order of severities is critical, warning, info."""
    expected = (Severity.CRITICAL, Severity.WARNING, Severity.INFO)
    assert expected == SEVERITIES
