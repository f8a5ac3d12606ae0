"""What is known of one run beyond the snapshot: its curve, its checks, what fired before."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..core.check import Check, Gauge
from ..core.curve import Curve, Point, Series
from ..core.findings import Edge, FindingState
from ..core.monitor import RunMonitor
from ..core.numbers import jsonable
from ..core.watched import Watched
from ..errors import StateOutdated
from .answer import moment


class Episode(NamedTuple):
    """A finding from firing to resolving; what is not over has no end."""

    fired: Edge
    resolved: Edge | None


class Nothing:
    """An archive in which nothing is kept."""

    def states(self, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """None."""
        return {}

    def edges(self, name: str) -> list[Edge]:
        """None."""
        return []


def monitor_of(state: dict[str, Any] | None, checks: Sequence[type[Check]]) -> RunMonitor | None:
    """A run's checks and curve from its kept *state*; None if that is of other checks."""
    reader = state and state.get("reader")
    if not reader:
        return None
    try:
        return RunMonitor.from_state(checks, None, reader["monitor"])
    except (StateOutdated, LookupError, TypeError, ValueError):
        return None


def curve_of(state: dict[str, Any] | None) -> Curve | None:
    """The curve alone; None where none is kept."""
    try:
        kept = state and state["reader"]["monitor"]["curve"]
        return Curve.from_state(kept, 0) if kept else None
    except (LookupError, TypeError, ValueError):
        return None


def episodes(edges: Iterable[Edge]) -> list[Episode]:
    """What fired, in order, each with what resolved it; one that goes on is still the same."""
    found: list[Episode] = []
    newest: dict[str, int] = {}
    for edge in edges:
        at = newest.get(edge.category)
        if edge.kind == "resolved":
            if at is not None:
                found[at] = found[at]._replace(resolved=edge)
        elif edge.continues and at is not None:
            found[at] = found[at]._replace(resolved=None)
        else:
            newest[edge.category] = len(found)
            found.append(Episode(edge, None))
    return found


def history_facts(edges: Iterable[Edge]) -> list[dict[str, Any]]:
    """What fired and resolved before, as `check` has it, with the times."""
    return [
        {
            "category": fired.category,
            "severity": fired.severity,
            "message": fired.message,
            "segment": fired.segment,
            "step": jsonable(fired.step),
            "row": fired.row,
            "resolved_step": jsonable(resolved.step),
            "since": moment(fired.time_s),
            "resolved": moment(resolved.time_s),
        }
        for fired, resolved in episodes(edges)
        if resolved is not None
    ]


def check_facts(watched: Watched) -> dict[str, Any]:
    """One check of a run: whether it can speak, and how far it is from what it looks for."""
    gauge, check = gauge_of(watched), watched.check
    readiness = watched.readiness()  # After the gauge, which may have taken it out.
    pending = watched.life.state is FindingState.PENDING
    return {
        "category": check.category,
        "severity": check.severity.value,
        "state": "quarantined" if watched.quarantined else readiness.state,
        "rows": readiness.rows,
        "of": readiness.rows_min,
        "reason": readiness.reason,
        "finding": "firing" if watched.firing else "pending" if pending else "inactive",
        "pending_rows": watched.life.rows_in_level if pending else 0,
        "hold_rows": check.hold.rows,
        "compares": gauge and gauge.what,
        "value": gauge and jsonable(gauge.value),
        "threshold": gauge and jsonable(gauge.threshold),
        "above": gauge and gauge.above,
    }


def gauge_of(watched: Watched) -> Gauge | None:
    """The check's gauge; a stranger's that is none, or no number, is left out."""
    gauge = watched.ask(watched.check.gauge, None)
    if not isinstance(gauge, Gauge) or not isinstance(gauge.what, str):
        return None
    numbers = (gauge.value, gauge.threshold)
    if not all(isinstance(each, int | float) and math.isfinite(each) for each in numbers):
        return None
    return gauge if gauge.what.isprintable() else None


def curve_facts(curve: Curve) -> dict[str, Any]:
    """The curve: per field the least and the greatest of each bucket, null where there is none."""
    return {
        "first_row": curve.begin + 1,
        "rows": curve.rows,
        "rows_per_bucket": curve.width,
        "steps": [jsonable(step) for step in curve.steps],
        "fields": {name: _series_facts(series) for name, series in curve.series.items()},
        "marks": [mark._asdict() | {"step": jsonable(mark.step)} for mark in curve.marks],
    }


def _series_facts(series: Series) -> dict[str, Any]:
    buckets = series.buckets()
    return {
        "low": [rounded(low) for low, _, _ in buckets],
        "high": [rounded(high) for _, high, _ in buckets],
        "not_finite": [bad for _, _, bad in buckets],
        "first": _point_facts(series.first),
        "last": _point_facts(series.newest()),
    }


def _point_facts(point: Point) -> dict[str, Any]:
    return {"row": point.row, "step": jsonable(point.step), "value": jsonable(point.value)}


def rounded(value: float) -> float | None:
    """
    A number of a bucket without the digits that it never had.

    >>> rounded(2.0999999046325684), rounded(float("inf"))
    (2.1, None)
    """
    return float(f"{value:.7g}") if math.isfinite(value) else None
