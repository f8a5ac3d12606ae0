"""Where a server listens, and what a request calls it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwatch.core.addresses import is_called, split_address
from tailwatch.errors import ConfigError


@pytest.mark.parametrize(
    "listen",
    ["127.0.0.1", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:-1", "127.0.0.1:\xb2", "", "8080"],
)
def test_address_that_is_none_is_refused(listen: str) -> None:
    """What is not HOST:PORT is refused with what was expected."""
    with pytest.raises(ConfigError, match="expected HOST:PORT"):
        split_address(listen)


@given(st.text(max_size=40))
def test_no_name_of_a_stranger_is_ours(host: str) -> None:
    """Whatever stands in the header, the registered part of a stranger's name decides."""
    assert is_called(f"{host}.example", {"gpu1"}) is False
    assert is_called(f"{host}.example:80", {"gpu1"}) is False


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1]evil",
        "[127.0.0.1",
        "[",
        "]",
        ":",
        " ",
        "127.1",
        "[]",
        "[]:1",
        "127.0.0.1:.example",
        "[::1].example",
        "localhost:1x",
    ],
)
def test_what_is_no_host_is_not_ours(host: str) -> None:
    """Half an address is none."""
    assert is_called(host, {"gpu1"}) is False


@pytest.mark.parametrize(
    "host", ["app.localhost:1", "gpu1.", "10.0.0.7", "[fe80::1]:80", " gpu1 "]
)
def test_addresses_and_own_names_are_ours(host: str) -> None:
    """Nobody else can have them."""
    assert is_called(host, {"gpu1"}) is True
