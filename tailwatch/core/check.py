"""What a check is: a small machine that is fed rows and says what it sees."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

from .findings import Evidence, Hold, Mark, Severity
from .numbers import jsonable, number, shown
from .rows import Row

AT_REST = Hold(rows=0, clear_rows=1)
"""Said only of a run that has ended or gone quiet; gone with the next row."""


@dataclass(frozen=True, slots=True)
class RunConfig:
    """
    What the run's configuration says, as far as checks read it.

    It is kept with the state of a run: a new attribute needs a default.

    Attributes:
        learning_rate: The configured learning rate. None if it names none.
        source: The file it was read from, for people.
        planned_steps: At which step training is to end.
        save_steps: Steps from one saved model to the next.
        eval_steps: Steps from one evaluation to the next, if there are any.
        logging_steps: Steps from one row to the next.
    """

    learning_rate: float | None = None
    source: str | None = None
    planned_steps: int | None = None
    save_steps: int | None = None
    eval_steps: int | None = None
    logging_steps: int | None = None

    @property
    def says_something(self) -> bool:
        """Whether there is any number in it."""
        counts = (self.planned_steps, self.save_steps, self.eval_steps, self.logging_steps)
        return any(value is not None for value in (self.learning_rate, *counts))


class Waiting(NamedTuple):
    """
    What keeps a check from speaking.

    Attributes:
        rows: How many rows it has had of those that it needs.
        rows_min: How many it needs; 0 if no number of them would do.
        reason: Then, in words, what is in the way.
    """

    rows: int = 0
    rows_min: int = 0
    reason: str = ""


class Check:
    """
    Base of all checks. A subclass fills in the class attributes and the methods.

    Attributes:
        category: The name: of its file, its metric label, its README row.
        severity: Fixed per category.
        suggestion: What to do about it, for a person.
        check_set: "seed", "extended" or "user".
        reads: Canonical fields; `update` is called only with rows that have them all.
        hold: How long the level must last before anyone is told.
        thresholds: The numbers it compares with, by name, for `tailwatch checks`.
        state_version: To be raised when the meaning of `to_state` changes.
        alone: Said only when no other check of its set has anything to say.
        latched: Its level stays up for a while after the cause; a resume of the
            trainer ends a firing finding, so that the next cause is told again.
    """

    category: ClassVar[str]
    severity: ClassVar[Severity]
    suggestion: ClassVar[str]
    check_set: ClassVar[str] = "seed"
    reads: ClassVar[tuple[str, ...]] = ()
    hold: ClassVar[Hold]
    thresholds: ClassVar[dict[str, float]] = {}
    state_version: ClassVar[int] = 1
    alone: ClassVar[bool] = False
    latched: ClassVar[bool] = False

    def update(self, row: Row) -> Evidence | None:
        """Take in one row; return the level on it: evidence if up, None if down."""
        raise NotImplementedError

    def diagnose(self) -> Evidence | None:
        """What the rule says of all rows so far, as if they were read at once."""
        raise NotImplementedError

    def configure(self, config: RunConfig) -> None:
        """Take in the run's configuration. It may come late, and may change."""

    def waiting(self) -> Waiting | None:
        """
        What keeps it from speaking of the next row; None if nothing does.

        A check with a threshold `rows_min` and a count `rows` need not write this: until
        there are so many it is warming up.
        """
        rows, rows_min = getattr(self, "rows", 0), int(self.thresholds.get("rows_min", 0))
        return Waiting(rows, rows_min) if rows < rows_min else None

    def to_state(self) -> dict[str, Any]:
        """What it remembers: small, JSON-able, finite numbers only."""
        raise NotImplementedError

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The check that `to_state` was called on."""
        check = cls()
        for name, value in state.items():
            is_mark = name in ("since", "first_bad") and value is not None
            setattr(check, name, Mark(*value) if is_mark else value)
        return check


class ConfiguredRateCheck(Check):
    """Base of the checks that judge the learning rate of the run's configuration."""

    hold: ClassVar[Hold] = Hold(rows=1, clear_rows=None)

    def __init__(self) -> None:
        self.since: Mark | None = None
        self.learning_rate: float | None = None

    def judge(self, rate: float) -> str | None:
        """What is wrong with *rate*, in words; None if nothing is."""
        raise NotImplementedError

    def configure(self, config: RunConfig) -> None:
        """Take in the configured rate."""
        self.learning_rate = config.learning_rate

    def update(self, row: Row) -> Evidence | None:
        """The first row is what it speaks at; no later one changes anything."""
        if self.since is None:
            self.since = mark(row)
        return self.diagnose()

    def diagnose(self) -> Evidence | None:
        """What is wrong; with no row there is nothing to say of a run but that."""
        rate = self.learning_rate
        if self.since is None or rate is None or (wrong := self.judge(rate)) is None:
            return None
        values = {"learning_rate": rate, "threshold": self.thresholds["limit"]}
        return Evidence(
            f"the configured learning rate {shown(rate)} is {wrong}", values, self.since
        )

    def waiting(self) -> Waiting | None:
        """It needs a rate, and a row to speak at."""
        if self.learning_rate is None:
            return Waiting(reason="no configuration names a learning rate")
        return None if self.since else Waiting(rows=0, rows_min=1)

    def to_state(self) -> dict[str, Any]:
        """The first row and the rate, which may be Infinity: as text, for plain JSON."""
        return self.__dict__ | {"learning_rate": jsonable(self.learning_rate)}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The check that `to_state` was called on."""
        return super().from_state(state | {"learning_rate": number(state["learning_rate"])})


class FirstAgainstLastCheck(Check):
    """Base of the checks that compare the newest finite loss with the first one."""

    reads: ClassVar[tuple[str, ...]] = ("loss",)

    def __init__(self) -> None:
        self.rows = 0
        self.first: float | None = None
        self.last = 0.0
        self.last_step: int | float = 0
        self.since: Mark | None = None
        self.rewarded = False

    def holds(self) -> bool:
        """Whether the rule holds for the losses so far."""
        raise NotImplementedError

    def update(self, row: Row) -> Evidence | None:
        """Take in the loss; one that is not finite leaves the level as it is."""
        loss = row.values["loss"]
        if math.isfinite(loss):
            self.rows += 1
            if self.first is None:
                self.first = loss
            self.last, self.last_step = loss, row.step
            if not self.holds():
                self.since = None
            elif self.since is None:
                self.since = mark(row)
        # Against a first loss, the loss of reinforcement learning means nothing.
        self.rewarded = row.rewarded
        return None if row.rewarded else self.diagnose()

    def waiting(self) -> Waiting | None:
        """It compares with a first loss above 0, and not in reinforcement learning."""
        if self.rewarded:
            return Waiting(reason="the run logs a reward: only `check` compares its losses")
        if self.first is not None and self.first <= 0:
            return Waiting(reason="the first loss is not above 0")
        return super().waiting()

    def to_state(self) -> dict[str, Any]:
        """A few numbers and a place."""
        return dict(self.__dict__)


def mark(row: Row) -> Mark:
    """The place of a row in its run."""
    return Mark(row.number, row.step, row.offset)
