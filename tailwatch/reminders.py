"""What a receiver that forgets is told again: Alertmanager drops an alert that is not repeated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from .core.findings import Transition
from .core.notices import RESOLVED, Notice
from .messages import ReceiverPolicy
from .tracked import Tracked

REMINDER_S = 60.0
RESOLVED_FOR_S = 300.0
"""An Alertmanager that restarts has forgotten what it was told and not yet sent on."""
REMINDER_KEY = "tw_reminder"


@dataclass(slots=True)
class Reminder:
    """
    When one receiver is to be reminded, and of what.

    Attributes:
        policy: What it wants to be told of.
    """

    policy: ReceiverPolicy
    _due_s: float = 0.0
    # Run and category -> the end of a finding that was told, and until when it is repeated.
    _ended: dict[tuple[str, str], tuple[float, Notice]] = field(default_factory=dict)

    def due(self, monotonic_s: float) -> bool:
        """Whether the time has come."""
        return monotonic_s >= self._due_s

    def reminded(self, monotonic_s: float) -> None:
        """It was, or there was nothing to say."""
        self._due_s = monotonic_s + REMINDER_S

    def told(self, notices: Iterable[Notice], monotonic_s: float) -> None:
        """It has taken *notices*."""
        for notice in notices:
            if notice.type == RESOLVED:
                self._ended[_of(notice)] = (monotonic_s + RESOLVED_FOR_S, notice)

    def standing(self, tracked: Tracked) -> Iterator[Transition]:
        """The findings of a run that fire, and of which it was told; none if its file is gone."""
        told = any(paged.stands for paged in tracked.paged.values())
        if tracked.name is None or tracked.gone or not told:
            return
        for firing in tracked.reader.monitor.firing():
            paged = tracked.paged.get(firing.category)
            if paged and paged.stands and self.policy.wants(tracked.name, firing):
                yield firing

    def resolved(self, standing: Sequence[Notice], monotonic_s: float) -> list[Notice]:
        """The ends that are still to be repeated: not of what fires again."""
        again = {_of(notice) for notice in standing}
        self._ended = {
            what: (until_s, notice)
            for what, (until_s, notice) in self._ended.items()
            if until_s > monotonic_s and what not in again
        }
        return [notice for _, notice in self._ended.values()]


def _of(notice: Notice) -> tuple[str, str]:
    return notice.data["run"], notice.data["category"]
