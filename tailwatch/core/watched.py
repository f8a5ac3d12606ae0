"""A check at work in one run: its lifecycle, and what it said."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from ..errors import StateOutdated
from .check import Check
from .findings import Evidence, Lifecycle, Mark, Transition, TransitionKind
from .rows import Row

T = TypeVar("T")
_WORDS = {
    "loss": ("a loss", "losses"),
    "eval_loss": ("an evaluation loss", "evaluation losses"),
    "grad_norm": ("a gradient norm", "gradient norms"),
    "entropy": ("an entropy", "entropies"),
    "elapsed_s": ("an elapsed time", "elapsed times"),
    "step_time_s": ("a step time", "step times"),
    "kl": ("a KL", "KLs"),
}


class Readiness(NamedTuple):
    """
    Whether a check can speak of the next row.

    Attributes:
        state: "armed", "warming_up" or "off".
        reason: In words, if it is not armed.
        rows: How many rows it has had of those that it warms up for.
        rows_min: How many those are; 0 unless it is warming up.
    """

    category: str
    state: str
    reason: str = ""
    rows: int = 0
    rows_min: int = 0


@dataclass(slots=True)
class Watched:
    """
    A check of one run, its lifecycle, and what its firing finding said.

    Attributes:
        error: What kind of error it raised, until that was asked for.
        update: The check's own; its `still_up` while its finding fires; once it is taken out, one
            that says nothing.
        fed: A row of this segment had what it reads.
        pending: What it said on the last row, while that is not yet firing.
    """

    check: Check
    life: Lifecycle
    firing: Transition | None = None
    quarantined: bool = False
    pending: Evidence | None = None
    fed: bool = False
    error: str = ""
    update: Callable[[Row], Evidence | None] = field(init=False)

    def __post_init__(self) -> None:
        """What rows are given to is looked up once."""
        self._choose()

    def _choose(self) -> None:
        told = self.check.update if self.firing is None else self.check.still_up
        self.update = _nothing if self.quarantined else told

    def turn(self, transition: Transition) -> None:
        """Its finding fires, or has resolved."""
        self.firing = transition if transition.kind is TransitionKind.FIRING else None
        self._choose()

    def ask(self, question: Callable[[], T], default: T) -> T:
        """What the check answers; one that raises is taken out, and *default* stands for it."""
        if self.quarantined:
            return default
        try:
            return question()
        except MemoryError:  # Not the check's fault, and it would be taken out for good.
            raise
        except Exception as error:
            self.fail(error)
            return default

    def fail(self, error: Exception) -> None:
        """It raised: it is out for this segment."""
        self.quarantined, self.error = True, type(error).__name__
        self._choose()

    def readiness(self) -> Readiness:
        """Whether it can speak of the next row, and if not, why."""
        check = self.check
        if self.quarantined:
            return Readiness(check.category, "off", "it failed, and was taken out of this segment")
        reads = check.reads or check.reads_any
        if reads and not self.fed:
            wanted = (" and " if check.reads else " or ").join(in_words(n)[0] for n in reads)
            return Readiness(check.category, "off", f"no row has {wanted}")
        waiting = self.ask(check.waiting, None)
        if waiting is None:
            return Readiness(check.category, "armed")
        if not waiting.rows_min:
            return Readiness(check.category, "off", waiting.reason)
        noun = in_words(check.reads[0])[1] if check.reads else "rows"
        return Readiness(
            check.category,
            "warming_up",
            f"{waiting.rows} of {waiting.rows_min} {noun}",
            waiting.rows,
            waiting.rows_min,
        )

    def to_state(self) -> list[Any]:
        """What to keep across a restart, for `from_state`: values without their names."""
        firing, pending = self.firing, self.pending
        values = self.ask(self._values, None)
        return [
            rule_version(type(self.check)),
            values,
            self.life.to_state(),
            self.quarantined,
            self.fed,
            pending and [pending.message, pending.values, pending.mark],
            firing
            and [
                firing.segment,
                firing.mark,
                [firing.evidence.message, firing.evidence.values, firing.evidence.mark],
                firing.continues,
                firing.timestamp_s,
            ],
        ]

    def _values(self) -> list[Any]:
        values = list(self.check.to_state().values())
        if self.check.check_set == "user":  # A stranger's: what cannot be written stops us all.
            json.dumps(values)
        return values

    @classmethod
    def from_state(cls, check: type[Check], saved: Any) -> Watched:
        """
        What `to_state` was called on.

        Raises:
            StateOutdated: The state is of another version of the check.
        """
        if not isinstance(saved, list) or saved[0] != rule_version(check):
            raise StateOutdated(f"{check.category}: its rule has changed")
        _, values, life, quarantined, fed, pending, firing = saved
        if firing is not None:
            segment, mark, evidence, continues, timestamp_s = firing
            firing = Transition(
                category=check.category,
                severity=check.severity,
                kind=TransitionKind.FIRING,
                segment=segment,
                mark=Mark(*mark),
                evidence=_evidence(evidence),
                suggestion=check.suggestion,
                continues=continues,
                timestamp_s=timestamp_s,
            )
        made = cls(
            check(),
            Lifecycle.from_state(check.hold, life),
            firing,
            quarantined or values is None,
            pending and _evidence(pending),
            fed,
        )
        made.check = made.ask(lambda: check.from_state(_named(check, values)), made.check)
        made._choose()
        return made


def _nothing(row: Row) -> None:
    """What a check that was taken out says of a row."""


def _named(check: type[Check], values: list[Any]) -> dict[str, Any]:
    names = _NAMES.get(check)
    if names is None:
        names = _NAMES[check] = tuple(check().to_state())
    return dict(zip(names, values, strict=True))


# What each check's state consists of: asked once, and not for each of thousands of runs.
_NAMES: WeakKeyDictionary[type[Check], tuple[str, ...]] = WeakKeyDictionary()
_VERSIONS: dict[tuple[Any, ...], int] = {}


def rule_version(check: type[Check]) -> int:
    """Tell states apart that mean something else: by the rule, its thresholds, its names."""
    limits = check.thresholds
    key = (check, check.state_version, check.hold, *limits, *limits.values())
    if key not in _VERSIONS:
        rule = (check.state_version, sorted(limits.items()), check.hold, list(check().to_state()))
        _VERSIONS[key] = zlib.crc32(repr(rule).encode())
    return _VERSIONS[key]


def _evidence(saved: list[Any]) -> Evidence:
    message, values, mark = saved
    return Evidence(message, values, mark and Mark(*mark))


def inspect(evidence: Evidence) -> None:
    """Raise TypeError for what a stranger's check says, if it cannot be told to anyone."""
    sound = isinstance(evidence, Evidence) and isinstance(evidence.message, str)
    if not sound or not all(isinstance(v, (int, float)) for v in evidence.values.values()):
        raise TypeError("no evidence")
    if not evidence.message.isprintable() or not isinstance(evidence.mark, Mark | None):
        raise TypeError("no evidence")


def in_words(field: str) -> tuple[str, str]:
    """
    One of a canonical field, and several.

    >>> in_words("loss"), in_words("learning_rate")
    (('a loss', 'losses'), ('a learning rate', 'learning rates'))
    """
    words = field.replace("_", " ")
    return _WORDS.get(field, (f"a {words}", f"{words}s"))
