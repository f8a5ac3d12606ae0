"""The base of all checks: what a subclass gets without writing it."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import pytest

from tailwatch.core.check import AT_REST, Check, RunConfig, Waiting, mark
from tailwatch.core.findings import Evidence, FindingState, Hold, Lifecycle, Mark, Severity
from tailwatch.core.rows import Row


class Counting(Check):
    category: ClassVar[str] = "counting"
    severity: ClassVar[Severity] = Severity.INFO
    suggestion: ClassVar[str] = "Nothing."
    hold: ClassVar[Hold] = Hold(1, 1)

    def __init__(self) -> None:
        self.rows = 0
        self.since: Mark | None = None
        self.first_bad: Mark | None = None

    def update(self, row: Row) -> Evidence | None:
        self.rows += 1
        return None

    def to_state(self) -> dict[str, Any]:
        return dict(self.__dict__)


def test_a_mark_is_where_a_row_stands() -> None:
    """The mark of a row is its number, step and byte offset."""
    assert mark(Row(3, 30, {"loss": 1.0}, 99)) == Mark(3, 30, 99)


@pytest.mark.parametrize("place", [[3, 30, 99], (3, 30.5, 99), Mark(3, 30, 99)])
def test_marks_come_back_from_json_lists(place: Any) -> None:
    """`from_state` turns the lists that JSON makes of marks back into marks, and keeps None."""
    check = Counting.from_state({"rows": 7, "since": place, "first_bad": place})
    assert Mark(*place) == check.since
    assert type(check.since) is type(check.first_bad) is Mark
    assert check.rows == 7
    assert Counting.from_state({"since": None}).since is None
    assert check.to_state() == Counting.from_state(check.to_state()).to_state()


def test_a_check_has_to_say_what_it_does() -> None:
    """The base judges no row: update is the subclass's to write; of all rows it says nothing."""
    check = Check()
    with pytest.raises(NotImplementedError):
        check.update(Row(1, 1, {}, 0))
    assert check.diagnose() is None
    assert check.clears()
    assert check.to_state() == {}


class Pair(Counting):
    reads = ("loss", "grad_norm")


class Either(Counting):
    reads_any = ("loss", "reward")


class Mixed(Counting):
    reads, reads_any = ("step_time_s",), ("loss", "reward")


@pytest.mark.parametrize(
    ("check", "values", "nulls", "concerned"),
    [
        (Counting, {}, (), True),
        (Pair, {"loss": 1.0}, (), False),
        (Pair, {"loss": 1.0, "grad_norm": 1.0}, (), True),
        (Pair, {"loss": 1.0}, ("grad_norm",), False),
        (Either, {"loss": 1.0}, (), True),
        (Either, {"grad_norm": 1.0}, (), False),
        (Either, {"grad_norm": 1.0}, ("reward",), True),
        (Mixed, {"step_time_s": 1.0}, (), False),
        (Mixed, {"loss": 1.0}, (), False),
        (Mixed, {"step_time_s": 1.0, "loss": 1.0}, (), True),
    ],
)
def test_what_rows_concern_a_check(
    check: type[Check], values: dict[str, float], nulls: tuple[str, ...], concerned: bool
) -> None:
    """Those with all fields of `reads`, and with one of `reads_any`, if only as null."""
    assert concerned == check.concerns(Row(1, 1, values, 0, nulls=nulls))


def test_a_configuration_may_be_ignored() -> None:
    """A check that has no use for the run's configuration need not mention it."""
    check = Counting()
    check.configure(RunConfig(learning_rate=0.1, source="config.yaml"))
    assert Counting().to_state() == check.to_state()


def test_a_check_warms_up_by_its_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a threshold `rows_min` it waits for so many rows; without one it waits for nothing."""
    check = Counting()
    assert check.waiting() is None
    monkeypatch.setattr(Counting, "thresholds", {"rows_min": 2})
    assert check.waiting() == Waiting(0, 2)
    check.update(Row(1, 1, {}, 0))
    assert check.waiting() == Waiting(1, 2)
    check.update(Row(2, 2, {}, 0))
    assert check.waiting() is None


def test_defaults() -> None:
    """A check is of the seed set, reads every row, and is neither alone nor latched by default."""
    assert (Check.check_set, Check.reads, Check.alone, Check.latched) == ("seed", (), False, False)
    assert (Check.thresholds, Check.state_version) == ({}, 1)
    assert RunConfig() == RunConfig(learning_rate=None, source=None)


@pytest.mark.parametrize("field", [f.name for f in dataclasses.fields(RunConfig)])
def test_a_configuration_says_something_with_any_number(field: str) -> None:
    """A rate or a count is something; the name of a file is nothing."""
    assert not RunConfig().says_something
    assert RunConfig(**{field: 1}).says_something == (field != "source")


def test_at_rest_is_only_said_at_rest() -> None:
    """Rows alone never fire a finding of this hold; rest does, and one row ends it."""
    life = Lifecycle(AT_REST)
    assert [life.advance(True) for _ in range(100)] == [None] * 100
    assert life.rest(up=True) is not None
    assert life.advance(False) is not None
    assert life.state is FindingState.INACTIVE
