"""What a person is told of a notice, before any receiver's markup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.notices import RESOLVED, Notice
from ..core.numbers import shown, spoken
from ..core.sparkline import sparkline

DIGEST_LINES_MAX = 20
_WORDS = {"critical": "CRITICAL", "warning": "Warning", "info": "Info"}


def is_resolved(notice: Notice) -> bool:
    """Whether it tells the end of a finding."""
    return notice.type == RESOLVED


def title(notice: Notice) -> str:
    """What, and in which run: the line that a phone shows."""
    data = notice.data
    word = "Resolved" if is_resolved(notice) else _WORDS[data["severity"]]
    return f"{word}: {data['category']} in {data['run']}"


def where(data: dict[str, Any]) -> str:
    """The run, the step and the host."""
    return f"run {data['run']}, step {shown(data['step'])}, host {data['host']}"


def curve(data: dict[str, Any]) -> str:
    """The last losses as a sparkline; empty if there are none."""
    recent = data["recent"]
    if not recent:
        return ""
    return f"{sparkline(recent)} ({shown(recent[0])} to {shown(recent[-1])})"


def lasted(notice: Notice) -> str:
    """How long a finding that has resolved had lasted; empty for one that fires."""
    duration_s = notice.data.get("duration_s")
    return "" if duration_s is None or not is_resolved(notice) else spoken(duration_s)


def clip(text: str, chars_max: int) -> str:
    """Shorten text to *chars_max* characters."""
    return text if len(text) <= chars_max else text[: chars_max - 1] + "…"


def digest_title(notices: Sequence[Notice]) -> str:
    """How many findings in how many runs, and how many of them are over."""
    runs, over = len({n.data["run"] for n in notices}), sum(map(is_resolved, notices))
    ended = f", {over} of them resolved" if over else ""
    return f"{len(notices)} findings in {runs} run{'s' * (runs > 1)}{ended}"


def digest_lines(notices: Sequence[Notice]) -> list[str]:
    """A line for each of the first findings, and how many more there are."""
    lines = [_line(n) for n in notices[:DIGEST_LINES_MAX]]
    if more := len(notices) - len(lines):
        lines.append(f"and {more} more")
    return lines


def _line(notice: Notice) -> str:
    over = "resolved: " * is_resolved(notice)
    run, message = clip(notice.data["run"], 60), clip(notice.data["message"], 60)
    return f"• {over}{notice.data['category']} in {run}: {message}"
