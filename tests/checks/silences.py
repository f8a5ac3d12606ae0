"""What both checks of silences keep to, for their tests."""

from __future__ import annotations

from tailwatch.core.check_bases import SilenceCheck
from tailwatch.core.monitor import RunMonitor
from tailwatch.core.rows import Row
from tailwatch.core.silence import Silence

WRITER = "a process holds its file open"


def said(check: type[SilenceCheck], silence: Silence) -> str | None:
    """What a check says of a silence."""
    evidence = check().tick(silence)
    return evidence and evidence.message


def life(check: type[SilenceCheck], silences: list[Silence | None]) -> str:
    """The edges of a run in which rows (None) and silences come: F firing, R resolved, C continues."""
    monitor = RunMonitor([check])
    edges = ""
    for n, silence in enumerate(silences, 1):
        if silence is None:
            transitions = monitor.update(Row(n, n, {"loss": 1.0}, n))
        else:
            transitions = monitor.tick(silence)
        for t in transitions:
            edges += "R" if t.kind.value == "resolved" else "C" if t.continues else "F"
        edges += "" if transitions else "-"
    return edges
