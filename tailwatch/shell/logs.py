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
_PRIORITIES = {"debug": "<7>", "info": "<6>", "warning": "<4>", "error": "<3>"}


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
        last += [structlog.processors.JSONRenderer(ensure_ascii=True)]
        if "JOURNAL_STREAM" in os.environ:
            last += [_Prioritised()]
            shared.insert(1, _remember_level)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # Its debug level is a line an event: of no use, and without bound.
    logging.getLogger("watchdog").setLevel(max(logging.WARNING, root.level))
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
        if isinstance(value, float) and not math.isfinite(value):
            event[key] = str(value)
    return event


def _remember_level(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    _Prioritised.level = str(event.get("level", "info"))
    return event


class _Prioritised:
    """Puts the priority before the line."""

    level = "info"

    def __call__(self, _: Any, __: str, rendered: str) -> str:
        return _PRIORITIES.get(self.level, "<6>") + rendered
