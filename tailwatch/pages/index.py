"""The status page: which runs are shown, in which order, and what is said of each."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from ..core.findings import SEVERITIES
from ..core.numbers import shown
from ..messages import RUN_STATES, RunView, Snapshot, Standing
from ..ports import Archive
from .api import ordered
from .chart import spark, spark_of
from .detail import curve_of

RUNS_A_PAGE = 100
SKIPPED_SHOWN = 200
FINDINGS_SHOWN = 3
"""Of one run; its page has them all."""
QUERY_CHARS_MAX = 200
NOTHING = "none"
SORTS = ("severity", "name", "state", "step", "age", "loss")
_WORST = {severity.value: rank for rank, severity in enumerate(SEVERITIES)}


class Wish(NamedTuple):
    """What the query string asks for; what it asks wrongly is not asked."""

    state: str = ""
    severity: str = ""
    name: str = ""
    sort: str = "severity"
    down: bool = False
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Wish:
        """The wish of a query."""
        state, severity, sort = (query.get(key, "") for key in ("state", "severity", "sort"))
        page = query.get("page", "")
        return cls(
            state if state in RUN_STATES else "",
            severity if severity in (*_WORST, NOTHING) else "",
            query.get("name", "")[:QUERY_CHARS_MAX],
            sort if sort in SORTS else "severity",
            query.get("down", "") == "1",
            int(page) if page.isascii() and page.isdigit() and 0 < len(page) < 7 else 1,
        )

    def link(self, **other: Any) -> str:
        """The query string of this wish with something else in it."""
        wish = self._replace(**other)
        values = {
            "state": wish.state,
            "severity": wish.severity,
            "name": wish.name,
            "sort": "" if wish.sort == "severity" else wish.sort,
            "down": "1" if wish.down else "",
            "page": "" if wish.page == 1 else str(wish.page),
        }
        return "?" + urlencode({key: value for key, value in values.items() if value})

    def sorted_by(self, sort: str) -> str:
        """The link of a column's head: once more, and the order is reversed."""
        return self.link(sort=sort, down=self.sort == sort and not self.down, page=1)

    def wants(self, run: RunView) -> bool:
        """Whether a run is to be shown."""
        if self.state and run.state != self.state:
            return False
        if self.name and self.name.casefold() not in run.name.casefold():
            return False
        if not self.severity:
            return True
        severities = {finding.severity.value for finding in run.standing} or {NOTHING}
        return self.severity in severities


class Line(NamedTuple):
    """One run of the table."""

    run: RunView
    age_s: float | None
    findings: Sequence[Standing]
    loss: str
    loss_bad: bool
    band: str
    line: str
    broken: bool


def index(snapshot: Snapshot, archive: Archive, wish: Wish, now_s: float) -> dict[str, Any]:
    """What the template of the status page shows."""
    wanted = [run for run in snapshot.runs.values() if wish.wants(run)]
    wanted.sort(key=lambda run: run.name)
    wanted.sort(key=_ORDERS[wish.sort], reverse=wish.down)
    pages = max(1, math.ceil(len(wanted) / RUNS_A_PAGE))
    wish = wish._replace(page=min(wish.page, pages))
    some = wanted[(wish.page - 1) * RUNS_A_PAGE : wish.page * RUNS_A_PAGE]
    states = archive.states([run.name for run in some]) if some else {}
    return {
        "ready": snapshot.ready,
        "now_s": now_s,
        "wish": wish,
        "lines": [_line(run, states.get(run.name), now_s) for run in some],
        "found": len(wanted),
        "pages": pages,
        "first": (wish.page - 1) * RUNS_A_PAGE + 1,
        "runs": len(snapshot.runs),
        "states": _states(snapshot),
        "severities": _severities(snapshot),
        "nothing": NOTHING,
        "shown_max": FINDINGS_SHOWN,
        "skipped": snapshot.skipped[:SKIPPED_SHOWN],
        "skipped_total": snapshot.skipped_total,
        "health": health(snapshot, now_s),
    }


def _line(run: RunView, state: dict[str, Any] | None, now_s: float) -> Line:
    curve = curve_of(state)
    drawn = spark(curve) if curve is not None else (None, None, False)
    band, line, broken = drawn
    if not line:
        band, line = "", spark_of(run.recent)
    return Line(
        run,
        None if run.last_row_s is None else now_s - run.last_row_s,
        ordered(run),
        "" if run.loss is None else shown(run.loss),
        run.loss is not None and not math.isfinite(run.loss),
        band or "",
        line,
        broken,
    )


def _worst(run: RunView) -> tuple[int, int]:
    """The worst first, then what is alive."""
    ranks = (_WORST[finding.severity.value] for finding in run.standing)
    return min(ranks, default=len(_WORST)), RUN_STATES.index(run.state)


def _number(value: float | None) -> tuple[bool, float]:
    """What is no number last."""
    known = value is not None and not math.isnan(value)
    return not known, value if value is not None and known else 0.0


_ORDERS: dict[str, Callable[[RunView], Any]] = {
    "severity": _worst,
    "name": lambda run: run.name,
    "state": lambda run: RUN_STATES.index(run.state),
    "step": lambda run: _number(run.last_step),
    "age": lambda run: _number(None if run.last_row_s is None else -run.last_row_s),
    "loss": lambda run: _number(run.loss),
}


def _states(snapshot: Snapshot) -> dict[str, int]:
    counts = Counter(run.state for run in snapshot.runs.values())
    return {state: counts[state] for state in RUN_STATES}


def _severities(snapshot: Snapshot) -> dict[str, int]:
    counts = Counter(f.severity.value for run in snapshot.runs.values() for f in run.standing)
    return {severity: counts[severity] for severity in _WORST}


def health(snapshot: Snapshot, now_s: float) -> dict[str, Any]:
    """How tailwatch itself is."""
    totals, gauges = snapshot.totals, snapshot.gauges
    watched = [
        (key[1], key[2])
        for key, value in sorted(gauges.items())
        if key[0] == "watch_mode" and value
    ]
    oldest_s = snapshot.outbox_oldest_s
    bad = {key[1]: int(n) for key, n in sorted(totals.items()) if key[0] == "bad_lines" and n}
    return {
        "watched": watched,
        "pending": int(gauges.get(("outbox_pending",), 0)),
        "oldest_s": None if oldest_s is None else now_s - oldest_s,
        "state_errors": int(totals.get(("state_errors",), 0)),
        "bad_lines": bad,
        "check_errors": int(sum(n for key, n in totals.items() if key[0] == "check_errors")),
    }
