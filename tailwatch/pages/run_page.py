"""The page of one run: its curves, what stands and stood, and how each check is doing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from ..core.check import Check, RunConfig
from ..core.curve import FIELDS, Curve
from ..core.findings import SEVERITIES, Edge
from ..core.monitor import RunMonitor
from ..core.names import escape
from ..core.numbers import shown
from ..messages import RunView
from ..ports import Archive
from .api import ordered
from .chart import chart, flags, place
from .detail import check_facts, curve_of, episodes, monitor_of

EPISODES_SHOWN = 50
FLAGS_MAX = 12
"""So many findings have their place in the drawing: more would cover it."""
NEAR = 4.0
"""Percent of the width, within which two numbers would cover each other."""
SCALES = {"log": True, "linear": False}
_FIELDS = {
    "loss": "Loss",
    "eval_loss": "Evaluation loss",
    "grad_norm": "Gradient norm",
    "learning_rate": "Learning rate",
}
_STATES = ("armed", "warming_up", "off", "quarantined")
_FINDINGS = ("firing", "pending", "inactive")


class Told(NamedTuple):
    """
    A finding, with its number in the drawing.

    Attributes:
        at: Where it is there, in percent, if it is.
        down: How many others are so near that they would cover it.
    """

    number: int
    severity: str
    category: str
    message: str
    suggestion: str
    step: int | float | None
    row: int
    segment: int
    since_s: float | None
    resolved_s: float | None
    resolved_step: int | float | None
    stands: bool
    at: float | None
    down: int = 0


def run_page(
    run: RunView,
    archive: Archive,
    checks: Sequence[type[Check]],
    scale: str,
    now_s: float,
) -> dict[str, Any]:
    """What the template of the page shows."""
    state = archive.states([run.name]).get(run.name)
    monitor, curve = monitor_of(state, checks), curve_of(state)
    told = _told(run, archive.edges(run.name), curve)
    return {
        "run": run,
        "file": escape(run.file),
        "now_s": now_s,
        "age_s": None if run.last_row_s is None else now_s - run.last_row_s,
        "charts": _charts(curve, SCALES.get(scale)),
        "curve": curve,
        "scale": scale if scale in SCALES else "",
        "flags": flags(curve, curve.marks) if curve else [],
        "told": told,
        "standing": [each for each in told if each.stands],
        "earlier": [each for each in told if not each.stands],
        "checks": _checks(monitor) if monitor else [],
        "readable": monitor is not None,
        "run_config": run.run_config and escape(run.run_config),
        "planned": monitor.config.planned_steps if monitor else None,
        "config": _config(monitor.config if monitor else None),
    }


def _charts(curve: Curve | None, logarithmic: bool | None) -> list[tuple[str, Any]]:
    if curve is None:
        return []
    there = [name for name in FIELDS if name in curve.series]
    return [(_FIELDS[name], chart(curve, curve.series[name], logarithmic)) for name in there]


def _told(run: RunView, edges: Iterable[Edge], curve: Curve | None) -> list[Told]:
    """What stands, the worst first, then what stood, the newest first."""
    over = [episode for episode in episodes(edges) if episode.resolved]
    over = over[-EPISODES_SHOWN:][::-1]
    told = [
        Told(
            *(0, s.severity.value, s.category, s.message, s.suggestion, s.step, s.row),
            *(s.segment, s.since_s, None, None, True, None),
        )
        for s in ordered(run)
    ]
    for fired, resolved in over:
        assert resolved is not None
        told.append(
            Told(
                *(0, fired.severity, fired.category, fired.message, fired.suggestion),
                *(fired.step, fired.row, fired.segment, fired.time_s),
                *(resolved.time_s, resolved.step, False, None),
            )
        )
    placed: list[Told] = []
    for number, each in enumerate(told, 1):
        at = _at(curve, each.row) if number <= FLAGS_MAX else None
        near = sum(p.at is not None and at is not None and abs(p.at - at) < NEAR for p in placed)
        placed.append(each._replace(number=number, at=at, down=near))
    return placed


def _at(curve: Curve | None, row: int) -> float | None:
    if curve is None or not curve.begin < row <= curve.begin + curve.rows:
        return None
    return place(curve, row - curve.begin - 1)


def _checks(monitor: RunMonitor) -> list[dict[str, Any]]:
    """What is nearest to firing first, then by how much there is to say."""
    facts = [_check(check_facts(watched)) for watched in monitor.watched]
    severities = [severity.value for severity in SEVERITIES]
    facts.sort(
        key=lambda each: (
            _FINDINGS.index(each["finding"]),
            _STATES.index(each["state"]),
            -each["share"],
            severities.index(each["severity"]),
        )
    )
    return facts


def _check(facts: dict[str, Any]) -> dict[str, Any]:
    value, threshold = facts["value"], facts["threshold"]
    share = -1.0
    if value is not None:
        near = (value, threshold) if facts["above"] else (threshold, value)
        # Of a value that is to stay above its threshold, the nearer it comes the worse it is.
        share = near[0] / near[1] if near[1] > 0 else float(near[0] >= near[1])
        share = min(1.0, max(0.0, share))
    side = "below" if facts["above"] else "above"
    return facts | {"share": share, "percent": round(share * 100), "healthy_side": side}


def _config(config: RunConfig | None) -> list[tuple[str, str]]:
    if config is None:
        return []
    return [
        (name.replace("_", " "), shown(value))
        for name, value in asdict(config).items()
        if name != "source" and value is not None
    ]
