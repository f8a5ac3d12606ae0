"""What `tailwatch status` prints for a person."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from .core.findings import SEVERITIES, Severity
from .core.names import escape
from .core.numbers import shown
from .core.sparkline import sparkline
from .terminal import severity_text, table, wrapped

BROAD = 120
"""In fewer cells findings have no column of their own: they stand below their run."""
_CURVE, _CURVE_NARROW = 30, 12


def status_text(document: dict[str, Any], now_s: float, width: int | None = None) -> str:
    """The document as a table, one line for each finding; in *width* cells, if there is one."""
    broad = width is None or width >= BROAD
    curve = _CURVE if width is None or width > BROAD + _CURVE else _CURVE_NARROW
    counts = dict.fromkeys(SEVERITIES, 0)
    rows: list[tuple[str, ...]] = [
        ("RUN", "STATE", "STEP", "LOSS", "RECENT", "LAST ROW", "FINDINGS")
    ]
    found: list[list[str]] = []
    for run in document["runs"]:
        findings = [_finding(each, counts) for each in run["findings"]]
        if run.get("trouble"):
            findings.insert(0, escape(run["trouble"]))
        found.append(findings)
        facts = _facts(run, now_s, curve)
        rows.append((*facts, (findings or ["nothing"])[0]))
        rows += [(*[""] * len(facts), each) for each in findings[1:] if broad]
    lines = table(rows, width) if broad else _stacked(rows, found, width)
    said = ", ".join(f"{count} {severity.value}" for severity, count in counts.items())
    runs = len(document["runs"])
    return "\n".join([*lines, f"{runs} run{'s' * (runs != 1)}: {said}"])


def _stacked(rows: list[tuple[str, ...]], found: list[list[str]], width: int | None) -> list[str]:
    """One line for each run, and below it what was found."""
    head, *lines = table([row[:-1] for row in rows], width)
    stacked = [head]
    for line, findings in zip(lines, found, strict=True):
        stacked.append(line)
        for finding in findings:
            stacked += wrapped(f"  {finding}", width)
    return stacked


def _facts(run: dict[str, Any], now_s: float, curve: int) -> tuple[str, ...]:
    return (
        escape(run["run"]),
        escape(run["state"]),
        _number(run["last_step"]),
        _number(run["loss"]),
        sparkline(run.get("recent", ()), curve),
        _ago(run["last_row_time"], now_s),
    )


def _finding(finding: dict[str, Any], counts: dict[Severity, int]) -> str:
    severity = Severity(finding["severity"])
    counts[severity] += 1
    return f"{severity_text(severity)} {escape(finding['category'])}: {escape(finding['message'])}"


def _number(value: Any) -> str:
    return shown(value) if isinstance(value, (int, float)) else str(value or "")


def _ago(moment: str | None, now_s: float) -> str:
    """
    How long ago a time was.

    >>> [_ago("1970-01-01T00:00:00Z", s) for s in (-1, 59, 3599, 86399, 864000)]
    ['0 s ago', '59 s ago', '59 min ago', '23 h ago', '10 d ago']
    """
    if not moment:
        return ""
    age_s = max(0, int(now_s - datetime.fromisoformat(moment).timestamp()))
    for unit, seconds in (("d", 86400), ("h", 3600), ("min", 60)):
        if age_s >= seconds:
            return f"{age_s // seconds} {unit} ago"
    return f"{age_s} s ago"
