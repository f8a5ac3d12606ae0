"""What the commands print for people."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import click

from .config import Settings
from .config_receivers import Receiver
from .core.check import Check
from .core.findings import Severity, Transition
from .core.names import escape
from .core.numbers import shown
from .core.outbox import Outcome
from .core.sparkline import sparkline
from .diagnose import Diagnosis
from .documents import config_file, ordered, settings_document
from .terminal import severity_text, table


def check_report(diagnoses: Sequence[Diagnosis]) -> str:
    """What `tailwatch check` prints."""
    lines: list[str] = []
    counts = dict.fromkeys(Severity, 0)
    runs = [d for d in diagnoses if not d.skipped]
    for diagnosis in runs:
        lines.append(_headline(diagnosis))
        for finding in ordered(diagnosis.findings):
            counts[finding.severity] += 1
            lines.append(
                f"  {severity_text(finding.severity)} {finding.category}: "
                f"{escape(finding.evidence.message)}"
            )
            lines.append(f"    {finding.suggestion}")
        if not diagnosis.findings:
            lines.append("  nothing found")
        if said := _configuration(diagnosis):
            lines.append(said)
    for diagnosis in diagnoses:
        if diagnosis.skipped:
            lines.append(f"skipped {escape(diagnosis.file)}: {diagnosis.skipped}")
    said = ", ".join(f"{count} {severity.value}" for severity, count in counts.items())
    lines.append(f"{_plural(len(runs), 'run')}: {said}")
    return "\n".join(lines)


def _headline(diagnosis: Diagnosis) -> str:
    reader = diagnosis.reader
    facts = [_plural(reader.rows, "row")]
    if reader.monitor.last is not None:
        facts.append(f"steps {shown(reader.first_step)} to {shown(reader.monitor.last.step)}")
    if reader.monitor.segment > 1:
        facts.append(_plural(reader.monitor.segment, "segment"))
    if bad := reader.bad_lines.total():
        reasons = ", ".join(f"{n} {reason}" for reason, n in sorted(reader.bad_lines.items()))
        facts.append(f"{_plural(bad, 'bad line')} ({reasons})")
    curve = sparkline(list(reader.monitor.recent))
    return f"{click.style(diagnosis.run, bold=True)}  {', '.join(facts)}  {curve}".rstrip()


def _configuration(diagnosis: Diagnosis) -> str:
    """What is known of the run's configuration: the numbers, and nothing else of the file."""
    config, file = diagnosis.config, config_file(diagnosis)
    if config is None or file is None:
        return ""
    facts = []
    if config.learning_rate is not None:
        facts.append(f"learning rate {shown(config.learning_rate)}")
    if config.planned_steps is not None:
        facts.append(f"{config.planned_steps} steps planned")
    return f"  configured in {file}: {', '.join(facts) or 'neither rate nor steps'}"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def transition_line(run: str, transition: Transition) -> str:
    """One line of `tailwatch replay`."""
    edge = transition.kind.value + (" again" if transition.continues else "")
    return (
        f"{run}  row {transition.mark.row}, step {shown(transition.mark.step)}: "
        f"{severity_text(transition.severity)} {transition.category} {edge}: "
        f"{escape(transition.evidence.message)}"
    )


def checks_table(checks: Sequence[type[Check]], width: int | None = None) -> str:
    """What `tailwatch checks` prints; in *width* cells, if there is one."""
    rows = [("CATEGORY", "SEVERITY", "HOLD", "CLEAR", "THRESHOLDS")]
    for check in checks:
        hold = str(check.hold.rows) if check.hold.rows else "at rest"
        clear = "never" if check.hold.clear_rows is None else str(check.hold.clear_rows)
        clear = clear if check.hold.rows else "next row"
        limits = ", ".join(f"{k} {shown(v)}" for k, v in check.thresholds.items()) or "none"
        rows.append((check.category, severity_text(check.severity), hold, clear, limits))
    return "\n".join(table(rows, width))


def explanation(check: type[Check]) -> str:
    """What `tailwatch explain CATEGORY` prints."""
    hold, clear = check.hold.rows, check.hold.clear_rows
    fires = f"after {_plural(hold, 'row')}" if hold else "when the run has ended or gone quiet"
    ends = "never, within its segment" if clear is None else f"after {_plural(clear, 'row')}"
    doc = inspect.getdoc(check) or ""
    return (
        f"{check.category} ({check.severity.value})\n\n{doc}\n\n"
        f"What to do:\n    {check.suggestion}\n\nFires {fires}; resolves {ends}."
    )


def settings_text(settings: Settings) -> str:
    """The same for a person."""
    lines: list[str] = []
    for key, value in settings_document(settings).items():
        if isinstance(value, dict):
            lines += [f"{key}.{name} = {_value(each)}" for name, each in value.items()]
        elif key == "receivers":
            for number, receiver in enumerate(value):
                lines += [f"receivers[{number}].{k} = {_value(v)}" for k, v in receiver.items()]
        else:
            lines.append(f"{key} = {_value(value)}")
    return "\n".join(lines)


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(str(each) for each in value) or "(none)"
    return "(none)" if value in ("", None) else str(value)


def answers_text(results: Sequence[tuple[Receiver, Outcome]]) -> str:
    """What each receiver answered to a test."""
    return "\n".join(
        f"{receiver.name} ({receiver.type}): "
        f"{'delivered' if outcome.kind == 'delivered' else 'failed'}, {outcome.detail}"
        for receiver, outcome in results
    )
