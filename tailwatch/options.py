"""Command line options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import click

from .config import Settings, load_settings
from .config_receivers import SEVERITIES

# Whether a path can be read is for us to say, in one line, and not for click.
PATH = click.Path(readable=False)


_KEYS = {
    "listen": "web.listen",
    "web_config": "web.config_file",
    "log_level": "log.level",
    "log_format": "log.format",
}


def given(**flags: Any) -> dict[str, Any]:
    """
    Options as settings, by their keys; what was not given is None.

    >>> given(listen=":0", include=("*.log",), exclude=())
    {'web.listen': ':0', 'include': ['*.log'], 'exclude': None}
    """
    return {
        _KEYS.get(name, name): list(value) or None if isinstance(value, tuple) else value
        for name, value in flags.items()
    }


_names = (
    click.option("--include", multiple=True, metavar="GLOB", help="Names of metric files."),
    click.option("--exclude", multiple=True, metavar="GLOB", help="Names that are none."),
)


def _with(
    command: Callable[..., Any], *options: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> Callable[..., Any]:
    for each in options:
        command = each(command)
    return command


def format(command: Callable[..., Any]) -> Callable[..., Any]:
    """--format text|json."""
    return click.option(
        "--format",
        "style",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="For a person, or for a program.",
    )(command)


def config(command: Callable[..., Any]) -> Callable[..., Any]:
    """--config FILE."""
    return click.option(
        "--config",
        "config_file",
        type=PATH,
        help="The settings file (default: $TAILWATCH_CONFIG, /etc/tailwatch/tailwatch.toml).",
    )(command)


def asking(command: Callable[..., Any]) -> Callable[..., Any]:
    """What `status` takes."""
    return _with(
        command,
        click.option("--url", help="Where the daemon answers (default: by the settings)."),
        click.option(
            "--http.config.file",
            "http_config",
            type=PATH,
            help="Password and certificates, in the format of Prometheus' tools.",
        ),
        click.option(
            "--watch",
            type=click.FloatRange(0.2, 3600),
            metavar="[SECONDS]",
            is_flag=False,
            flag_value=2.0,
            help="Again and again on a terminal, every 2 seconds if not said, until Ctrl-C.",
        ),
        config,
        format,
    )


def checks(command: Callable[..., Any]) -> Callable[..., Any]:
    """--checks."""
    return click.option(
        "--checks", metavar="all|seed|CATEGORY,...", help="Which checks (default: all)."
    )(command)


def webhook_url(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """--webhook-url, and who sees it; *what* it is for is a sentence."""
    return click.option(
        "--webhook-url",
        metavar="URL",
        help=f"{what} It can be seen in the list of processes; "
        "$TAILWATCH_WEBHOOK_URL or a receiver with url_file cannot.",
    )


def benching(command: Callable[..., Any]) -> Callable[..., Any]:
    """What `bench` takes."""
    return _with(
        command,
        click.argument("directory", type=PATH),
        config,
        checks,
        click.option(
            "--format",
            "style",
            type=click.Choice(["text", "json", "markdown"]),
            default="text",
            show_default=True,
            help="For a person, a program, or a document.",
        ),
        *_names,
        click.option("--seed", type=int, default=1, show_default=True, help="Of all chance."),
        click.option("--rivals", is_flag=True, help="Measure the rules of others, too."),
    )


def running(command: Callable[..., Any]) -> Callable[..., Any]:
    """The settings that `run` takes as flags."""
    return _with(
        command,
        *reversed(
            (
                click.argument("paths", nargs=-1, type=PATH),
                config,
                click.option(
                    "--state-dir", type=PATH, help="Where to keep what was read and counted."
                ),
                click.option(
                    "--listen",
                    "--web.listen-address",
                    metavar="HOST:PORT",
                    help="Where to serve; none: nowhere.",
                ),
                click.option(
                    "--web.config.file",
                    "web_config",
                    type=PATH,
                    help="TLS and users, in the format of Prometheus' exporters.",
                ),
                click.option(
                    "--textfile",
                    type=PATH,
                    help="Write the metrics to this file, for node_exporter's textfile collector.",
                ),
                webhook_url("Where to post critical findings."),
                checks,
                *_names,
                click.option(
                    "--sweep-interval", metavar="TIME", help="How often to look at every file."
                ),
                click.option(
                    "--log-level",
                    type=click.Choice(["debug", "info", "warning", "error"]),
                    help="Say no less than this. Default: info.",
                ),
                click.option(
                    "--log-format",
                    type=click.Choice(["auto", "console", "json"]),
                    help="Default: console at a terminal, else JSON.",
                ),
            )
        ),
    )


def diagnosing_settings(flags: dict[str, Any]) -> Settings:
    """The settings of a command that is `diagnosing`."""
    config_file = flags.pop("config_file")
    return load_settings(given(**flags), os.environ, config_file)


def reading(flags: dict[str, Any]) -> dict[str, Any]:
    """The same, and how files are to be read."""
    how = {name: flags.pop(name) for name in ("run_config", "whole_file")}
    return {"settings": diagnosing_settings(flags), **how}


def diagnosing(command: Callable[..., Any]) -> Callable[..., Any]:
    """What `check`, `replay` and `inspect` share."""
    return _with(
        command,
        click.argument("paths", nargs=-1, required=True, type=PATH),
        config,
        format,
        checks,
        *_names,
        click.option("--run-config", type=PATH, help="The run's configuration file."),
        click.option("--whole-file", is_flag=True, help="Take a file as one segment."),
    )


def fail_on(command: Callable[..., Any]) -> Callable[..., Any]:
    """--fail-on."""
    return click.option(
        "--fail-on",
        type=click.Choice([*SEVERITIES, "never"]),
        default="critical",
        show_default=True,
        help="Exit 1 at a finding of this severity or worse.",
    )(command)


def showing(command: Callable[..., Any]) -> Callable[..., Any]:
    """What `demo` takes."""
    return _with(
        command,
        click.option(
            "--keep",
            is_flag=True,
            help="Leave the files where they are, and at a terminal the page until Ctrl-C.",
        ),
        click.option(
            "--seconds",
            type=click.FloatRange(2, 3600),
            default=8.0,
            show_default=True,
            help="How long it takes.",
        ),
    )
