"""The document that `tailwatch inspect --format json` prints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from .core.check import RunConfig
from .core.key_use import Use
from .core.names import escape
from .core.numbers import jsonable
from .core.observations import Observations
from .diagnose import Diagnosis
from .inspection import Inspected, Inspection
from .verdict import Verdict, suggested_map


def inspection_document(inspected: Inspected) -> dict[str, Any]:
    """All of it. What came from a file has its control characters escaped."""
    return {
        "version": 1,
        "files": [file_document(each) for each in inspected.files],
        "left_out": [
            {
                "directory": escape(each.directory),
                "files": each.count,
                "examples": [escape(path) for path in each.examples],
                "metric_files": [escape(path) for path in each.metric],
            }
            for each in inspected.left_out
        ],
        "errors": [
            {"file": escape(each.path), "reason": each.reason} for each in inspected.troubles
        ],
    }


def file_document(one: Inspection) -> dict[str, Any]:
    """What was found of one file."""
    document = {"file": escape(one.file), **_verdict(one.verdict), "followed": _followed(one)}
    if one.diagnosis is None or one.seen is None:
        return document
    trainer = one.trainer
    return {
        **document,
        "run": one.diagnosis.run,
        "trainer": trainer and {"name": trainer.name, "keys": [escape(k) for k in trainer.keys]},
        **_rows(one.diagnosis, one.seen),
        "bad_lines": bad_lines(one.diagnosis, one.seen),
        "fields": [_use(use) for use in one.seen.keys.uses.values()],
        "hints": [
            {
                "key": escape(hint.key),
                "looks_like": hint.field,
                "rows": hint.rows,
                "last": jsonable(hint.last),
            }
            for hint in one.seen.keys.hints()
        ],
        "suggested_map": {f: escape(key) for f, key in suggested_map(one.seen).items()},
        "run_config": config_document(one.diagnosis.config),
        "checks": [w.readiness()._asdict() for w in one.diagnosis.reader.monitor.watched],
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "metric_file": verdict.reason is None,
        "reason": verdict.reason,
        "message": verdict.message,
        "advice": list(verdict.advice),
    }


def _followed(one: Inspection) -> dict[str, Any] | None:
    found, why = one.followed, one.unfollowed
    if found is None:
        return None
    return {
        "yes": found.yes,
        "reason": why and why.reason,
        "message": why and why.message,
        "advice": list(why.advice) if why else [],
        "root": escape(found.root),
        "path": escape(found.relative),
        "include": found.include,
        "exclude": found.exclude,
    }


def _rows(diagnosis: Diagnosis, seen: Observations) -> dict[str, Any]:
    reader, longest = diagnosis.reader, seen.longest
    return {
        "lines": seen.lines,
        "torn_bytes": reader.received - reader.offset,
        "rows": reader.rows,
        "kinds": {kind.value: count for kind, count in seen.kinds.items()},
        "segments": reader.monitor.segment,
        "resumes": reader.monitor.resumes,
        "steps": {
            "from": seen.steps_are,
            "first": reader.first_step,
            "last": last_step(diagnosis, seen),
            "interval": seen.intervals.median,
            "without_step": seen.without_step,
            "planned": jsonable(seen.planned),
            "progress": progress_of(diagnosis, seen),
        },
        "gaps": longest
        and {
            "from": seen.clock,
            "median_s": seen.gaps.median,
            "longest_s": longest.seconds,
            "row": longest.row,
            "step": longest.step,
        },
    }


def last_step(diagnosis: Diagnosis, seen: Observations) -> int | float | None:
    """The step of the last training row, or of the last row in a file that has none."""
    last = diagnosis.reader.monitor.last
    return last.step if seen.last_step is None and last is not None else seen.last_step


def progress_of(diagnosis: Diagnosis, seen: Observations) -> float | None:
    """How far the training has come, from 0 to 1, if the rows say it."""
    last = last_step(diagnosis, seen)
    share = None
    if seen.planned and last is not None:
        share = last / seen.planned
    elif seen.percent is not None:
        share = seen.percent / 100
    return share if share is not None and 0 <= share <= 1 else None


def bad_lines(diagnosis: Diagnosis, seen: Observations) -> list[dict[str, Any]]:
    """For each reason how many there are, and the first."""
    counts = diagnosis.reader.bad_lines
    return [
        {"reason": reason, "count": counts[reason], **bad._asdict()}
        for reason, bad in seen.bad.items()
    ]


def _use(use: Use) -> dict[str, Any]:
    return {
        **asdict(use),
        "key": escape(use.key),
        "first": jsonable(use.first),
        "last": jsonable(use.last),
    }


def config_document(config: RunConfig | None) -> dict[str, Any] | None:
    """What was read of the run's configuration."""
    if config is None:
        return None
    numbers = {k: jsonable(v) for k, v in _said(config) if k != "source"}
    return {"file": config.source and escape(config.source), **numbers}


def _said(config: RunConfig) -> Iterable[tuple[str, Any]]:
    return asdict(config).items()
