"""Receivers: how each kind of webhook wants to be told. Pure functions, notices to JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlsplit

from ..core.notices import Notice
from . import generic, slack
from .request import Request

Render = Callable[[str, Sequence[Notice], float, str | None], Request]

RENDERERS: Mapping[str, Render] = {"generic": generic.render, "slack": slack.render}
"""Receiver type -> what makes its request body."""


def type_of_url(url: str) -> str:
    """
    Guess a receiver's type from the host of its URL.

    >>> type_of_url("https://hooks.slack.com/services/T0/B0/x"), type_of_url("http://127.0.0.1/")
    ('slack', 'generic')
    """
    host = urlsplit(url).hostname or ""
    slack_hosts = ("hooks.slack.com", "hooks.slack-gov.com")
    return "slack" if host in slack_hosts else "generic"
