"""What is shown: the counts, the durations and the view of each run, as last kept."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable

from .core.names import escape
from .messages import WATCH_MODES, RunView, Skipped, Snapshot, Standing
from .ports import Publisher
from .tracked import Tracked

SKIPPED_MAX = 1000
"""So many files that are no runs are shown; a data set may have any number."""


class Shown:
    """
    Gathers what changes during turns; publishes it as one snapshot after a commit.

    Args:
        publisher: Where the snapshots go.
        retention_s: For how long a run that has ended is shown.
        ended_max: At most so many of them; the newest.

    Attributes:
        totals: Counters, by name and label values. They outlive the process.
        gauges: Counts and seconds of this process, and the watch modes.
    """

    def __init__(self, publisher: Publisher, retention_s: float, ended_max: int) -> None:
        self._publisher = publisher
        self._retention_s, self._ended_max = retention_s, ended_max
        self._views: dict[str, RunView] = {}
        self._ended: dict[str, float] = {}
        self._skipped: tuple[Skipped, ...] = ()
        self._skipped_total = 0
        self.totals: Counter[tuple[str, ...]] = Counter()
        self.gauges: dict[tuple[str, ...], float] = {}

    def took(self, what: str, seconds: float) -> None:
        """One more *what*, and how long it took."""
        for key, more in (((f"{what}_seconds",), seconds), ((f"{what}s",), 1)):
            self.gauges[key] = self.gauges.get(key, 0) + more

    def watch_mode(self, root: str, mode: str) -> None:
        """How *root* is watched now."""
        for each in WATCH_MODES:
            self.gauges["watch_mode", root, each] = float(mode == each)

    def look(self, files: Iterable[Tracked], changed: dict[str, Tracked]) -> None:
        """Take the view of each run whose rows changed, or whose state did."""
        for tracked in files:
            if tracked.name is None:
                continue
            if self._ended:
                self._ended.pop(tracked.name, None)
            # A sweep looks at all runs: no call for each.
            gone = tracked.gone_s is not None
            state = "ended" if gone else "quiet" if tracked.at_rest else "active"
            old = self._views.get(tracked.name)
            if (
                old is None
                or old.state != state
                or old.lag_bytes != tracked.lag_bytes
                or old.trouble != tracked.complaint
                or tracked.path in changed
            ):
                self._views[tracked.name] = view_of(tracked, state)

    def skip(self, files: Iterable[Tracked]) -> None:
        """Note which of all *files* are no runs, and why."""
        reasons = {each.path: _no_run(each) for each in files if each.name is None}
        self._skipped_total = len(reasons)
        some = heapq.nsmallest(SKIPPED_MAX, reasons.items())
        self._skipped = tuple(Skipped(escape(path), reason) for path, reason in some)

    def end(self, tracked: Tracked, monotonic_s: float) -> None:
        """A run that is held no longer: its last view is all that is left to show."""
        assert tracked.name is not None
        self._views[tracked.name] = view_of(tracked, "ended")
        self._ended[tracked.name] = monotonic_s

    def expire(self, now_s: float, monotonic_s: float) -> None:
        """Show no longer what ended long ago, nor the oldest of too many; alarming ones last."""
        for name, ended_s in list(self._ended.items()):
            if monotonic_s - ended_s <= self._retention_s:
                break
            self._let_go(name)
        too_many = len(self._ended) - self._ended_max
        if too_many > 0:
            # Sorting keeps the order of age within each kind.
            calm_first = sorted(self._ended, key=lambda name: self._views[name].alarming(now_s))
            for name in calm_first[:too_many]:
                self._let_go(name)
            self.totals["ended_runs_dropped", "view"] += too_many

    def _let_go(self, name: str) -> None:
        del self._ended[name], self._views[name]

    def publish(self, *, ready: bool, pending: int, oldest_s: float | None) -> None:
        """Replace the snapshot that others read."""
        gauges = self.gauges | {("outbox_pending",): pending}
        snapshot = Snapshot(
            ready,
            dict(self._views),
            dict(self.totals),
            gauges,
            oldest_s,
            self._skipped,
            self._skipped_total,
        )
        self._publisher.publish(snapshot)


def _no_run(tracked: Tracked) -> str:
    undecided = "no row with a training field so far"
    return tracked.complaint or ("no training fields" if tracked.skipped else undecided)


def view_of(tracked: Tracked, state: str) -> RunView:
    """What is shown of a run that is in *state*."""
    assert tracked.name is not None
    summary = tracked.kept.summary()
    standing = [
        Standing(
            f.category,
            f.severity,
            f.message,
            f.suggestion,
            f.step,
            f.row,
            tracked.tallies[f.category].last_s if f.category in tracked.tallies else None,
            f.offset,
            f.segment,
            f.values,
        )
        for f in summary.firing
    ]
    return RunView(
        name=tracked.name,
        file=tracked.path,
        state=state,
        segment=summary.segment,
        rows=summary.rows,
        last_step=summary.last_step,
        loss=summary.loss,
        last_row_s=tracked.last_row_s,
        read_at_s=tracked.read_at_s,
        lag_bytes=tracked.lag_bytes,
        tallies=dict(tracked.tallies),
        standing=standing,
        recent=summary.recent,
        run_config=summary.run_config,
        first_step=summary.first_step,
        bad_lines=summary.bad_lines,
        since_s=tracked.active_s or tracked.last_row_s or tracked.last_seen_s,
        trouble=tracked.complaint,
        critical_s=_critical_s(tracked),
    )


def _critical_s(tracked: Tracked) -> float | None:
    """When a critical finding last fired, if one did."""
    told = tracked.tallies
    tallies = (told[name] for name in tracked.kept.critical() if name in told) if told else ()
    return max((t.last_s for t in tallies if t.last_s is not None), default=None)
