"""Findings: what a check saw, and how a level on each row becomes a state with edges."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, NamedTuple

REOPEN_ROWS = 50
"""Rows after resolving within which a finding that fires again is still the old one."""


class Severity(enum.Enum):
    """How bad. *critical*: compute is being wasted now. *warning*: look today. *info*: a fact."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


SEVERITIES = tuple(Severity)
"""Worst first: the order of findings everywhere."""


class FindingState(enum.Enum):
    """The states of a finding, in the words of Prometheus."""

    INACTIVE = "inactive"
    PENDING = "pending"
    FIRING = "firing"


class Mark(NamedTuple):
    """A place in a run: which row, its step, the byte offset of its line."""

    row: int
    step: int | float
    offset: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """
    What a check saw, in the words and numbers of the rows.

    Attributes:
        message: One line for a person: the fact, the numbers, the step.
        values: The numbers behind it, by name. May hold NaN.
        mark: The row it speaks of; None if there is none.
    """

    message: str
    values: dict[str, float]
    mark: Mark | None


STANDS = Evidence("it stands", {}, None)
"""Of a level that is still up, where nobody asks for more."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a run, as `check` prints it."""

    category: str
    severity: Severity
    suggestion: str
    evidence: Evidence


class TransitionKind(enum.Enum):
    """The two edges that anyone is told of."""

    FIRING = "firing"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True)
class Transition:
    """
    An edge in a finding's life. The only thing that leaves the pure core.

    Attributes:
        mark: The row at which it happened.
        continues: It fires again so soon that it is still the old finding:
            nothing is counted and nobody is told.
        era: Grows with every new segment and every resume of the trainer.
        recent: The last finite losses up to this row, oldest first.
        timestamp_s: The row's own time in Unix seconds, where the trainer wrote one.
        told_elsewhere: It counts, and what another run's page says is enough.
    """

    category: str
    severity: Severity
    kind: TransitionKind
    segment: int
    mark: Mark
    evidence: Evidence
    suggestion: str
    continues: bool = False
    era: int = 0
    recent: tuple[float, ...] = ()
    timestamp_s: float | None = None
    told_elsewhere: bool = False


class Edge(NamedTuple):
    """A finding that fired or resolved, as it is kept."""

    segment: int
    category: str
    severity: str
    kind: str
    continues: bool
    time_s: float
    row: int
    step: int | float | None
    message: str
    suggestion: str


class Hold(NamedTuple):
    """
    How long a level must last.

    Attributes:
        rows: Rows running with the level up before pending becomes firing.
            0: only a run at rest is told of.
        clear_rows: Rows running with the level down before firing resolves.
            None: never, within its segment.
    """

    rows: int
    clear_rows: int | None


@dataclass(slots=True)
class Lifecycle:
    """
    Turn a check's level (up or down, a row at a time) into edges.

    Counts rows that carry the check's fields; other rows do not reach it.

    >>> life = Lifecycle(Hold(rows=2, clear_rows=2))
    >>> [life.advance(up) for up in (True, True, False, False)]
    ... # doctest: +NORMALIZE_WHITESPACE
    [None, <TransitionKind.FIRING: 'firing'>, None, <TransitionKind.RESOLVED: 'resolved'>]
    >>> [life.advance(up) for up in (True, True)], life.continues
    ([None, <TransitionKind.FIRING: 'firing'>], True)

    Attributes:
        calm: Whether it is inactive, and one more row with the level down changes nothing.
    """

    hold: Hold
    state: FindingState = FindingState.INACTIVE
    rows_in_level: int = 0
    rows_since_resolved: int | None = None
    continues: bool = field(default=False)
    calm: bool = field(init=False)

    def __post_init__(self) -> None:
        """It may be one that was kept."""
        self._settle()

    def _settle(self) -> None:
        self.calm = self.state is FindingState.INACTIVE and self.rows_since_resolved is None

    def advance(self, up: bool, *, hovers: bool = False) -> TransitionKind | None:
        """
        Take in the level of one row; return the edge it makes, if any.

        *hovers*: it is down, but not far enough to count towards clearing.
        """
        if self.rows_since_resolved is not None:
            self.rows_since_resolved += 1
            if self.rows_since_resolved > REOPEN_ROWS:
                self.rows_since_resolved = None
        if self.state is FindingState.FIRING:
            return self._while_firing(up or hovers)
        if not up:
            self.state, self.rows_in_level = FindingState.INACTIVE, 0
            self._settle()
            return None
        self.state, self.calm = FindingState.PENDING, False
        self.rows_in_level += 1
        if 0 < self.hold.rows <= self.rows_in_level:
            return self._fire()
        return None

    def rest(self, up: bool) -> TransitionKind | None:
        """The run ended or went quiet: what was pending, or is only said at rest, fires."""
        if self.state is FindingState.FIRING or not up:
            return None
        return self._fire()

    def resolve(self) -> TransitionKind | None:
        """End a firing finding for a reason other than its level."""
        if self.state is not FindingState.FIRING:
            return None
        self.state, self.rows_in_level, self.rows_since_resolved = FindingState.INACTIVE, 0, 0
        return TransitionKind.RESOLVED

    def rearm(self) -> None:
        """The trainer resumed: what fires from here on is a new finding."""
        self.rows_since_resolved = None
        self._settle()

    def _while_firing(self, up: bool) -> TransitionKind | None:
        if up or self.hold.clear_rows is None:
            self.rows_in_level = 0
            return None
        self.rows_in_level += 1
        return self.resolve() if self.rows_in_level >= self.hold.clear_rows else None

    def _fire(self) -> TransitionKind:
        self.continues = self.rows_since_resolved is not None
        self.state, self.rows_in_level, self.rows_since_resolved = FindingState.FIRING, 0, None
        self.calm = False
        return TransitionKind.FIRING

    def to_state(self) -> list[Any]:
        """A short list, for `from_state`."""
        return [self.state.value, self.rows_in_level, self.rows_since_resolved, self.continues]

    @classmethod
    def from_state(cls, hold: Hold, state: list[Any]) -> Lifecycle:
        """The lifecycle that `to_state` was called on."""
        name, rows, since, continues = state
        return cls(hold, FindingState(name), rows, since, continues)
