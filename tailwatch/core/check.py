"""What a check is: a small machine that is fed rows and says what it sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

from .findings import Evidence, Hold, Mark, Severity
from .rows import Row
from .stats import Ewma

MARKS = ("since", "first_bad")
"""Attributes of checks that are places in the run."""

SETS_MAX = 32
"""A check keeps at most so many evaluation sets apart."""

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


class Gauge(NamedTuple):
    """
    How far a check is from what it looks for, for people.

    Attributes:
        what: What it compares, in words.
        value: How it stands.
        threshold: From where on the level is up, as far as this one number decides it.
        above: Whether that is above the threshold, and not below.
    """

    what: str
    value: float
    threshold: float
    above: bool = True


class Check:
    """
    Base of all checks. A subclass fills in the class attributes and the methods.

    Attributes:
        category: The name: of its file, its metric label, its README row.
        severity: Fixed per category.
        suggestion: What to do about it, for a person.
        check_set: "seed", "extended" or "user".
        reads: Canonical fields; `update` is called only with rows that have them all.
        reads_any: Others, of which a row must have at least one, if only as null.
        hold: How long the level must last before anyone is told.
        thresholds: The numbers it compares with, by name, for `tailwatch checks`.
        state_version: To be raised when the meaning of `to_state` changes.
        alone: Said only when no other check of its set has anything to say.
        told_at_rest: Whether it is told when the run ends before the hold is over.
        latched: Its level stays up for a while after the cause; a resume of the
            trainer ends a firing finding, so that the next cause is told again.
    """

    category: ClassVar[str]
    severity: ClassVar[Severity]
    suggestion: ClassVar[str]
    check_set: ClassVar[str] = "seed"
    reads: ClassVar[tuple[str, ...]] = ()
    reads_any: ClassVar[tuple[str, ...]] = ()
    hold: ClassVar[Hold]
    thresholds: ClassVar[dict[str, float]] = {}
    state_version: ClassVar[int] = 1
    alone: ClassVar[bool] = False
    told_at_rest: ClassVar[bool] = True
    latched: ClassVar[bool] = False

    @classmethod
    def concerns(cls, row: Row) -> bool:
        """Whether `update` is to be called with *row*: by the fields that it has."""
        if not all(name in row.values for name in cls.reads):
            return False
        either = cls.reads_any
        return not either or any(name in row.values or name in row.nulls for name in either)

    def update(self, row: Row) -> Evidence | None:
        """Take in one row; return the level on it: evidence if up, None if down."""
        raise NotImplementedError

    def still_up(self, row: Row) -> Evidence | None:
        """
        `update` while the finding fires: nobody asks what the evidence says, only whether it is.

        For checks that may be up for a whole run, and spend most of their time on the words.
        """
        return self.update(row)

    def diagnose(self) -> Evidence | None:
        """
        What the rule says of all rows so far, as if they were read at once.

        None for a rule that is made for rows in motion: what it says is what it fires.
        """
        return None

    def clears(self) -> bool:
        """Whether the last row, on which the level was down, counts towards clearing it."""
        return True

    def configure(self, config: RunConfig) -> None:
        """Take in the run's configuration. It may come late, and may change."""

    def waiting(self) -> Waiting | None:
        """
        What keeps it from speaking of the next row; None if nothing does.

        A check with a threshold `rows_min` or `warm_up_rows` need not write this: until it
        has seen so many, by its count `rows` or by its first mean, it is warming up. One
        whose `off` is true does not judge such a run.
        """
        if getattr(self, "off", False):
            return Waiting(reason="a ratio of its values says nothing")
        limits = self.thresholds
        rows_min = int(limits.get("rows_min", limits.get("warm_up_rows", 0)))
        rows = getattr(self, "rows", None)
        if rows is None:
            rows = next((v.n for v in self.__dict__.values() if isinstance(v, Ewma)), 0)
        return Waiting(rows, rows_min) if rows < rows_min else None

    def gauge(self) -> Gauge | None:
        """What it compares just now; None if that is no number, or not known yet."""
        return None

    def to_state(self) -> dict[str, Any]:
        """What it remembers: small, JSON-able, finite numbers only."""
        return {
            name: value.to_state() if isinstance(value, Ewma) else value
            for name, value in self.__dict__.items()
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The check that `to_state` was called on."""
        check = cls()
        for name, value in state.items():
            own = getattr(check, name, None)
            if isinstance(own, Ewma):
                own.restore(value)
            elif name in MARKS and value is not None:
                setattr(check, name, Mark(*value))
            else:
                setattr(check, name, value)
        return check


def mark(row: Row) -> Mark:
    """The place of a row in its run."""
    return Mark(row.number, row.step, row.offset)


def label(name: str) -> str:
    """A key of a log, for people: short, and printable."""
    text = name[:64]
    return text if text.isprintable() else ascii(text)[1:65]
