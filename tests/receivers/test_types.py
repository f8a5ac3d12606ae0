"""Which receiver a URL means, and what each one is rendered by."""

from __future__ import annotations

import json

import pytest

from tailwatch.receivers import RENDERERS, type_of_url
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
        ("http://127.0.0.1:9000/", "generic"),
        ("http://[::1]:9000/", "generic"),
        ("", "generic"),
        ("not a url", "generic"),
    ],
)
def test_type_of_url(url: str, expected: str) -> None:
    """The host alone, to the letter, tells Slack from all others."""
    assert expected == type_of_url(url)


@pytest.mark.parametrize("kind", sorted(RENDERERS))
@pytest.mark.parametrize("count", [1, 6, 100])
def test_every_renderer(kind: str, count: int) -> None:
    """Each type renders one notice and a digest as JSON, with the key in its header."""
    request = RENDERERS[kind]("key", [notice(n) for n in range(count)], 0.0, None)
    assert request.headers["webhook-id"] == "key"
    assert request.headers["Content-Type"] == "application/json; charset=utf-8"
    assert isinstance(json.loads(request.body), dict)


@pytest.mark.parametrize("kind", sorted(RENDERERS))
def test_test_notice(kind: str) -> None:
    """A test notice, which has no losses and no severity to page for, renders like any other."""
    request = RENDERERS[kind]("key", [notice(kind="test", severity="info", recent=[])], 0.0, None)
    assert b"nan_loss" in request.body


def test_types_that_are_guessed_exist() -> None:
    """Every type that a URL may be taken for has its renderer."""
    assert {"slack", "generic"} <= set(RENDERERS)
