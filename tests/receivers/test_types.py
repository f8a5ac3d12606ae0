"""Which receiver a URL means, and what each one is rendered by."""

from __future__ import annotations

import json

import pytest

from tailwatch.receivers import _DOMAINS, _HOSTS, RENDERERS, STATEFUL, type_of_url
from tests.receivers.notices import notice


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://hooks.slack.com/services/T0/B0/x", "slack"),
        ("https://hooks.slack-gov.com/services/T0/B0/x", "slack"),
        ("HTTPS://HOOKS.SLACK.COM/services/x", "slack"),
        ("https://hooks.slack.com:443/services/x", "slack"),
        ("https://hooks.slack.com", "slack"),
        ("https://hooks.slack.com.evil.example/x", "generic"),
        ("https://evil.example/hooks.slack.com", "generic"),
        ("https://evil.example/?u=https://hooks.slack.com/", "generic"),
        ("https://hooks.slack.com@evil.example/x", "generic"),
        ("https://nothooks.slack.com/x", "generic"),
        ("https://slack.com/api", "generic"),
        ("https://discord.com/api/webhooks/1/x", "discord"),
        ("https://discord.com.evil.example/api/webhooks/1/x", "generic"),
        ("https://events.pagerduty.com/v2/enqueue", "pagerduty"),
        ("https://events.eu.pagerduty.com/v2/enqueue", "pagerduty"),
        ("https://prod-1.westeurope.logic.azure.com:443/workflows/x", "teams"),
        ("https://a.b.environment.api.powerplatform.com/x", "teams"),
        ("https://logic.azure.com.evil.example/x", "generic"),
        ("http://127.0.0.1:9000/", "generic"),
        ("http://[::1]:9000/", "generic"),
        ("", "generic"),
        ("not a url", "generic"),
    ],
)
def test_type_of_url(url: str, expected: str) -> None:
    """The host alone, to the letter, tells one from all others."""
    assert expected == type_of_url(url)


@pytest.mark.parametrize("kind", sorted(RENDERERS))
@pytest.mark.parametrize("count", [1, 6, 100])
def test_every_renderer(kind: str, count: int) -> None:
    """Each type renders one notice and a digest as JSON, with the key in its header."""
    request = RENDERERS[kind]("key", [notice(n) for n in range(count)], 0.0, None)
    assert request.headers["webhook-id"] == "key"
    assert request.headers["Content-Type"] == "application/json; charset=utf-8"
    json.loads(request.body, parse_constant=pytest.fail)


@pytest.mark.parametrize("kind", sorted(RENDERERS))
def test_test_notice(kind: str) -> None:
    """A test notice, which has no losses and no severity to page for, renders like any other."""
    request = RENDERERS[kind]("key", [notice(kind="test", severity="info", recent=[])], 0.0, None)
    assert b"nan_loss" in request.body.replace(b"\\", b"")


def test_types_that_are_guessed_exist() -> None:
    """Every type that a URL may be taken for has its renderer."""
    assert set(_HOSTS.values()) | set(_DOMAINS.values()) | STATEFUL <= set(RENDERERS)
