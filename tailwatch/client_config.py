"""How to ask a server that is not open to all: the HTTP client file of Prometheus' tools."""

from __future__ import annotations

import base64
import os
import ssl
from dataclasses import dataclass
from typing import Any

from .web_config import parse_yaml, section, wrong_key

_SECTIONS = ("basic_auth", "tls_config")
_AUTH_KEYS = ("username", "password", "password_file")
_TLS_KEYS = ("ca_file", "cert_file", "key_file", "insecure_skip_verify")


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """
    What to show to a server, and what to ask of it.

    Attributes:
        tls: For https.
        headers: To be sent with each request. Secret.
    """

    tls: ssl.SSLContext
    headers: dict[str, str]


def read_client_config(path: str | None) -> ClientConfig:
    """
    Read what `promtool --http.config.file` and a scrape configuration call by the same names.

    Args:
        path: None to ask without a name, and to trust whom this host trusts.

    Raises:
        ConfigError: One line: the file, the key, what was expected.
    """
    if path is None:
        return ClientConfig(ssl.create_default_context(), {})
    path = os.path.abspath(path)
    sections = section(parse_yaml(path), path, "", _SECTIONS)
    auth = section(sections.get("basic_auth"), path, "basic_auth", _AUTH_KEYS)
    tls = section(sections.get("tls_config"), path, "tls_config", _TLS_KEYS)
    return ClientConfig(_context(tls, path), _headers(auth, path))


def _context(tls: dict[str, Any], path: str) -> ssl.SSLContext:
    def file(key: str) -> str | None:
        return os.path.join(os.path.dirname(path), str(tls[key])) if tls.get(key) else None

    def password() -> str:  # Without it OpenSSL asks at the terminal.
        raise wrong_key(path, "tls_config.key_file", "expected a key that is not encrypted")

    try:
        context = ssl.create_default_context(cafile=file("ca_file"))
    except OSError as error:
        what = f"{file('ca_file')}: expected a certificate in PEM: {_why(error)}"
        raise wrong_key(path, "tls_config.ca_file", what) from None
    if tls.get("insecure_skip_verify", "false") == "true":
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    certificate = file("cert_file")
    if certificate is not None:
        try:
            context.load_cert_chain(certificate, file("key_file"), password)
        except OSError as error:
            what = f"expected a certificate in PEM and, in key_file, its key: {_why(error)}"
            raise wrong_key(path, "tls_config.cert_file", f"{certificate}: {what}") from None
    return context


def _why(error: OSError) -> str:
    return str(getattr(error, "reason", None) or error.strerror or "it is none")


def _headers(auth: dict[str, Any], path: str) -> dict[str, str]:
    if not auth:
        return {}
    password = auth.get("password", "")
    if "password_file" in auth:
        file = os.path.join(os.path.dirname(path), str(auth["password_file"]))
        try:
            with open(file, encoding="utf-8") as opened:
                password = opened.read(8192).strip()
        except (OSError, ValueError):
            raise wrong_key(path, "basic_auth.password_file", f"{file}: cannot be read") from None
    coded = base64.b64encode(f"{auth.get('username', '')}:{password}".encode()).decode()
    return {"Authorization": f"Basic {coded}"}
