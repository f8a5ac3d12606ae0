"""From a transition to what is counted, kept, logged and told."""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass, field

from .core.findings import Transition
from .dispatch import Dispatch
from .messages import Commit, FindingRecord
from .ports import Log
from .tracked import Tracked


@dataclass(slots=True)
class Telling:
    """
    Count what the reads of a run gave, and see who is to be told.

    Args:
        dispatch: Tells the receivers.
        totals: The counters, by name and label values.
        log: The log.
        page_max_age_s: History is told only of a file written to within this time.
    """

    dispatch: Dispatch
    totals: Counter[tuple[str, ...]]
    log: Log
    page_max_age_s: float
    _unsaid: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def say(self) -> None:
        """Log the findings that are kept by now: what a crash takes back is not said."""
        for event, facts in self._unsaid:
            self.log.info(event, **facts)
        self._unsaid.clear()

    def take(
        self, tracked: Tracked, transitions: list[Transition], now_s: float, commit: Commit
    ) -> bool:
        """What a read or a rest gave; False while the file is no run, and all is held."""
        tracked.held += transitions
        if tracked.name is None:
            return False
        self._count_troubles(tracked)
        for transition in tracked.held:
            if not tracked.known(transition):
                self._record(tracked, transition, now_s, commit)
        tracked.held.clear()
        if tracked.history_read() and self._fresh(tracked, now_s):
            self._tell_standing(tracked, now_s, commit)
        return True

    def _count_troubles(self, tracked: Tracked) -> None:
        for reason, lines in tracked.reader.take_bad_lines().items():
            self.totals["bad_lines", reason] += lines
            if tracked.reader.bad_lines[reason] == lines:  # The first ones: said once.
                self.log.warning("bad_lines", run=tracked.name, reason=reason, lines=lines)
        for category, error in tracked.reader.monitor.take_errors():
            self.totals["check_errors", category] += 1
            self.log.error("check_quarantined", run=tracked.name, category=category, error=error)

    def _record(
        self, tracked: Tracked, transition: Transition, now_s: float, commit: Commit
    ) -> None:
        assert tracked.name is not None
        time_s = tracked.happened_s(transition, now_s)
        tracked.count(transition, time_s)
        commit.findings.append(FindingRecord(tracked.name, transition, time_s))
        facts = {
            "run": tracked.name,
            "category": transition.category,
            "severity": transition.severity.value,
            "message": transition.evidence.message,
        }
        self._unsaid.append((f"finding_{transition.kind.value}", facts))
        # History pages nobody, but for what still stands in a run that is being written to.
        if not tracked.is_history(transition) or (tracked.at_rest and self._fresh(tracked, now_s)):
            self.dispatch.tell(tracked, transition, time_s, now_s, commit)

    def _fresh(self, tracked: Tracked, now_s: float) -> bool:
        return now_s - tracked.mtime_s <= self.page_max_age_s

    def _tell_standing(self, tracked: Tracked, now_s: float, commit: Commit) -> None:
        recent = tuple(tracked.reader.monitor.recent)
        for firing in tracked.reader.monitor.firing():
            standing = dataclasses.replace(firing, recent=recent, continues=False)
            time_s = tracked.happened_s(standing, now_s)
            self.dispatch.tell(tracked, standing, time_s, now_s, commit)
