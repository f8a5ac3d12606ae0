"""The documents that `--format json` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .config import Settings
from .config_receivers import Receiver
from .core.check import Check
from .core.findings import SEVERITIES, Evidence, Finding, Transition, TransitionKind
from .core.names import escape
from .core.numbers import jsonable
from .core.outbox import Outcome
from .diagnose import Diagnosis
from .targets import Trouble


def check_document(
    diagnoses: Sequence[Diagnosis], troubles: Sequence[Trouble] = ()
) -> dict[str, Any]:
    """The one document of `tailwatch check --format json`."""
    document: dict[str, Any] = {
        "version": 1,
        "runs": [_run_document(d) for d in diagnoses if not d.skipped],
        "skipped": [{"file": escape(d.file), "reason": d.skipped} for d in diagnoses if d.skipped],
    }
    if troubles:
        document["errors"] = [{"file": escape(t.path), "reason": t.reason} for t in troubles]
    return document


def _run_document(diagnosis: Diagnosis) -> dict[str, Any]:
    reader = diagnosis.reader
    last = reader.monitor.last
    return {
        "run": diagnosis.run,
        "file": escape(diagnosis.file),
        "rows": reader.rows,
        "bad_lines": reader.bad_lines.total(),
        "segments": reader.monitor.segment,
        "first_step": reader.first_step,
        "last_step": last.step if last else None,
        "run_config": config_file(diagnosis),
        "findings": [_finding_document(f) for f in ordered(diagnosis.findings)],
        "history": _history(diagnosis.transitions),
    }


def config_file(diagnosis: Diagnosis) -> str | None:
    """The file that the run's configuration was read from."""
    source = diagnosis.config.source if diagnosis.config else None
    return None if source is None else escape(source)


def ordered(findings: Sequence[Finding]) -> list[Finding]:
    """Worst first; within a severity in the order of the checks."""
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def _finding_document(finding: Finding) -> dict[str, Any]:
    return {
        "category": finding.category,
        "severity": finding.severity.value,
        "message": finding.evidence.message,
        "suggestion": finding.suggestion,
        **_place(finding.evidence),
        "evidence": {k: jsonable(v) for k, v in finding.evidence.values.items()},
    }


def _place(evidence: Evidence) -> dict[str, Any]:
    mark = evidence.mark
    return {
        "step": mark.step if mark else None,
        "row": mark.row if mark else None,
        "offset": mark.offset if mark else None,
    }


def _history(transitions: Sequence[Transition]) -> list[dict[str, Any]]:
    """What fired and resolved before the end, in the order in which it fired."""
    entries: list[dict[str, Any]] = []
    newest: dict[str, dict[str, Any]] = {}
    for t in transitions:
        if t.kind is TransitionKind.RESOLVED:
            newest[t.category]["resolved_step"] = t.mark.step
        elif t.continues:
            newest[t.category].pop("resolved_step", None)
        else:
            newest[t.category] = {
                "category": t.category,
                "severity": t.severity.value,
                "message": t.evidence.message,
                "segment": t.segment,
                "step": t.mark.step,
                "row": t.mark.row,
            }
            entries.append(newest[t.category])
    return [entry for entry in entries if "resolved_step" in entry]


def transition_document(run: str, transition: Transition) -> dict[str, Any]:
    """One line of `tailwatch replay --format json`."""
    return {
        "run": run,
        "segment": transition.segment,
        "category": transition.category,
        "severity": transition.severity.value,
        "transition": transition.kind.value,
        "row": transition.mark.row,
        "step": transition.mark.step,
        "offset": transition.mark.offset,
        "message": transition.evidence.message,
        "continues": transition.continues,
    }


def checks_document(checks: Sequence[type[Check]]) -> dict[str, Any]:
    """The document of `tailwatch checks --format json`."""
    return {"version": 1, "checks": [check_facts(check) for check in checks]}


def check_facts(check: type[Check]) -> dict[str, Any]:
    """One check, as a row of the table."""
    return {
        "category": check.category,
        "severity": check.severity.value,
        "set": check.check_set,
        "reads": list(check.reads),
        "hold_rows": check.hold.rows,
        "clear_rows": check.hold.clear_rows,
        "thresholds": dict(check.thresholds),
    }


def settings_document(settings: Settings) -> dict[str, Any]:
    """The effective settings; secrets are masked."""
    return {
        "source": settings.source,
        "paths": list(settings.paths),
        "include": list(settings.include),
        "exclude": list(settings.exclude),
        "run_pattern": settings.run_pattern.pattern if settings.run_pattern else "",
        "checks": [check.category for check in settings.checks],
        "state_dir": settings.state_dir,
        "sweep_interval": settings.sweep_interval_s,
        "backfill_page_max_age": settings.backfill_page_max_age_s,
        "run_retention": settings.run_retention_s,
        "max_exported_runs": settings.max_exported_runs,
        "textfile": settings.textfile or "",
        "web": {
            "listen": settings.listen or "none",
            "external_url": settings.external_url or "",
            "config_file": settings.web_config_file or "",
        },
        "log": {"level": settings.log_level, "format": settings.log_format},
        "fields": [
            {"paths": list(rule.paths), "map": dict(rule.map), "ignore": list(rule.ignore)}
            for rule in settings.fields.rules
        ],
        "receivers": [
            {
                "name": receiver.name,
                "type": receiver.type,
                "url": str(receiver.url),
                "secret": str(receiver.secret) if receiver.secret else "",
                "severities": sorted(receiver.severities),
                "categories": sorted(receiver.categories),
                "runs": list(receiver.runs),
                "send_resolved": receiver.send_resolved,
            }
            for receiver in settings.receivers
        ],
    }


def answers_document(results: Sequence[tuple[Receiver, Outcome]]) -> dict[str, Any]:
    """The document of `tailwatch notify-test --format json`."""
    answers = [
        {"receiver": r.name, "type": r.type, "outcome": o.kind, "detail": o.detail}
        for r, o in results
    ]
    return {"version": 1, "receivers": answers}
