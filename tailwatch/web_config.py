"""The web configuration file of Prometheus' exporter-toolkit: TLS, users and headers."""

from __future__ import annotations

import importlib.util
import os
import re
import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from .config_file import nearest
from .core.names import escape
from .errors import ConfigError

FILE_BYTES_MAX = 1 << 20
HASH_COST_MAX = 16
"""Of a bcrypt hash: about 5 s for each password that is tried."""
CLIENT_AUTH_TYPES = {
    "NoClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}
TLS_VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
_SECTIONS = ("tls_server_config", "http_server_config", "basic_auth_users")
_TLS_KEYS = (
    "cert_file", "key_file", "client_auth_type", "client_ca_file", "min_version", "max_version",
)  # fmt: skip
# Keys of the format that we do not have, and what to do instead. To pass over one of them
# could open what its owner believes to be closed.
_NOT_SUPPORTED = {
    "rate_limit": "leave it out, or put a proxy in front",
    "tls_server_config.cert": "use cert_file",
    "tls_server_config.key": "use key_file",
    "tls_server_config.client_ca": "use client_ca_file",
    "tls_server_config.client_allowed_sans": "give the clients a CA of their own",
    "tls_server_config.cipher_suites": "leave it out: OpenSSL's are used",
    "tls_server_config.curve_preferences": "leave it out: OpenSSL's are used",
    "tls_server_config.prefer_server_cipher_suites": "leave it out",
}
# Header -> the values that it may have; None: any.
_HEADERS: dict[str, tuple[str, ...] | None] = {
    "Content-Security-Policy": None,
    "Strict-Transport-Security": None,
    "X-Content-Type-Options": ("nosniff",),
    "X-Frame-Options": ("deny", "sameorigin"),
    "X-XSS-Protection": None,
}
_HASH = re.compile(r"\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}")
# Everything is text to it: a user may be called 007, or no.
_YAML_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

Seen = tuple[tuple[int, int, int] | None, ...]


@dataclass(frozen=True, slots=True)
class WebConfig:
    """
    What the file says, ready to be used.

    Attributes:
        files: The file itself, then those that it names.
        seen: How they looked before they were read.
        tls: None for plain HTTP.
        users: Name -> bcrypt hash; empty if everybody may ask.
        headers: To be set on every answer, before our own.
    """

    files: tuple[str, ...]
    seen: Seen
    tls: ssl.SSLContext | None
    users: Mapping[str, bytes]
    headers: Mapping[str, str]

    def changed(self) -> bool:
        """Whether one of the files is another one now."""
        return look(self.files) != self.seen

    def weaker_than(self, other: WebConfig) -> str | None:
        """What *other* asked of clients and this does not."""
        if other.tls is not None and self.tls is None:
            return "TLS"
        if other.tls and self.tls and self.tls.verify_mode < other.tls.verify_mode:
            return "client certificates"
        return "passwords" if other.users and not self.users else None


def look(files: Iterable[str]) -> Seen:
    """How these files look now: equal for as long as none of them changes."""
    looks: list[tuple[int, int, int] | None] = []
    for path in files:
        try:
            found = os.stat(path)
            looks.append((found.st_ino, found.st_size, found.st_mtime_ns))
        except OSError:
            looks.append(None)
    return tuple(looks)


def read_web_config(path: str) -> WebConfig:
    """
    Read *path* and what it names; relative names are relative to its directory.

    Raises:
        ConfigError: One line: the file, the key, what was expected.
    """
    path = os.path.abspath(path)
    before = look((path,))
    sections = section(parse_yaml(path), path, "", _SECTIONS)
    tls = section(sections.get(_SECTIONS[0]), path, _SECTIONS[0], _TLS_KEYS)
    http = section(sections.get(_SECTIONS[1]), path, _SECTIONS[1], ("http2", "headers"))
    if http.get("http2", "false") != "false":
        raise wrong_key(
            path, "http_server_config.http2", "expected false: HTTP/2 is not spoken here"
        )
    named = tuple(
        os.path.join(os.path.dirname(path), tls[key])
        for key in ("cert_file", "key_file", "client_ca_file")
        if isinstance(tls.get(key), str)
    )
    seen = before + look(named)
    return WebConfig(
        files=(path, *named),
        seen=seen,
        tls=_context(tls, path) if tls else None,
        users=_users(sections.get("basic_auth_users"), path),
        headers=_headers(http.get("headers"), path),
    )


def wrong_key(path: str, key: str, what: str) -> ConfigError:
    """What is wrong with a key of a file, or with the file, in one line."""
    return ConfigError(f"{path}: {escape(key)}: {what}" if key else f"{path}: {what}")


def parse_yaml(path: str) -> object:
    """What a file holds, every number and word in it as text."""
    try:
        with open(path, "rb") as file:
            data = file.read(FILE_BYTES_MAX)
        return yaml.load(data.decode("utf-8-sig"), Loader=_YAML_LOADER)
    except OSError as error:
        raise wrong_key(path, "", f"cannot be read: {error.strerror}") from None
    except MemoryError:
        raise
    except Exception as error:  # PyYAML leaks KeyError, IndexError and more for what is no YAML.
        mark = getattr(error, "problem_mark", None)
        where = f": line {mark.line + 1}" if mark else ""
        raise wrong_key(path, "", f"is not valid YAML{where}") from None


def section(raw: object, path: str, name: str, known: tuple[str, ...] = ()) -> dict[str, Any]:
    """A mapping of the file, with no key but the *known* ones, if any are given."""
    if raw is None or raw == "":
        return {}
    if not isinstance(raw, dict):
        raise wrong_key(path, name, "expected keys with values")
    for key in raw:
        full = f"{name}.{key}" if name else str(key)
        if full in _NOT_SUPPORTED:
            raise wrong_key(path, full, f"is not supported: {_NOT_SUPPORTED[full]}")
        if known and key not in known:
            raise wrong_key(path, full, f"unknown key{nearest(str(key), list(known), name)}")
    return raw


def _context(tls: dict[str, Any], path: str) -> ssl.SSLContext:
    def wrong(key: str, what: str) -> ConfigError:
        return wrong_key(path, f"tls_server_config.{key}", what)

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["http/1.1"])
    context.minimum_version = _choice(TLS_VERSIONS, tls, "min_version", "TLS12", wrong)
    context.maximum_version = _choice(TLS_VERSIONS, tls, "max_version", "TLS13", wrong)
    if context.minimum_version > context.maximum_version:
        raise wrong("max_version", "expected at least min_version")
    certificate, key = (_file(tls, name, path, wrong) for name in ("cert_file", "key_file"))

    def password() -> str:  # Without it OpenSSL asks at the terminal.
        raise wrong("key_file", f"{key}: expected a key that is not encrypted")

    try:
        context.load_cert_chain(certificate, key, password)
    except OSError as error:
        reason = getattr(error, "reason", None) or "PEM_LIB"
        what = f"{certificate}: expected a certificate in PEM and, in key_file, its key ({reason})"
        raise wrong("cert_file", what) from None
    context.verify_mode = _choice(
        CLIENT_AUTH_TYPES, tls, "client_auth_type", "NoClientCert", wrong
    )
    if context.verify_mode is not ssl.CERT_NONE:
        authority = _file(tls, "client_ca_file", path, wrong)
        try:
            context.load_verify_locations(authority)
        except OSError:
            raise wrong("client_ca_file", f"{authority}: expected a certificate in PEM") from None
    elif "client_ca_file" in tls:
        raise wrong("client_ca_file", "expected client_auth_type beside it, or nobody is asked")
    return context


def _choice(
    choices: Mapping[str, Any],
    tls: dict[str, Any],
    key: str,
    default: str,
    wrong: Callable[[str, str], ConfigError],
) -> Any:
    value = tls.get(key) or default
    if value not in choices:
        raise wrong(key, f"expected one of {', '.join(choices)}, got {value!r}")
    return choices[value]


def _file(
    tls: dict[str, Any], key: str, path: str, wrong: Callable[[str, str], ConfigError]
) -> str:
    name = tls.get(key)
    if not name or not isinstance(name, str):
        raise wrong(key, "expected the path of a file")
    file = os.path.join(os.path.dirname(path), name)
    try:
        with open(file, "rb"):
            return file
    except OSError as error:
        raise wrong(key, f"{file}: cannot be read: {error.strerror}") from None


def _users(raw: object, path: str) -> dict[str, bytes]:
    users = {}
    for name, hashed in section(raw, path, "basic_auth_users").items():
        match = _HASH.fullmatch(hashed) if isinstance(hashed, str) else None
        key = f"basic_auth_users.{name}"
        if not name or ":" in name:
            raise wrong_key(path, key, "expected the name of a user, without a colon")
        if match is None:  # It may be the password itself, and is not shown.
            raise wrong_key(path, key, "expected a bcrypt hash, as htpasswd -nBC 10 '' makes one")
        if not 4 <= int(match.group(1)) <= HASH_COST_MAX:
            raise wrong_key(path, key, f"expected a cost of 4 to {HASH_COST_MAX}")
        users[name] = hashed.encode()
    if users and importlib.util.find_spec("bcrypt") is None:
        what = "needs the package bcrypt: pip install 'tailwatch[auth]'"
        raise wrong_key(path, "basic_auth_users", what)
    return users


def _headers(raw: object, path: str) -> dict[str, str]:
    name = "http_server_config.headers"
    headers = section(raw, path, name, tuple(_HEADERS))
    for header, value in headers.items():
        choices = _HEADERS[header]
        if not isinstance(value, str) or not (value.isascii() and value.isprintable()):
            raise wrong_key(path, f"{name}.{header}", "expected a line of text")
        if choices is not None and value not in choices:
            what = f"expected {' or '.join(choices)}, got {value!r}"
            raise wrong_key(path, f"{name}.{header}", what)
    return {header: value for header, value in headers.items() if value}
