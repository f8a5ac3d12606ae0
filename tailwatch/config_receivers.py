"""The webhooks: from the settings file, a flag, the environment, or a systemd credential."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from .config_file import ReceiverSettings, nearest, one_of
from .core.globs import PathFilter
from .core.secret import Secret
from .errors import ConfigError
from .messages import ReceiverPolicy
from .receivers import RENDERERS, STATEFUL, alertmanager, pagerduty, type_of_url
from .receivers.generic import signing_key
from .user_checks import all_checks

CREDENTIAL = "tailwatch.webhook_url"
SEVERITIES = ("critical", "warning", "info")
SINGLE_URLS = ("--webhook-url", "TAILWATCH_WEBHOOK_URL", f"credential {CREDENTIAL}")


@dataclass(frozen=True, slots=True)
class Receiver:
    """A webhook, ready to be used."""

    name: str
    type: str
    url: Secret
    secret: Secret | None
    severities: frozenset[str]
    send_resolved: bool
    categories: frozenset[str] = frozenset()
    runs: tuple[str, ...] = ()

    def policy(self) -> ReceiverPolicy:
        """What it wants to be told of."""
        return ReceiverPolicy(
            self.name,
            self.severities,
            self.send_resolved,
            self.categories,
            PathFilter(self.runs) if self.runs else None,
            resends=self.type == "alertmanager",
            mixes=self.type != "pagerduty",
        )


def read_receivers(
    raw: list[ReceiverSettings],
    environment: Mapping[str, str],
    flags: Mapping[str, Any],
) -> tuple[Receiver, ...]:
    """
    The receivers of the file, and the one of the flag, the variable or the credential.

    Args:
        raw: From the file.
        environment: Variables, by name.
        flags: From the command line, by name.

    Raises:
        ConfigError: One of them is not right.
    """
    listed = [(f"receivers[{number}]", each) for number, each in enumerate(raw)]
    flag, variable = flags.get("webhook_url"), environment.get("TAILWATCH_WEBHOOK_URL")
    if url := flag or variable:
        listed.append((SINGLE_URLS[0 if flag else 1], ReceiverSettings(name="webhook", url=url)))
    elif credentials := environment.get("CREDENTIALS_DIRECTORY"):
        path = os.path.join(credentials, CREDENTIAL)
        if os.path.exists(path):
            listed.append((SINGLE_URLS[2], ReceiverSettings(name="webhook", url_file=path)))
    made: list[Receiver] = []
    for key, each in listed:
        receiver = _receiver(each, key)
        if receiver.name in {other.name for other in made}:
            where = key if key in SINGLE_URLS else f"{key}.name"
            raise ConfigError(f"{where}: the receiver's name {receiver.name!r} is there twice")
        made.append(receiver)
    return tuple(made)


def _receiver(raw: ReceiverSettings, key: str) -> Receiver:
    url_key = key if key in SINGLE_URLS else f"{key}.url"
    url = _secret_text(raw.url, raw.url_file, url_key)
    if url is None and raw.type == "pagerduty":
        url = pagerduty.URL
    if url is None:
        raise ConfigError(f"{key}: expected url or url_file")
    if not _is_webhook_url(url):  # Nothing of it may be in the message: it is a secret.
        raise ConfigError(f"{url_key}: expected an http or https URL without user and password")
    kind = raw.type or type_of_url(url)
    if kind not in RENDERERS:
        near = nearest(kind, list(RENDERERS))
        raise ConfigError(f"{key}.type: unknown type {kind!r}{near}")
    address, mark, query = url.partition("?")
    if kind == "alertmanager" and not address.endswith(alertmanager.PATH):
        url = address.rstrip("/") + alertmanager.PATH + mark + query
    for severity in raw.severities:
        one_of(SEVERITIES, severity, f"{key}.severities")
    known = [check.category for check in all_checks()] if raw.categories else []
    for category in raw.categories:
        if category not in known:
            near = nearest(category, known)
            raise ConfigError(f"{key}.categories: unknown category {category!r}{near}")
    secret = _secret_text(raw.secret, raw.secret_file, f"{key}.secret")
    _check_secret(kind, secret, f"{key}.secret")
    resolved = kind in STATEFUL if raw.send_resolved is None else raw.send_resolved
    return Receiver(
        name=raw.name or kind,
        type=kind,
        url=Secret(url),
        secret=Secret(secret) if secret else None,
        severities=frozenset(raw.severities),
        categories=frozenset(raw.categories),
        runs=tuple(raw.runs),
        send_resolved=resolved,
    )


def _check_secret(kind: str, secret: str | None, key: str) -> None:
    if kind == "pagerduty" and (secret is None or not re.fullmatch(r"[0-9A-Za-z]{32}", secret)):
        raise ConfigError(
            f"{key}: expected the integration key of a service, 32 letters and digits"
        )
    if secret is None or kind == "pagerduty":
        return
    if kind == "alertmanager":
        if not re.fullmatch(r"[!-~]+", secret):
            raise ConfigError(f"{key}: expected a bearer token: ASCII without spaces")
    elif kind == "generic":
        try:
            signing_key(secret)
        except ValueError as error:
            raise ConfigError(f"{key}: {error}") from None
    else:
        raise ConfigError(f"{key}: a receiver of type {kind} has none; its URL is the secret")


def _is_webhook_url(url: str) -> bool:
    if not re.fullmatch(r"https?://[^\s@/]+(/[^\s]*)?", url) or not url.isascii():
        return False
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:  # Half an IPv6 address, or a port that is no port.
        return False


def _secret_text(text: str, path: str, key: str) -> str | None:
    if text and path:
        raise ConfigError(f"{key}: give it or {key}_file, not both")
    if not path:
        return text or None
    try:
        with open(path, encoding="utf-8") as file:
            found = file.read(8192).strip()
    except (OSError, ValueError):
        raise ConfigError(f"{key}_file: {path}: cannot be read") from None
    if not found:
        raise ConfigError(f"{key}_file: {path}: is empty")
    return found
