"""The documents of `/api/v1/`: the same fields as `tailwatch check --format json`, and more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.check import Check
from ..core.findings import SEVERITIES
from ..core.names import escape
from ..core.numbers import jsonable
from ..messages import RunView, Snapshot, Standing
from ..ports import Archive
from .answer import moment
from .detail import check_facts, curve_facts, curve_of, history_facts, monitor_of


def runs_document(snapshot: Snapshot) -> dict[str, Any]:
    """Every run by name, and the files that are none."""
    return {
        "version": 1,
        "runs": [run_facts(run) for _, run in sorted(snapshot.runs.items())],
        "skipped": [skipped._asdict() for skipped in snapshot.skipped],
        "skipped_total": snapshot.skipped_total,
    }


def findings_document(snapshot: Snapshot) -> dict[str, Any]:
    """What stands now in any run, the worst first."""
    found = [
        (SEVERITIES.index(finding.severity), name, finding)
        for name, run in snapshot.runs.items()
        for finding in run.standing
    ]
    found.sort(key=lambda each: each[:2])
    return {
        "version": 1,
        "findings": [{"run": name, **finding_facts(finding)} for _, name, finding in found],
    }


def run_document(run: RunView, archive: Archive, checks: Sequence[type[Check]]) -> dict[str, Any]:
    """One run with all that is kept of it; what cannot be read now is null."""
    state = archive.states([run.name]).get(run.name)
    monitor, curve = monitor_of(state, checks), curve_of(state)
    return {
        "version": 1,
        **run_facts(run),
        "history": history_facts(archive.edges(run.name)),
        "checks": monitor and [check_facts(watched) for watched in monitor.watched],
        "curve": curve and curve_facts(curve),
    }


def run_facts(run: RunView) -> dict[str, Any]:
    """One run."""
    return {
        "run": run.name,
        "file": escape(run.file),
        "rows": run.rows,
        "bad_lines": run.bad_lines,
        "segments": run.segment,
        "first_step": jsonable(run.first_step),
        "last_step": jsonable(run.last_step),
        "run_config": None if run.run_config is None else escape(run.run_config),
        "findings": [finding_facts(finding) for finding in ordered(run)],
        "state": run.state,
        "since": moment(run.since_s),
        "segment": run.segment,
        "last_row_time": moment(run.last_row_s),
        "loss": jsonable(run.loss),
        "recent": list(run.recent),
        "lag_bytes": run.lag_bytes,
        "trouble": run.trouble or None,
    }


def ordered(run: RunView) -> list[Standing]:
    """The findings that stand, the worst first; within a severity in the order of the checks."""
    return sorted(run.standing, key=lambda finding: SEVERITIES.index(finding.severity))


def finding_facts(finding: Standing) -> dict[str, Any]:
    """One finding that stands."""
    return {
        "category": finding.category,
        "severity": finding.severity.value,
        "message": finding.message,
        "suggestion": finding.suggestion,
        "step": jsonable(finding.step),
        "row": finding.row,
        "offset": finding.offset,
        "evidence": {key: jsonable(value) for key, value in finding.evidence.items()},
        "state": "firing",
        "since": moment(finding.since_s),
        "segment": finding.segment,
    }
