"""Command line options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import click

from .config import Settings, load_settings

# Whether a path can be read is for us to say, in one line, and not for click.
PATH = click.Path(readable=False)


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


def checks(command: Callable[..., Any]) -> Callable[..., Any]:
    """--checks."""
    return click.option(
        "--checks", metavar="all|seed|CATEGORY,...", help="Which checks (default: all)."
    )(command)


def running(command: Callable[..., Any]) -> Callable[..., Any]:
    """The settings that `run` takes as flags."""
    for decorate in reversed(
        (
            click.argument("paths", nargs=-1, type=PATH),
            config,
            click.option(
                "--state-dir", type=PATH, help="Where to keep what was read and counted."
            ),
            click.option(
                "--listen", "--web.listen-address", metavar="HOST:PORT", help="Where to serve."
            ),
            click.option(
                "--webhook-url",
                metavar="URL",
                help="Where to post critical findings. It can be seen in the list of processes; "
                "$TAILWATCH_WEBHOOK_URL or a receiver with url_file cannot.",
            ),
            checks,
            click.option(
                "--include", multiple=True, metavar="GLOB", help="Names of metric files."
            ),
            click.option("--exclude", multiple=True, metavar="GLOB", help="Names that are none."),
            click.option(
                "--sweep-interval", metavar="TIME", help="How often to look at every file."
            ),
            click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"])),
            click.option("--log-format", type=click.Choice(["auto", "console", "json"])),
        )
    ):
        command = decorate(command)
    return command


def diagnosing_settings(flags: dict[str, Any]) -> Settings:
    """The settings of a command that is `diagnosing`."""
    given = {
        "checks": flags["checks"],
        "include": list(flags["include"]) or None,
        "exclude": list(flags["exclude"]) or None,
    }
    return load_settings(given, os.environ, flags["config_file"])


def diagnosing(command: Callable[..., Any]) -> Callable[..., Any]:
    """What `check`, `replay` and `inspect` share."""
    for decorate in (
        click.argument("paths", nargs=-1, required=True, type=PATH),
        config,
        format,
        checks,
        click.option("--include", multiple=True, metavar="GLOB", help="Names of metric files."),
        click.option("--exclude", multiple=True, metavar="GLOB", help="Names that are none."),
        click.option("--run-config", type=PATH, help="The run's configuration file."),
        click.option("--whole-file", is_flag=True, help="Take a file as one segment."),
    ):
        command = decorate(command)
    return command
