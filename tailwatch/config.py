"""The settings: a TOML file, the environment and flags, the later winning."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .config_file import (
    OWN_VARIABLES,
    Duration,
    FieldSettings,
    FileSettings,
    WebSettings,
    convert,
    from_text,
    nearest,
    one_of,
    put,
    read_file,
)
from .config_receivers import SINGLE_URLS, Receiver, read_receivers
from .core.check import Check
from .core.field_rules import MAPPABLE, FieldRule, FieldRules
from .core.globs import PathFilter
from .core.tuning import tunable, tuned
from .errors import ConfigError
from .user_checks import all_checks, user_checks

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
DEFAULT_FILE = "/etc/tailwatch/tailwatch.toml"
# Where a single URL may come from, in the words of a message about it.


@dataclass(frozen=True, slots=True)
class Settings:
    """
    The effective settings; times in seconds.

    Attributes:
        source: The file they came from, for people; None without one.
        listen: None to open no port.
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
    textfile: str | None
    listen: str | None
    external_url: str | None
    web_config_file: str | None
    log_level: str
    log_format: str
    fields: FieldRules
    receivers: tuple[Receiver, ...] = ()

    @property
    def troubles(self) -> tuple[str, ...]:
        """What could not be taken up, a line each: checks of other packages."""
        return user_checks().troubles

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
    settings, source, origins = _merged(flags, environment, file)
    try:
        return _settle(settings, source, environment, flags)
    except ConfigError as error:
        key, _, what = str(error).partition(": ")
        if key in SINGLE_URLS:  # It is its own origin, and no key of the file.
            raise
        where = origins.get(key, source or "settings")
        raise ConfigError(f"{where}: {key}: {what}") from None


def load_web_settings(environment: Mapping[str, str], file: str | None = None) -> WebSettings:
    """
    The part about the port alone: without secrets, which not everybody may read.

    Raises:
        ConfigError: As for all of them.
    """
    return _merged({}, environment, file)[0].web


def _merged(
    flags: Mapping[str, Any], environment: Mapping[str, str], file: str | None
) -> tuple[FileSettings, str | None, dict[str, str]]:
    """The settings as they were written, the file, and which key came from somewhere else."""
    source = file or environment.get("TAILWATCH_CONFIG") or None
    if source is None and os.path.exists(DEFAULT_FILE):
        source = DEFAULT_FILE
    merged: dict[str, Any] = {}
    origins: dict[str, str] = {}
    if source is not None:
        merged = read_file(source)
        convert(merged, source)
    for name, value in environment.items():
        if name.startswith("TAILWATCH_") and name not in OWN_VARIABLES:
            key = name.removeprefix("TAILWATCH_").lower().replace("__", ".")
            convert(put(merged, key, from_text(key, value, name)), name)
            origins[key] = name
    for key, value in flags.items():
        if value is not None and key != "webhook_url":
            flag = "--" + key.rpartition(".")[2].replace("_", "-")
            convert(put(merged, key, value), flag)
            origins[key] = flag
    return convert(merged, source or "settings"), source, origins


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
    known = all_checks()
    categories = [check.category for check in known]
    wanted = [part.strip() for part in text.split(",") if part.strip()]
    for part in wanted:
        if part not in ("all", "seed", *categories):
            near = nearest(part, ["all", "seed", *categories])
            raise ConfigError(f"checks: unknown category {part!r}{near}")
    chosen = tuple(
        check
        for check in known
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
    return Settings(
        source=source,
        paths=tuple(raw.paths),
        include=tuple(raw.include),
        exclude=tuple(raw.exclude),
        run_pattern=_pattern(raw.run_pattern),
        checks=_tuned(select_checks(raw.checks), raw.thresholds),
        state_dir=os.path.abspath(raw.state_dir or _default_state_dir(environment)),
        sweep_interval_s=_at_least(0.1, raw.sweep_interval, "sweep_interval"),
        backfill_page_max_age_s=seconds(raw.backfill_page_max_age, "backfill_page_max_age"),
        run_retention_s=seconds(raw.run_retention, "run_retention"),
        max_exported_runs=_runs_max(raw.max_exported_runs),
        textfile=_textfile(raw.textfile),
        listen=_address(raw.web.listen, "web.listen"),
        external_url=_http_url(raw.web.external_url, "web.external_url"),
        web_config_file=os.path.abspath(raw.web.config_file) if raw.web.config_file else None,
        log_level=one_of(("debug", "info", "warning", "error"), raw.log.level, "log.level"),
        log_format=one_of(("auto", "console", "json"), raw.log.format, "log.format"),
        fields=FieldRules([_field_rule(rule, n) for n, rule in enumerate(raw.fields)]),
        receivers=read_receivers(raw.receivers, environment, flags),
    )


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


def _tuned(
    checks: tuple[type[Check], ...], thresholds: Mapping[str, Mapping[str, float]]
) -> tuple[type[Check], ...]:
    known = {check.category: check for check in all_checks()}
    for category, own in thresholds.items():
        if category not in known:
            near = nearest(category, list(known))
            raise ConfigError(f"thresholds: unknown category {category!r}{near}")
        check = known[category]
        try:
            tuned(check, own)
        except ValueError as error:
            name = str(error).partition(":")[0]
            own_names = tunable(check)
            near = nearest(name, own_names) if own_names else "; the seed rules have none to set"
            end = near if name not in own_names else ""
            raise ConfigError(f"thresholds.{category}.{error}{end}") from None
    return tuple(tuned(check, thresholds.get(check.category, {})) for check in checks)


def _field_rule(raw: FieldSettings, n: int) -> FieldRule:
    for name in raw.map:
        if name not in MAPPABLE:
            near = nearest(name, list(MAPPABLE))
            raise ConfigError(f"fields[{n}].map: unknown field {name!r}{near}")
    return FieldRule(tuple(raw.paths), dict(raw.map), tuple(raw.ignore))


def _at_least(limit: float, value: Duration, key: str) -> float:
    number = seconds(value, key)
    if number < limit:
        raise ConfigError(f"{key}: expected at least {limit}, got {value!r}")
    return number


def _runs_max(value: int) -> int:
    if not 1 <= value <= 1_000_000:
        raise ConfigError(f"max_exported_runs: expected 1 to 1000000, got {value}")
    return value


def _textfile(path: str) -> str | None:
    if path and not path.endswith(".prom"):
        raise ConfigError(f"textfile: expected a name that ends in .prom, got {path!r}")
    return os.path.abspath(path) if path else None


def _address(text: str, key: str) -> str | None:
    if text == "none":
        return None
    if not re.fullmatch(r"[^\s/]*:[0-9]{1,5}", text):
        raise ConfigError(f"{key}: expected HOST:PORT, or none, got {text!r}")
    return text


def _http_url(text: str, key: str) -> str | None:
    if text and not re.match(r"https?://[^/\s]+", text):
        raise ConfigError(f"{key}: expected an http or https URL")
    return text or None
