"""What may be set, and how it is read: the TOML file and the environment."""

from __future__ import annotations

import difflib
import re
import tomllib
from typing import Any

import msgspec

from .core.names import escape
from .errors import ConfigError

OWN_VARIABLES = frozenset({"TAILWATCH_CONFIG", "TAILWATCH_WEBHOOK_URL"})
"""Variables that are no key of the file."""

DEFAULT_INCLUDE = (
    "**/*.jsonl",
    "**/*.ndjson",
    "**/metrics.json",
    "**/scalars.json",
    "**/*.log.json",
    "**/log.txt",
    "**/result.json",
    "**/progress.json",
    "**/training_metrics.json",
    "**/big_vision_metrics.txt",
    "**/trainer_state.json",
    "**/hydra_train.log",
)
"""What trainers call their metric files; which ones are such is told by their content."""

Duration = float | str


class WebSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Where `/metrics` and the pages are served."""

    listen: str = "127.0.0.1:10836"
    external_url: str = ""
    config_file: str = ""


class LogSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What is logged, and in which form."""

    level: str = "info"
    format: str = "auto"


class ReceiverSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One webhook."""

    name: str = ""
    type: str = ""
    url: str = ""
    url_file: str = ""
    secret: str = ""
    secret_file: str = ""
    severities: list[str] = msgspec.field(default_factory=lambda: ["critical"])
    categories: list[str] = msgspec.field(default_factory=list)
    runs: list[str] = msgspec.field(default_factory=list)
    send_resolved: bool | None = None


class FieldSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What keys of some files mean."""

    paths: list[str] = msgspec.field(default_factory=lambda: ["**"])
    map: dict[str, str] = msgspec.field(default_factory=dict)
    ignore: list[str] = msgspec.field(default_factory=list)


class FileSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Everything that may be set."""

    paths: list[str] = msgspec.field(default_factory=list)
    include: list[str] = msgspec.field(default_factory=lambda: list(DEFAULT_INCLUDE))
    exclude: list[str] = msgspec.field(default_factory=list)
    run_pattern: str = ""
    checks: str = "all"
    state_dir: str = ""
    sweep_interval: Duration = 10.0
    backfill_page_max_age: Duration = "1h"
    run_retention: Duration = "24h"
    max_exported_runs: int = 500
    textfile: str = ""
    web: WebSettings = WebSettings()
    log: LogSettings = LogSettings()
    thresholds: dict[str, dict[str, float]] = msgspec.field(default_factory=dict)
    fields: list[FieldSettings] = msgspec.field(default_factory=list)
    receivers: list[ReceiverSettings] = msgspec.field(default_factory=list)


_TABLES = ("web", "log", "thresholds", "fields", "receivers")


def read_file(path: str) -> dict[str, Any]:
    """The tables of a TOML file, or ConfigError."""
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: is not valid TOML: {error}") from None


def convert(values: dict[str, Any], where: str) -> FileSettings:
    """Check *values* against the schema, or ConfigError naming *where* and the key."""
    try:
        return msgspec.convert(values, FileSettings, strict=True)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {_explain(str(error))}") from None


def _explain(text: str) -> str:
    """
    msgspec's message in our order: the key first, then what is wrong with it.

    >>> _explain("Expected `int`, got `str` - at `$.max_exported_runs`")
    'max_exported_runs: expected int, got str'
    >>> _explain("Object contains unknown field `lisen` - at `$.web`")
    'web.lisen: unknown key; did you mean web.listen?'
    """
    what, _, at = text.partition(" - at ")
    at = at.strip("`").removeprefix("$").removeprefix(".")
    unknown = re.fullmatch(r"Object contains unknown field `(.*)`", what, re.DOTALL)
    if unknown is None:
        return f"{at or 'settings'}: {what[0].lower()}{what[1:]}".replace("`", "")
    key = escape(unknown.group(1))
    full = f"{at}.{key}" if at else key
    return f"{full}: unknown key{nearest(key, _keys_at(at), at)}"


def _keys_at(at: str) -> list[str]:
    kinds = {
        "web": WebSettings,
        "log": LogSettings,
        "receivers": ReceiverSettings,
        "fields": FieldSettings,
    }
    kind: Any = kinds.get(re.sub(r"\[.*\]", "", at), FileSettings)
    return list(kind.__struct_fields__)


def nearest(key: str, keys: list[str], at: str = "") -> str:
    """The end of a message about an unknown name: the nearest known one, or all."""
    close = difflib.get_close_matches(key, keys, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {at + '.' if at else ''}{close[0]}?"
    return f"; known keys: {', '.join(keys)}"


def put(values: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    """Set a dotted key; returns *values*."""
    *tables, last = key.split(".")
    place = values
    for table in tables:
        place = place.setdefault(table, {})
    place[last] = value
    return values


def from_text(key: str, text: str, variable: str) -> Any:
    """Read an environment variable by the type of its setting."""
    table, _, last = key.rpartition(".")
    kind: Any = {"": FileSettings, "web": WebSettings, "log": LogSettings}.get(table)
    if kind is None or last not in kind.__struct_fields__ or last in _TABLES:
        known = [k for k in FileSettings.__struct_fields__ if k not in _TABLES]
        known += [f"web__{k}" for k in WebSettings.__struct_fields__]
        known += [f"log__{k}" for k in LogSettings.__struct_fields__]
        names = [f"TAILWATCH_{k.upper()}" for k in known] + sorted(OWN_VARIABLES)
        raise ConfigError(f"{variable}: unknown variable{nearest(variable, names)}")
    annotation = str(kind.__annotations__[last])
    if annotation.startswith("list"):
        return [part for part in text.split(":" if last == "paths" else ",") if part]
    if annotation == "int" and re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    return text


def one_of(choices: tuple[str, ...], value: str, key: str) -> str:
    """*value* if it is one of *choices*, else ConfigError."""
    if value not in choices:
        raise ConfigError(f"{key}: expected one of {', '.join(choices)}, got {value!r}")
    return value
