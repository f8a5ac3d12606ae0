"""Logging with structlog: one line a change of state, for a terminal or for journald."""

from __future__ import annotations

import logging
import math
import os
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO

import structlog

from ..ports import Log

LEVELS = ("debug", "info", "warning", "error")
# journald reads the priority from the front of a line (sd-daemon(3)).
_PRIORITIES = {"debug": "<7>", "info": "<6>", "warning": "<4>", "error": "<3>", "critical": "<2>"}
_json = structlog.processors.JSONRenderer(ensure_ascii=True)


def configure_logs(level: str, style: str, stream: TextIO | None = None) -> Log:
    """
    Set up the process's one log and return it.

    Args:
        level: One of `LEVELS`.
        style: "console", "json", or "auto": console on a terminal, else JSON.
        stream: Where to; standard error by default.
    """
    stream = stream or sys.stderr
    console = style == "console" or (style == "auto" and stream.isatty())
    handler = logging.StreamHandler(stream)
    handler.setLevel(level.upper())
    shared: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _finite,
    ]
    # Locals in a traceback could hold a secret: plain text, without them.
    last: list[Any] = [structlog.processors.format_exc_info]
    if console:
        renderer = structlog.dev.ConsoleRenderer(
            colors=stream.isatty() and "NO_COLOR" not in os.environ,
            exception_formatter=structlog.dev.plain_traceback,
            pad_event_to=0,
        )
        last = [renderer]
    else:
        last += [_prioritised if "JOURNAL_STREAM" in os.environ else _json]
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # Its debug level is a line an event: of no use, and without bound. Its warnings
    # tell of lost events and are listened for, whatever is shown.
    logging.getLogger("watchdog").setLevel(logging.WARNING)
    # This one speaks only of watches that were stopped, which we do ourselves.
    logging.getLogger("watchdog.observers.inotify").setLevel(logging.CRITICAL)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        cache_logger_on_first_use=False,
    )
    log: Log = structlog.get_logger("tailwatch")
    return log


def _finite(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A bare NaN is no JSON."""
    for key, value in event.items():
        event[key] = _spelt(value)
    return event


def _spelt(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _spelt(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_spelt(each) for each in value]
    return value


def _prioritised(log: Any, name: str, event: MutableMapping[str, Any]) -> str:
    """A line of JSON with its priority in front."""
    priority = _PRIORITIES.get(str(event.get("level")), "<6>")
    return f"{priority}{_json(log, name, event)!s}"
