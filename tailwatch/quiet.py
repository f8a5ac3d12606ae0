"""Runs that write nothing: which have come to rest, and which have stalled."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace

from .core.check import Check
from .core.check_bases import SilenceCheck
from .core.findings import Transition
from .core.silence import Silence
from .ports import Follower
from .reading import Reading, Take
from .tracked import Tracked

WRITERS_S = 30.0
"""How often all processes of the host are looked through at most."""
TOGETHER_S = 60.0
"""Runs whose last rows are no further apart fell silent together; a quarter of the silence,
if that is less: what still writes is not silent."""

RESTS_MAX = 100
"""So many runs come to rest in one sweep: thousands at once would hold up fresh rows."""

Writers = Callable[[Iterable[str]], Mapping[str, int]]


@dataclass(slots=True)
class Quiet:
    """
    Looks at the runs that are silent, once in each sweep.

    Args:
        checks: The checks of each run: their thresholds say what silence is of interest.
        reading: The files.
        follower: Lets go of files at rest.
        take: Called with what a silence gave: the file, its transitions, Unix seconds.
        writers: Path -> a process that holds it open for writing, as far as can be seen.
    """

    checks: InitVar[Sequence[type[Check]]]
    reading: Reading
    follower: Follower
    take: Take
    writers: Writers
    _looked_s: float | None = None
    _told_s: list[float] = field(default_factory=list)
    _look_s: float = math.inf
    _seek_s: float = math.inf
    _ask: list[SilenceCheck] = field(default_factory=list)

    def __post_init__(self, checks: Sequence[type[Check]]) -> None:
        for check in checks:
            if issubclass(check, SilenceCheck):
                self._look_s = min(self._look_s, check.thresholds["seconds_min"])
                self._ask.append(check())
                if check.asks_for_writer:
                    self._seek_s = check.thresholds["seconds_min"]

    def look(self, now_s: float, monotonic_s: float) -> None:
        """Let rest what has been silent for long, and judge the silences."""
        silent: list[Tracked] = []
        rests = 0
        for path, tracked in self.reading.files.items():
            if monotonic_s < tracked.look_s or tracked.name is None:
                continue
            if path in self.reading.behind or tracked.lag_bytes:
                continue
            due_s = tracked.rest_due_s()
            if due_s is not None and monotonic_s >= due_s and rests < RESTS_MAX:
                rests += 1
                self.reading.quiet_config(tracked, monotonic_s)
                self.take(tracked, tracked.rest(), now_s)
                self.follower.release(path)
            if monotonic_s - tracked.read_at_s >= self._look_s and tracked.arrivals.gaps:
                silent.append(tracked)
            else:
                tracked.look_s = self._due_s(tracked, monotonic_s)
        self._seek_writers(silent, monotonic_s)
        silences_s: list[float] = []
        for tracked in silent:
            silence = self._silence(tracked, monotonic_s)
            tracked.look_s = self._due_s(tracked, monotonic_s)
            if not self._concerns(tracked, silence):
                continue
            if transitions := tracked.reader.monitor.tick(silence):
                silences_s = silences_s or self._silences_s()
                apart_s = min(TOGETHER_S, silence.silence_s / 4)
                told = self._together(tracked, transitions, silences_s, apart_s)
                self.take(tracked, told, now_s)

    def _due_s(self, tracked: Tracked, monotonic_s: float) -> float:
        """When to look at it again (monotonic): until then nothing can be said of it."""
        rest_s = tracked.rest_due_s()
        due_s = [math.inf if rest_s is None else rest_s]
        if tracked.arrivals.gaps:
            limits_s = [check.limit_s(tracked.arrivals.usual_s) for check in self._ask]
            # What is past was asked, and what is not known then is known no better now.
            due_s += [
                s for s in (tracked.read_at_s + each for each in limits_s) if s >= monotonic_s
            ]
            if not tracked.sought_writer:
                due_s.append(tracked.read_at_s + self._seek_s)
            if any(check.check_set == "user" for check in self._ask):
                due_s.append(0.0)
        return min(due_s)

    def _concerns(self, tracked: Tracked, silence: Silence) -> bool:
        """Whether a check that is not firing would speak of this silence."""
        firing = {each.category for each in tracked.kept.summary().firing}
        return any(
            # A stranger's may remember what it has seen of its run.
            check.check_set == "user" or check.tick(silence) is not None
            for check in self._ask
            if check.category not in firing
        )

    def _silence(self, tracked: Tracked, monotonic_s: float) -> Silence:
        summary = tracked.kept.summary()
        unfinished = summary.unfinished
        if not unfinished and tracked.writer is not None:
            unfinished = f"process {tracked.writer} holds its file open"
        return Silence(
            silence_s=monotonic_s - tracked.read_at_s,
            usual_s=tracked.arrivals.usual_s,
            gaps=tracked.arrivals.gaps,
            finished=summary.finished,
            unfinished=unfinished,
        )

    def _seek_writers(self, silent: list[Tracked], monotonic_s: float) -> None:
        """Who holds the files of runs that may have stalled, looked for once in a silence."""
        wanted = [
            tracked
            for tracked in silent
            if monotonic_s - tracked.read_at_s >= self._seek_s
            if not tracked.gone and not tracked.sought_writer
        ]
        if self._looked_s is not None and monotonic_s - self._looked_s < WRITERS_S:
            return
        if wanted:
            self._looked_s = monotonic_s
            found = self.writers([tracked.path for tracked in wanted])
            for tracked in wanted:
                tracked.writer, tracked.sought_writer = found.get(tracked.path), True

    def _silences_s(self) -> list[float]:
        """Since when each unfinished run is silent, sorted: once for all that stall together."""
        return sorted(
            each.read_at_s
            for each in self.reading.files.values()
            if each.name is not None and each.arrivals.gaps
            if not each.kept.summary().finished
        )

    def _together(
        self,
        tracked: Tracked,
        transitions: list[Transition],
        silences_s: list[float],
        apart_s: float,
    ) -> list[Transition]:
        """What is said of many runs that fell silent together is said by the first one."""
        told = []
        for transition in transitions:
            if transition.category == "run_stalled":
                since_s = tracked.read_at_s
                first = bisect.bisect_left(silences_s, since_s - apart_s)
                after = bisect.bisect_right(silences_s, since_s + apart_s)
                others = after - first - 1  # Itself is one of them.
                known = any(abs(each - since_s) <= apart_s for each in self._told_s)
                self._told_s = [*self._told_s[-63:], since_s]
                if others:
                    transition = _with_others(transition, others)
                transition = replace(transition, told_elsewhere=known)
            told.append(transition)
        return told


def _with_others(transition: Transition, others: int) -> Transition:
    evidence = transition.evidence
    runs = "1 other run" if others == 1 else f"{others} other runs"
    message = f"{evidence.message}; {runs} on this host fell silent at the same time"
    values = evidence.values | {"others": others}
    return replace(transition, evidence=replace(evidence, message=message, values=values))
