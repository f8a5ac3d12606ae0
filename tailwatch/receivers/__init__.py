"""Receivers: how each kind of webhook wants to be told. Pure functions, notices to JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlsplit

from ..core.notices import Notice
from . import alertmanager, discord, generic, pagerduty, slack, teams
from .request import Request

Render = Callable[[str, Sequence[Notice], float, str | None], Request]

RENDERERS: Mapping[str, Render] = {
    "generic": generic.render,
    "slack": slack.render,
    "alertmanager": alertmanager.render,
    "pagerduty": pagerduty.render,
    "discord": discord.render,
    "teams": teams.render,
}
"""Receiver type -> what makes its request body."""

STATEFUL = frozenset({"alertmanager", "pagerduty"})
"""Types that keep a finding open until they are told that it resolved."""

_HOSTS = {
    "hooks.slack.com": "slack",
    "hooks.slack-gov.com": "slack",
    "discord.com": "discord",
    "discordapp.com": "discord",
    "events.pagerduty.com": "pagerduty",
    "events.eu.pagerduty.com": "pagerduty",
}
_DOMAINS = {
    ".webhook.office.com": "teams",
    ".logic.azure.com": "teams",
    ".api.powerplatform.com": "teams",
}


def type_of_url(url: str) -> str:
    """
    Guess a receiver's type from the host of its URL.

    >>> type_of_url("https://hooks.slack.com/services/T0/B0/x"), type_of_url("http://127.0.0.1/")
    ('slack', 'generic')
    """
    host = urlsplit(url).hostname or ""
    for domain, kind in _DOMAINS.items():
        if host.endswith(domain):
            return kind
    return _HOSTS.get(host, "generic")
