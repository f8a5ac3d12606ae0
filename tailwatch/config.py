"""The settings: a TOML file, the environment and flags, the later winning."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .checks import CATEGORIES, CHECKS
from .config_file import (
    OWN_VARIABLES,
    Duration,
    FileSettings,
    ReceiverSettings,
    convert,
    from_text,
    nearest,
    put,
    read_file,
)
from .core.check import Check
from .core.globs import PathFilter
from .core.secret import Secret
from .errors import ConfigError
from .receivers import RENDERERS, type_of_url
from .receivers.generic import signing_key

DEFAULT_FILE = "/etc/tailwatch/tailwatch.toml"
CREDENTIAL = "tailwatch.webhook_url"
SEVERITIES = ("critical", "warning", "info")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True, slots=True)
class Receiver:
    """A webhook, ready to be used."""

    name: str
    type: str
    url: Secret
    secret: Secret | None
    severities: frozenset[str]
    send_resolved: bool


@dataclass(frozen=True, slots=True)
class Settings:
    """
    The effective settings; times in seconds.

    Attributes:
        source: The file they came from, for people; None without one.
    """

    source: str | None
    paths: tuple[str, ...]
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    run_pattern: re.Pattern[str] | None
    checks: tuple[type[Check], ...]
    state_dir: str
    sweep_interval_s: float
    backfill_page_max_age_s: float
    run_retention_s: float
    max_exported_runs: int
    listen: str
    external_url: str | None
    log_level: str
    log_format: str
    receivers: tuple[Receiver, ...] = ()

    @property
    def wanted(self) -> PathFilter:
        """Which paths below a root are metric files by their name."""
        return PathFilter(self.include, self.exclude)


def load_settings(
    flags: Mapping[str, Any], environment: Mapping[str, str], file: str | None = None
) -> Settings:
    """
    Put the settings together.

    Args:
        flags: Dotted key -> value, as given on the command line.
        environment: `TAILWATCH_*` and what systemd sets.
        file: The settings file; default: `TAILWATCH_CONFIG`, else `/etc/tailwatch/...`.

    Raises:
        ConfigError: One line: which file or variable, which key, what was expected.
    """
    source = file or environment.get("TAILWATCH_CONFIG") or None
    if source is None and os.path.exists(DEFAULT_FILE):
        source = DEFAULT_FILE
    merged: dict[str, Any] = {}
    if source is not None:
        merged = read_file(source)
        convert(merged, source)
    for name, value in environment.items():
        if name.startswith("TAILWATCH_") and name not in OWN_VARIABLES:
            key = name.removeprefix("TAILWATCH_").lower().replace("__", ".")
            convert(put(merged, key, from_text(key, value, name)), name)
    for key, value in flags.items():
        if value is not None and key != "webhook_url":
            flag = "--" + key.rpartition(".")[2].replace("_", "-")
            convert(put(merged, key, value), flag)
    settings = convert(merged, source or "settings")
    return _settle(settings, source, environment, flags)


def seconds(value: Duration, key: str) -> float:
    """
    A duration: a number of seconds, or a number with s, m, h or d.

    >>> seconds("1.5h", "run_retention"), seconds(10, "sweep_interval")
    (5400.0, 10.0)

    Raises:
        ConfigError: It is neither, or negative.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd]?)", str(value).strip())
    if match is None:
        raise ConfigError(f"{key}: expected a duration such as 30, 10s, 1h or 2d, got {value!r}")
    return float(match.group(1)) * _UNITS.get(match.group(2), 1)


def select_checks(text: str) -> tuple[type[Check], ...]:
    """
    The checks that `all`, `seed` or a list of categories names.

    Raises:
        ConfigError: There is no such category.
    """
    wanted = [part.strip() for part in text.split(",") if part.strip()]
    for part in wanted:
        if part not in ("all", "seed", *CATEGORIES):
            near = nearest(part, ["all", "seed", *CATEGORIES])
            raise ConfigError(f"checks: unknown category {part!r}{near}")
    chosen = tuple(
        check
        for check in CHECKS
        if "all" in wanted or check.check_set in wanted or check.category in wanted
    )
    if not chosen:
        raise ConfigError("checks: names no check; say all, seed, or categories")
    return chosen


def _settle(
    raw: FileSettings,
    source: str | None,
    environment: Mapping[str, str],
    flags: Mapping[str, Any],
) -> Settings:
    where = source or "settings"
    try:
        return Settings(
            source=source,
            paths=tuple(raw.paths),
            include=tuple(raw.include),
            exclude=tuple(raw.exclude),
            run_pattern=_pattern(raw.run_pattern),
            checks=select_checks(raw.checks),
            state_dir=os.path.abspath(raw.state_dir or _default_state_dir(environment)),
            sweep_interval_s=_at_least(0.1, raw.sweep_interval, "sweep_interval"),
            backfill_page_max_age_s=seconds(raw.backfill_page_max_age, "backfill_page_max_age"),
            run_retention_s=seconds(raw.run_retention, "run_retention"),
            max_exported_runs=int(_at_least(1, raw.max_exported_runs, "max_exported_runs")),
            listen=raw.web.listen,
            external_url=_http_url(raw.web.external_url, "web.external_url"),
            log_level=_one_of(("debug", "info", "warning", "error"), raw.log.level, "log.level"),
            log_format=_one_of(("auto", "console", "json"), raw.log.format, "log.format"),
            receivers=_receivers(raw, environment, flags),
        )
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _default_state_dir(environment: Mapping[str, str]) -> str:
    if directory := environment.get("STATE_DIRECTORY"):
        return directory.split(":")[0]
    home = environment.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(home, "tailwatch")


def _pattern(text: str) -> re.Pattern[str] | None:
    if not text:
        return None
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise ConfigError(f"run_pattern: not a regular expression: {error}") from None
    if "run" not in pattern.groupindex:
        raise ConfigError("run_pattern: expected a group named run, (?P<run>...)")
    return pattern


def _at_least(limit: float, value: Duration, key: str) -> float:
    number = seconds(value, key)
    if number < limit:
        raise ConfigError(f"{key}: expected at least {limit}, got {value!r}")
    return number


def _one_of(choices: tuple[str, ...], value: str, key: str) -> str:
    if value not in choices:
        raise ConfigError(f"{key}: expected one of {', '.join(choices)}, got {value!r}")
    return value


def _http_url(text: str, key: str) -> str | None:
    if text and not re.match(r"https?://[^/\s]+", text):
        raise ConfigError(f"{key}: expected an http or https URL")
    return text or None


def _receivers(
    raw: FileSettings, environment: Mapping[str, str], flags: Mapping[str, Any]
) -> tuple[Receiver, ...]:
    listed = list(raw.receivers)
    if url := flags.get("webhook_url") or environment.get("TAILWATCH_WEBHOOK_URL"):
        listed.append(ReceiverSettings(name="webhook", url=url))
    elif credentials := environment.get("CREDENTIALS_DIRECTORY"):
        path = os.path.join(credentials, CREDENTIAL)
        if os.path.exists(path):
            listed.append(ReceiverSettings(name="webhook", url_file=path))
    made: list[Receiver] = []
    for number, each in enumerate(listed):
        key = f"receivers[{number}]"
        receiver = _receiver(each, key)
        if receiver.name in {other.name for other in made}:
            raise ConfigError(f"{key}.name: {receiver.name!r} is there twice")
        made.append(receiver)
    return tuple(made)


def _receiver(raw: ReceiverSettings, key: str) -> Receiver:
    url = _secret_text(raw.url, raw.url_file, f"{key}.url")
    if url is None:
        raise ConfigError(f"{key}: expected url or url_file")
    # Nothing of the URL may be in the message: it is a secret.
    if not re.fullmatch(r"https?://[^\s@/]+(/[^\s]*)?", url) or not url.isascii():
        raise ConfigError(f"{key}.url: expected an http or https URL without user and password")
    kind = raw.type or type_of_url(url)
    if kind not in RENDERERS:
        near = nearest(kind, list(RENDERERS))
        raise ConfigError(f"{key}.type: unknown type {kind!r}{near}")
    for severity in raw.severities:
        _one_of(SEVERITIES, severity, f"{key}.severities")
    secret = _secret_text(raw.secret, raw.secret_file, f"{key}.secret")
    if secret is not None:
        try:
            signing_key(secret)
        except ValueError as error:
            raise ConfigError(f"{key}.secret: {error}") from None
    return Receiver(
        name=raw.name or kind,
        type=kind,
        url=Secret(url),
        secret=Secret(secret) if secret else None,
        severities=frozenset(raw.severities),
        send_resolved=raw.send_resolved,
    )


def _secret_text(text: str, path: str, key: str) -> str | None:
    if text and path:
        raise ConfigError(f"{key}: give it or {key}_file, not both")
    if not path:
        return text or None
    try:
        with open(path, encoding="utf-8") as file:
            found = file.read(8192).strip()
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"{key}_file: {path}: cannot be read") from None
    if not found:
        raise ConfigError(f"{key}_file: {path}: is empty")
    return found
