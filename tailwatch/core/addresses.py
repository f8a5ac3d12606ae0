"""Where a server listens, and what a request calls it."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection

from ..errors import ConfigError

_HOST = re.compile(r"(?:\[(.*)\]|([^:]*))(?::\d*)?")


def split_address(listen: str) -> tuple[str, int]:
    """
    Split "HOST:PORT" or "[V6]:PORT".

    >>> split_address("127.0.0.1:10836"), split_address("[::1]:80")
    (('127.0.0.1', 10836), ('::1', 80))

    Raises:
        ConfigError: It is neither.
    """
    host, colon, port = listen.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()):
        raise ConfigError(f"web.listen: expected HOST:PORT, got {listen!r}")
    return host.removeprefix("[").removesuffix("]"), int(port)


def is_called(host: str | None, names: Collection[str]) -> bool:
    """
    Whether a Host header names this server: by an address, as localhost, or by one of *names*.

    A page of a stranger whose name leads to 127.0.0.1 (DNS rebinding) sends that name.

    >>> [is_called(host, ["gpu1"]) for host in (None, "127.0.0.1:1", "[::1]", "GPU1:1", "e.org")]
    [True, True, True, True, False]
    """
    if host is None:  # No browser: they all send it.
        return True
    match = _HOST.fullmatch(host.strip().lower())
    if match is None:
        return False
    name = match.group(1) or match.group(2) or ""
    try:
        return bool(ipaddress.ip_address(name))
    except ValueError:
        name = name.removesuffix(".")
        return name == "localhost" or name.endswith(".localhost") or name in names
