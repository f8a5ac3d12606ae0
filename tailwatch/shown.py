"""What is shown: the counts, the durations and the view of each run, as last kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from .messages import WATCH_MODES, RunView, Snapshot
from .ports import Publisher
from .tracked import Tracked


class Shown:
    """
    Gathers what changes during turns; publishes it as one snapshot after a commit.

    Attributes:
        totals: Counters, by name and label values. They outlive the process.
        gauges: Counts and seconds of this process, and the watch modes.
    """

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._views: dict[str, RunView] = {}
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
            state = "ended" if tracked.gone else "quiet" if tracked.at_rest else "active"
            old = self._views.get(tracked.name)
            same = old and (old.state, old.lag_bytes) == (state, tracked.lag_bytes)
            if not same or tracked.path in changed:
                self._views[tracked.name] = tracked.view(state)

    def forget(self, run: str) -> None:
        """Show a run no longer."""
        self._views.pop(run, None)

    def publish(self, *, ready: bool, pending: int, oldest_s: float | None) -> None:
        """Replace the snapshot that others read."""
        gauges = self.gauges | {("outbox_pending",): pending}
        snapshot = Snapshot(ready, dict(self._views), dict(self.totals), gauges, oldest_s)
        self._publisher.publish(snapshot)
