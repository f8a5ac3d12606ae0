"""What `/metrics` shows: families made anew at each scrape from the last snapshot."""

from __future__ import annotations

import math
import platform
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector

from .. import __version__
from ..board import Board
from ..core.cursor import RESTART_REASONS
from ..core.names import escape
from ..core.outbox import OUTCOMES
from ..core.rows import BAD_LINE_REASONS
from ..messages import DROPPED, RUN_STATES, RunView, Snapshot

_FINDING = ("run", "category", "severity")


class Exposed(NamedTuple):
    """
    What the exposition must know beyond the snapshot.

    Attributes:
        categories: (category, severity) of every enabled check.
        receivers: The names of all receivers.
        run_retention_s: For how long a run that is at rest stays in the exposition.
        runs_max: At most so many runs; those at rest go first.
        reload_ok: Whether the last reading of the settings worked.
    """

    categories: Sequence[tuple[str, str]]
    receivers: Sequence[str]
    run_retention_s: float = 86400.0
    runs_max: int = 500
    reload_ok: Callable[[], bool] = lambda: True


class SnapshotCollector(Collector):
    """Turns a snapshot into metric families. Runs on the scrape's thread."""

    def __init__(
        self,
        board: Board,
        exposed: Exposed,
        wall: Callable[[], float],
        monotonic: Callable[[], float],
    ) -> None:
        self._board, self._exposed = board, exposed
        self._wall, self._monotonic = wall, monotonic
        self._dropped: set[str] = set()
        self._dropped_total = 0

    def describe(self) -> Iterable[Metric]:
        """Nothing, so that registering does not collect."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Every family, or none before the state is restored."""
        snapshot = self._board.snapshot
        if snapshot is None:
            return
        now_s = self._wall()
        runs = self._exported(snapshot.runs, now_s, self._monotonic())
        yield from self._findings(runs)
        yield from self._runs(runs)
        yield from self._health(snapshot, now_s)

    def _exported(
        self, runs: Mapping[str, RunView], now_s: float, monotonic_s: float
    ) -> list[RunView]:
        """
        The runs to show: not those at rest for long.

        If there are too many, first those with a critical finding that stands or is news,
        then those that are written to, then the newest.
        """
        kept = [
            run
            for run in runs.values()
            if run.state == "active"
            or monotonic_s - run.read_at_s <= self._exposed.run_retention_s
        ]
        kept.sort(
            key=lambda run: (
                not (run.alarming(now_s) or _stands(run)),
                run.state != "active",
                -run.read_at_s,
            )
        )
        dropped = {run.name for run in kept[self._exposed.runs_max :]}
        self._dropped_total += 3 * len(self._exposed.categories) * len(dropped - self._dropped)
        # Once for each run, for as long as it is known.
        self._dropped = (self._dropped | dropped) & runs.keys()
        return sorted(kept[: self._exposed.runs_max], key=lambda run: run.name)

    def _findings(self, runs: Sequence[RunView]) -> Iterator[Metric]:
        total = CounterMetricFamily(
            "anomaly_findings", "Times a finding of this category went to firing.", labels=_FINDING
        )
        active = GaugeMetricFamily(
            "anomaly_findings_active",
            "1 while a finding of this category stands.",
            labels=_FINDING,
        )
        last = GaugeMetricFamily(
            "anomaly_last_finding_timestamp_seconds",
            "When the newest finding of this category went to firing.",
            labels=_FINDING,
        )
        for run in runs:
            standing = {s.category for s in run.standing}
            for category, severity in self._exposed.categories:
                labels = (run.name, category, severity)
                tally = run.tallies.get(category)
                total.add_metric(labels, tally.total if tally else 0)
                active.add_metric(labels, int(category in standing))
                if tally and tally.last_s is not None:
                    last.add_metric(labels, tally.last_s)
        yield from (total, active, last)

    def _runs(self, runs: Sequence[RunView]) -> Iterator[Metric]:
        info = GaugeMetricFamily(
            "tailwatch_run_info",
            "1 for each run; its file, and its configuration as seen from there.",
            labels=("run", "file", "run_config"),
        )
        rows = CounterMetricFamily(
            "tailwatch_run_rows", "Rows of the run that were evaluated.", labels=("run",)
        )
        numbers: list[tuple[GaugeMetricFamily, Callable[[RunView], float | None]]] = [
            (_run_gauge("last_row_timestamp_seconds", "When the newest row was written."), _row_s),
            (_run_gauge("last_step", "The newest step."), lambda run: run.last_step),
            (_run_gauge("loss", "The newest loss; absent while it is not finite."), _loss),
            (_run_gauge("lag_bytes", "Bytes of the file not read yet."), lambda r: r.lag_bytes),
        ]
        for run in runs:
            info.add_metric((run.name, escape(run.file), _config(run)), 1)
            rows.add_metric((run.name,), run.rows)
            for family, read in numbers:
                value = read(run)
                if value is not None and math.isfinite(value):
                    family.add_metric((run.name,), value)
        yield info
        yield rows
        yield from (family for family, _ in numbers)

    def _health(self, snapshot: Snapshot, now_s: float) -> Iterator[Metric]:
        states = [run.state for run in snapshot.runs.values()]
        yield _family(
            GaugeMetricFamily("tailwatch_runs", "Runs known, by state.", labels=("state",)),
            (((state,), states.count(state)) for state in RUN_STATES),
        )
        for name, text, labels, values in self._counters():
            yield _family(
                CounterMetricFamily(f"tailwatch_{name}", text, labels=labels),
                ((value, snapshot.totals.get((name, *value), 0)) for value in values),
            )
        text = "1 for the way a path is watched."
        yield _family(
            GaugeMetricFamily("tailwatch_watch_mode", text, labels=("root", "mode")),
            (
                ((escape(key[1]), key[2]), value)
                for key, value in snapshot.gauges.items()
                if key[0] == "watch_mode"
            ),
        )
        yield from self._durations(snapshot)
        yield from self._singles(snapshot, now_s)
        yield _family(
            GaugeMetricFamily(
                "tailwatch_build_info", "1; the version.", labels=("version", "python")
            ),
            [((__version__, platform.python_version()), 1)],
        )

    def _counters(self) -> list[tuple[str, str, tuple[str, ...], list[tuple[str, ...]]]]:
        """Name, help, labels, and every value that the labels can have: all are there at 0."""
        categories = _each(category for category, _ in self._exposed.categories)
        outcomes: list[tuple[str, ...]] = [
            (r, o) for r in self._exposed.receivers for o in OUTCOMES
        ]
        taken_out = "Checks that raised and were taken out of a run."
        again = "Files that were read again from byte 0."
        ended = "Ended runs that were let go early because there are too many."
        return [
            ("bad_lines", "Lines that were no row.", ("reason",), _each(BAD_LINE_REASONS)),
            ("check_errors", taken_out, ("category",), categories),
            ("restarts", again, ("reason",), _each(RESTART_REASONS)),
            ("ended_runs_dropped", ended, ("what",), _each(DROPPED)),
            ("watch_overflows", "Times that file events were lost.", (), [()]),
            ("watcher_restarts", "Times that watching was begun anew.", (), [()]),
            ("state_errors", "Commits that failed and were tried again.", (), [()]),
            ("deliveries", "Attempts to deliver a message.", ("receiver", "outcome"), outcomes),
        ]

    @staticmethod
    def _durations(snapshot: Snapshot) -> Iterator[Metric]:
        for name, text in (
            ("sweep", "Looks at every file."),
            ("commit", "Transactions of the state on disk."),
        ):
            family = SummaryMetricFamily(f"tailwatch_{name}_duration_seconds", text)
            count = int(snapshot.gauges.get((f"{name}s",), 0))
            family.add_metric([], count, snapshot.gauges.get((f"{name}_seconds",), 0))
            yield family

    def _singles(self, snapshot: Snapshot, now_s: float) -> Iterator[Metric]:
        oldest_s = snapshot.outbox_oldest_s
        age_s = 0.0 if oldest_s is None else max(0.0, now_s - oldest_s)
        pending = snapshot.gauges.get(("outbox_pending",), 0)
        reload_ok = int(self._exposed.reload_ok())
        for name, text, value in (
            ("outbox_pending", "Notices not delivered yet.", pending),
            ("outbox_oldest_age_seconds", "Age of the oldest notice not delivered yet.", age_s),
            ("config_reload_success", "1 if the last reading of the settings worked.", reload_ok),
        ):
            yield GaugeMetricFamily(f"tailwatch_{name}", text, value=value)
        closed = "Connections to this server that were closed early: too many, or too slow."
        value = self._board.connections_dropped
        yield CounterMetricFamily("tailwatch_http_connections_dropped", closed, value=value)
        failed = "Times that the text file for node_exporter could not be written."
        value = self._board.textfile_errors
        yield CounterMetricFamily("tailwatch_textfile_errors", failed, value=value)
        text = "Series left out because there are too many runs."
        yield CounterMetricFamily("tailwatch_series_dropped", text, value=self._dropped_total)


def make_registry(
    board: Board,
    exposed: Exposed,
    wall: Callable[[], float],
    monotonic: Callable[[], float],
    *,
    process: bool = True,
) -> CollectorRegistry:
    """A registry of our own metrics and, unless told otherwise, those of this process."""
    registry = CollectorRegistry()
    registry.register(SnapshotCollector(board, exposed, wall, monotonic))
    if process:
        ProcessCollector(registry=registry)
    return registry


def _stands(run: RunView) -> bool:
    return any(s.severity.value == "critical" for s in run.standing)


def _config(run: RunView) -> str:
    """Without the host's directories, which would make a long label of what `file` says."""
    if run.run_config is None:
        return ""
    return escape(posixpath.relpath(run.run_config, posixpath.dirname(run.file)))


def _row_s(run: RunView) -> float | None:
    return run.last_row_s


def _loss(run: RunView) -> float | None:
    return run.loss


def _run_gauge(name: str, text: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"tailwatch_run_{name}", text, labels=("run",))


def _each(values: Iterable[str]) -> list[tuple[str, ...]]:
    return [(value,) for value in values]


def _family(
    family: GaugeMetricFamily | CounterMetricFamily,
    samples: Iterable[tuple[Sequence[str], float]],
) -> Metric:
    for labels, value in samples:
        family.add_metric(labels, value)
    return family
