"""What `tailwatch bench` prints: tables for people, Markdown for documents, JSON for programs."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from ..core.findings import SEVERITIES, Severity
from .score import OURS, Score, Tally

_WIDTH = 88
Cells = Sequence[str]


def text(score: Score) -> str:
    """The tables for a person, in at most 100 columns."""
    said, quiet = _findings(score)
    parts = [f"{_count(score.runs, 'run')}, {_count(score.rows, 'row')}, seed {score.seed}"]
    parts.append("Findings in the logs as they are\n" + _columns(_FINDINGS_HEAD, said))
    if quiet:
        parts.append(textwrap.fill("no finding: " + ", ".join(quiet), _WIDTH))
    title = "Faults put into them: share found, and the median row of the fault at which"
    parts.append(title + "\n" + _columns(*_faults(score)))
    if failed := _failures(score):
        parts.append(failed)
    return "\n\n".join(parts)


def markdown(score: Score) -> str:
    """The same tables in Markdown."""
    said, quiet = _findings(score)
    parts = [f"{_count(score.runs, 'run')}, {_count(score.rows, 'row')}, seed {score.seed}:"]
    parts.append(_pipes(_FINDINGS_HEAD, said))
    if quiet:
        names = ", ".join(f"`{name}`" for name in quiet)
        parts.append(textwrap.fill(f"No finding: {names}.", 100))
    parts.append(_pipes(*_faults(score)))
    if failed := _failures(score):
        parts.append(failed)
    return "\n\n".join(parts)


def document(score: Score) -> dict[str, Any]:
    """The one document of `tailwatch bench --format json`."""
    return {
        "version": 1,
        "seed": score.seed,
        "runs": score.runs,
        "rows": score.rows,
        "severities": {s.value: _tally(score.of_severity(s)) for s in SEVERITIES},
        "checks": {
            name: {"severity": score.severities[name].value, **_tally(tally)}
            for name, tally in score.checks.items()
        },
        "rivals": {name: _tally(tally) for name, tally in score.rivals.items()},
        "faults": {
            name: {
                "within_rows": fault.within_rows,
                "tried": fault.tried,
                "runs": len(fault.runs),
                "found": {
                    rule: {
                        "share": fault.share(rule),
                        "median_rows": found.median_rows,
                        "by": dict(sorted(found.by.items())),
                    }
                    for rule, found in fault.rules.items()
                },
            }
            for name, fault in score.faults.items()
        },
        "failed": dict(score.failed),
    }


def _tally(tally: Tally) -> dict[str, Any]:
    return {
        "findings": tally.findings,
        "per_1000_rows": tally.per_1000_rows,
        "runs_touched": len(tally.touched),
        "runs": tally.runs,
        "rows": tally.rows,
    }


_FINDINGS_HEAD = ("check", "severity", "findings", "per 1,000 rows", "runs touched", "rows")


def _findings(score: Score) -> tuple[list[Cells], list[str]]:
    """The rows of the table of findings, and the checks without any."""
    rows, quiet = [], []
    for name, tally in score.checks.items():
        if tally.findings:
            rows.append(_finding(name, score.severities[name].value, tally))
        else:
            quiet.append(name)
    for severity in (Severity.CRITICAL, Severity.WARNING):
        total = score.of_severity(severity)
        rows.append(_finding(f"all {severity.value}", severity.value, total))
    rows += [_finding(name, "a rival", tally) for name, tally in score.rivals.items()]
    return rows, quiet


def _finding(name: str, severity: str, tally: Tally) -> Cells:
    touched = f"{len(tally.touched)} of {tally.runs}"
    rate = f"{tally.per_1000_rows:.2f}"
    return name, severity, f"{tally.findings}", rate, touched, f"{tally.rows:,}"


def _faults(score: Score) -> tuple[Cells, list[Cells]]:
    """The head and the rows of the table of faults; who found them, if there is no rival."""
    rules = [rule.name for rule in score.rules]
    alone = rules == [OURS]
    head = ["fault", "rows", "tried", *rules, *(["found by"] if alone else [])]
    rows: list[Cells] = []
    for name, fault in score.faults.items():
        tried = f"{fault.tried} in {len(fault.runs)}"
        cells = [name, str(fault.within_rows or "any"), tried]
        for rule, found in fault.rules.items():
            median = found.median_rows
            share = f"{100 * fault.share(rule):.0f}%" if fault.tried else "-"
            cells.append(share if median is None else f"{share} @{median:.0f}")
        if alone:
            by = fault.rules[OURS].by.most_common()
            cells.append(", ".join(f"{category} {count}" for category, count in by))
        rows.append(cells)
    return head, rows


def _failures(score: Score) -> str:
    failed = ", ".join(f"{name} in {_count(n, 'run')}" for name, n in score.failed.items())
    return f"checks that failed: {failed}" if failed else ""


def _columns(head: Cells, rows: Sequence[Cells]) -> str:
    widths = [max(len(row[n]) for row in (head, *rows)) for n in range(len(head))]
    lines = []
    for row in (head, *rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _pipes(head: Cells, rows: Sequence[Cells]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
