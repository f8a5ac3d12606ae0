"""`tailwatch status`: what the daemon on this host says of its runs."""

from __future__ import annotations

import http.client
import json
import re
import ssl
from typing import Any
from urllib.parse import urlsplit

from .client_config import ClientConfig
from .config_file import WebSettings
from .core.addresses import split_address
from .core.names import escape
from .errors import ConfigError, NoDaemon
from .web_config import read_web_config

TIMEOUT_S = 10.0
ANSWER_BYTES_MAX = 256 << 20
"""A thousand runs have about 1 MB."""
_EVERYWHERE = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}


def default_url(web: WebSettings) -> str:
    """
    Where a daemon with these settings answers on this host.

    Raises:
        ConfigError: It has no port, or one that only it knows; or its web configuration file
            cannot be read.
    """
    if web.listen == "none":
        raise ConfigError("web.listen is none: this daemon has no port that could be asked")
    host, port = split_address(web.listen)
    if port == 0:
        raise ConfigError("web.listen has port 0, any free one: say with --url which it is")
    host = _EVERYWHERE.get(host, host)
    secure = bool(web.config_file) and read_web_config(web.config_file).tls is not None
    return f"http{'s' * secure}://{f'[{host}]' if ':' in host else host}:{port}"


def ask(url: str, client: ClientConfig) -> dict[str, Any]:
    """
    The document of `/api/v1/runs`, if the daemon is well.

    Raises:
        ConfigError: The URL is none. NoDaemon: It does not answer, or not with that.
    """
    if not re.fullmatch(r"https?://[^\s@/?#]+(/[^\s?#]*)?", url):
        raise ConfigError("--url: expected an http or https URL without user and password")
    _get(url, "/-/healthy", client)
    try:
        document = json.loads(_get(url, "/api/v1/runs", client))
    except ValueError:
        document = None
    if not isinstance(document, dict) or document.get("version") != 1 or "runs" not in document:
        raise NoDaemon(f"what answers at {url} is no tailwatch that this one knows")
    return document


def _get(url: str, path: str, client: ClientConfig) -> bytes:
    try:
        status, body = _request(url, path, client)
    except ssl.SSLCertVerificationError as error:
        hint = "--http.config.file takes a ca_file"
        raise NoDaemon(f"{url}: its certificate: {error.verify_message}; {hint}") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        why = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
        raise NoDaemon(
            f"no daemon answers at {url}: {escape(str(why)) or type(error).__name__}"
        ) from None
    if status == 401:
        raise NoDaemon(f"{url} wants a password: --http.config.file takes basic_auth")
    if status != 200:
        raise NoDaemon(
            f"{url}{path}: {status}: {escape(body[:200].decode(errors='replace').strip())}"
        )
    return body


def _request(url: str, path: str, client: ClientConfig) -> tuple[int, bytes]:
    # Not urllib: it would ask a proxy.
    parts = urlsplit(url)
    if parts.scheme == "https":
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            parts.netloc, timeout=TIMEOUT_S, context=client.tls
        )
    else:
        connection = http.client.HTTPConnection(parts.netloc, timeout=TIMEOUT_S)
    try:
        connection.request("GET", parts.path.rstrip("/") + path, headers=client.headers)
        response = connection.getresponse()
        return response.status, response.read(ANSWER_BYTES_MAX)
    finally:
        connection.close()
