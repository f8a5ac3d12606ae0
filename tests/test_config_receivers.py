"""Receivers out of settings: see also tests/test_config.py, which goes through all of it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tailwatch.config_file import ReceiverSettings
from tailwatch.config_receivers import CREDENTIAL, Receiver, read_receivers
from tailwatch.core.findings import TransitionKind
from tailwatch.errors import ConfigError
from tests.shell.helpers import transition

KEY = "0123456789abcdefABCDEF9876543210"
URL = "https://hooks.slack.com/services/T0/B0/x"


def test_the_one_line_ways(tmp_path: Path) -> None:
    """Flag before variable before credential; whichever it is, the receiver is `webhook`."""
    (tmp_path / CREDENTIAL).write_text(URL + "/credential\n")
    environment = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    by_credential = read_receivers([], environment, {})
    environment["TAILWATCH_WEBHOOK_URL"] = URL + "/variable"
    by_variable = read_receivers([], environment, {})
    by_flag = read_receivers([], environment, {"webhook_url": URL + "/flag"})

    for way, made in (("credential", by_credential), ("variable", by_variable), ("flag", by_flag)):
        (receiver,) = made
        assert (receiver.name, receiver.type) == ("webhook", "slack")
        assert f"{URL}/{way}" == receiver.url.reveal()


def test_half_an_address_is_one_line() -> None:
    """A URL that no parser can read is refused without being shown."""
    with pytest.raises(ConfigError) as caught:
        read_receivers([ReceiverSettings(url="http://[::1/marker")], {}, {})

    assert "marker" not in str(caught.value)
    assert "receivers[0].url: expected an http or https URL" in str(caught.value)


def made(**settings: object) -> Receiver:
    (receiver,) = read_receivers([msgspec.convert(settings, ReceiverSettings)], {}, {})
    return receiver


def refused(**settings: object) -> str:
    with pytest.raises(ConfigError) as caught:
        made(**settings)
    return str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "http://am.example:9093",
        "http://am.example:9093/",
        "http://am.example:9093/api/v2/alerts",
    ],
)
def test_alertmanager_needs_its_address_only(url: str) -> None:
    """The path of the API is added where it is missing; ends are told unless that is switched off."""
    receiver = made(type="alertmanager", url=url)
    assert receiver.url.reveal() == "http://am.example:9093/api/v2/alerts"
    assert receiver.send_resolved
    assert receiver.policy().resends
    assert not made(type="alertmanager", url=url, send_resolved=False).send_resolved


@pytest.mark.parametrize("path", ["", "/", "/api/v2/alerts"])
def test_alertmanager_keeps_the_query_of_its_address(path: str) -> None:
    """A token that a proxy asks for stays behind the path."""
    receiver = made(type="alertmanager", url=f"http://am.example{path}?token=x")
    assert receiver.url.reveal() == "http://am.example/api/v2/alerts?token=x"


def test_pagerduty_needs_its_key_only() -> None:
    """The address is known, and the key is 32 letters and digits."""
    receiver = made(type="pagerduty", secret=KEY)
    assert receiver.url.reveal() == "https://events.pagerduty.com/v2/enqueue"
    assert receiver.send_resolved
    assert not receiver.policy().mixes
    for wrong in ("", KEY[1:], KEY + "/", "whsec_" + KEY):
        message = refused(type="pagerduty", secret=wrong)
        assert message.startswith("receivers[0].secret: expected the integration key")
        assert not wrong or wrong not in message


@pytest.mark.parametrize("kind", ["slack", "discord", "teams"])
def test_a_secret_that_means_nothing_is_refused(kind: str) -> None:
    """Their URL is the secret; one set beside it would give a false feeling of safety."""
    message = refused(type=kind, url=URL, secret=KEY)
    assert (
        message
        == f"receivers[0].secret: a receiver of type {kind} has none; its URL is the secret"
    )


@pytest.mark.parametrize("token", ["two words", "line\nbreak", "é"])
def test_a_token_that_is_no_header_is_refused(token: str) -> None:
    """It would become two headers, or none."""
    message = refused(type="alertmanager", url="http://am.example", secret=token)
    assert message.startswith("receivers[0].secret: expected a bearer token")
    assert token not in message


def test_categories_and_runs_are_a_receivers_own() -> None:
    """What it is told of is what it names; a category that does not exist is one line."""
    policy = made(
        url=URL,
        severities=["critical", "warning"],
        categories=["nan_loss", "loss_flat"],
        runs=["team-a/**"],
    ).policy()
    told = [
        (run, category)
        for run in ("team-a/x/metrics", "team-b/metrics")
        for category in ("nan_loss", "loss_diverged")
        if policy.wants(run, transition(category))
    ]
    assert told == [("team-a/x/metrics", "nan_loss")]
    assert not policy.wants("team-a/m", transition("nan_loss", kind=TransitionKind.RESOLVED))
    message = refused(url=URL, categories=["nan_los"])
    assert "receivers[0].categories: unknown category 'nan_los'" in message
    assert "nan_loss" in message
