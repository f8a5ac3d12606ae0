"""Command line options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

# Whether a path can be read is for us to say, in one line, and not for click.
PATH = click.Path(readable=False)


_KEYS = {"listen": "web.listen", "log_level": "log.level", "log_format": "log.format"}


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


def benching(command: Callable[..., Any]) -> Callable[..., Any]:
    """What `bench` takes."""
    for decorate in (
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
    ):
        command = decorate(command)
    return command


def diagnosing(command: Callable[..., Any]) -> Callable[..., Any]:
    """What `check` and `replay` share."""
    for decorate in (
        click.argument("paths", nargs=-1, required=True, type=PATH),
        config,
        format,
        checks,
        *_names,
        click.option("--run-config", type=PATH, help="The run's configuration file."),
        click.option("--whole-file", is_flag=True, help="Take a file as one segment."),
    ):
        command = decorate(command)
    return command
