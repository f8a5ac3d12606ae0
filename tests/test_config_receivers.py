"""Receivers out of settings: see also tests/test_config.py, which goes through all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailwatch.config_file import ReceiverSettings
from tailwatch.config_receivers import CREDENTIAL, read_receivers
from tailwatch.errors import ConfigError

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
