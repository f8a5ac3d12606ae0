"""The command line. The only module that prints or exits."""

from __future__ import annotations

import functools
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import click

from . import __version__, options
from .config import Settings, load_settings, load_web_settings, select_checks
from .config_receivers import SEVERITIES
from .core.names import escape
from .errors import CannotGoOn, ConfigError, InputError, TailwatchError, origin_of
from .terminal import colour, columns, fitted
from .user_checks import user_checks

EXIT_FOUND = 1
EXIT_USAGE = 2
EXIT_BUG = 70


class _Group(click.Group):
    """Turns our own errors into one line and an exit code; nobody is shown a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except TailwatchError as error:
            _fail(str(error), error.exit_code)
        except MemoryError:
            _no_memory()
        except (click.ClickException, click.exceptions.Exit, click.Abort, OSError):
            raise  # click knows what to say of these; a closed pipe is one.
        except Exception as error:
            _fail(f"internal error, please report it: {origin_of(error)}", EXIT_BUG)


def _no_memory() -> None:
    """Say so and end, with as little as possible: whatever else is tried may hang or fail."""
    os.write(2, b"tailwatch: out of memory: it needs more, or fewer files; nothing is lost\n")
    os._exit(CannotGoOn.exit_code)


def _fail(text: str, code: int) -> None:
    click.echo(f"tailwatch: {_printable(text)}", err=True)
    sys.exit(code)


def _printable(text: str) -> str:
    return "\n".join(map(escape, text.split("\n")))


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="tailwatch %(version)s")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Follow the metric files of training runs and say when one goes wrong."""
    ctx.color = colour()


@main.command()
@options.running
def run(paths: tuple[str, ...], config_file: str | None, **flags: Any) -> None:
    """
    Follow the files in PATHs (files, directories) until told to stop.

    SIGTERM and SIGINT drain and end it, SIGHUP reads the settings again.
    """
    from .app import Daemon
    from .shell.logs import configure_logs

    given = options.given(paths=paths, **flags)

    def load() -> Settings:
        settings = load_settings(given, os.environ, config_file)
        if not settings.paths:
            raise ConfigError("no path to follow: give one, or set paths in the settings")
        return settings

    settings = load()
    log = configure_logs(settings.log_level, settings.log_format)
    try:
        Daemon(settings, load, log, no_memory=_no_memory).run()
    except TailwatchError as error:
        event = "cannot_go_on" if isinstance(error, CannotGoOn) else "not_started"
        log.error(event, error=_printable(str(error)))
        raise


def _name_troubles(troubles: Sequence[Any]) -> None:
    for trouble in troubles:
        click.echo(f"tailwatch: {escape(trouble.path)}: {trouble.reason}", err=True)


def _say_troubles(diagnoses: Sequence[Any], troubles: Sequence[Any]) -> None:
    """Name what could not be read, and exit 2 if there was such, or a named file was skipped."""
    _name_troubles(troubles)
    if troubles or any(d.skipped and d.named for d in diagnoses):
        sys.exit(EXIT_USAGE)


@main.command()
@options.diagnosing
@options.fail_on
def check(paths: tuple[str, ...], style: str, fail_on: str, **flags: Any) -> None:
    """Diagnose the files in PATHs once, as they are. - is standard input."""
    from .diagnose import read_all
    from .documents import check_document
    from .report import check_report

    diagnoses, troubles = read_all(paths, **options.reading(flags))
    _show(style, lambda: check_document(diagnoses, troubles), lambda: check_report(diagnoses))
    _say_troubles(diagnoses, troubles)
    bad = SEVERITIES[: SEVERITIES.index(fail_on) + 1] if fail_on != "never" else ()
    if any(f.severity.value in bad for d in diagnoses if not d.skipped for f in d.findings):
        sys.exit(EXIT_FOUND)


@main.command()
@options.diagnosing
def replay(paths: tuple[str, ...], style: str, **flags: Any) -> None:
    """Print every transition of the files in PATHs in order: what would have paged, and when."""
    from .diagnose import read_all
    from .documents import transition_document
    from .report import transition_line

    def each(run: str, transition: Any) -> None:
        if style == "json":
            _echo_json(transition_document(run, transition))
        else:
            _echo(transition_line(run, transition))

    diagnoses, troubles = read_all(paths, **options.reading(flags), each=each)
    for diagnosis in diagnoses:
        if diagnosis.skipped:
            click.echo(
                f"tailwatch: {_printable(diagnosis.file)}: skipped: {diagnosis.skipped}", err=True
            )
    _say_troubles(diagnoses, troubles)


@main.command()
@options.benching
def bench(directory: str, style: str, seed: int, rivals: bool, **flags: Any) -> None:
    """Measure on the logs below DIRECTORY how often the checks are wrong, and what they find."""
    from .bench import table
    from .bench.run import bench_all

    settings = options.diagnosing_settings(flags)
    score, troubles = bench_all([directory], settings, seed, rivals=rivals)
    _name_troubles(troubles)
    if not score.runs:
        raise InputError(f"{directory}: no metric log in it that can be read")
    if style == "json":
        _echo_json(table.document(score))
    else:
        click.echo(table.markdown(score) if style == "markdown" else table.text(score))


@main.command()
@options.diagnosing
def inspect(paths: tuple[str, ...], style: str, **flags: Any) -> None:
    """Say what tailwatch makes of the files in PATHs: why it does not see a run."""
    from .inspection import inspect_all
    from .inspection_document import inspection_document
    from .inspection_text import inspection_text

    inspected = inspect_all(paths, **options.reading(flags))
    _show(
        style,
        lambda: inspection_document(inspected),
        lambda: inspection_text(inspected, columns()),
    )
    _say_troubles((), inspected.troubles)


@main.command()
@options.format
@options.checks
def checks(style: str, checks: str | None) -> None:
    """List the checks with their severities and thresholds."""
    from .documents import checks_document
    from .report import checks_table

    chosen = select_checks(checks or "all")
    for trouble in user_checks().troubles:
        click.echo(f"tailwatch: {_printable(trouble)}", err=True)
    _show(style, lambda: checks_document(chosen), lambda: checks_table(chosen, columns()))


@main.command()
@click.argument("category")
@options.format
def explain(category: str, style: str) -> None:
    """Print the documentation of one check."""
    from .documents import check_facts
    from .report import explanation

    chosen, *more = select_checks(category)  # Names the nearest one.
    if more or chosen.category != category:
        raise ConfigError(f"explain: expected one category, got {category!r}")
    text = explanation(chosen)
    document = {"version": 1, **check_facts(chosen), "documentation": text}
    _show(style, lambda: document, lambda: text)


@main.command()
@options.config
@options.format
@click.option("--check", "only_check", is_flag=True, help="Only say whether they are valid.")
def config(config_file: str | None, style: str, only_check: bool) -> None:
    """Show the effective settings, secrets hidden."""
    from .documents import settings_document
    from .report import settings_text
    from .web_config import read_web_config

    settings = load_settings({}, os.environ, config_file)
    if settings.web_config_file:
        read_web_config(settings.web_config_file)
    if only_check:
        click.echo(f"{settings.source or 'settings'}: ok")
    else:
        document = {"version": 1, **settings_document(settings)}
        _show(style, lambda: document, lambda: settings_text(settings))


@main.command()
@options.asking
def status(
    config_file: str | None, style: str, url: str | None, http_config: str | None, watch: float
) -> None:
    """Show the runs and findings of the daemon on this host."""
    from . import watching
    from .client_config import read_client_config
    from .status import ask, default_url
    from .status_text import status_text

    url = (url or default_url(load_web_settings(os.environ, config_file))).rstrip("/")
    client = read_client_config(http_config)
    if watch and style == "json":
        raise click.UsageError("--watch is for a person: it does not go with --format json")
    if watch and columns():
        watching.watch(lambda: ask(url, client), watch, functools.partial(click.echo, nl=False))
        return
    document = ask(url, client)
    _show(style, lambda: document, lambda: status_text(document, time.time(), columns()))


@main.command("notify-test")
@options.config
@options.format
@options.webhook_url("One more receiver.")
def notify_test(config_file: str | None, style: str, webhook_url: str | None) -> None:
    """Send a test notice to every receiver and say what each answered."""
    from .documents import answers_document
    from .report import answers_text
    from .trial import attempt_test

    settings = load_settings({"webhook_url": webhook_url}, os.environ, config_file)
    if not settings.receivers:
        _fail("no receiver is configured: set TAILWATCH_WEBHOOK_URL or [[receivers]]", EXIT_FOUND)
    results = [(receiver, attempt_test(receiver)) for receiver in settings.receivers]
    _show(style, lambda: answers_document(results), lambda: answers_text(results))
    if any(outcome.kind != "delivered" for _, outcome in results):
        sys.exit(EXIT_FOUND)


@main.command()
@options.showing
def demo(seconds: float, keep: bool) -> None:
    """Show the main job on a simulated trainer whose loss goes NaN."""
    from .demo import run_demo
    from .shell.logs import configure_logs

    log = configure_logs("warning", "auto")
    run_demo(seconds, keep, click.echo, log, stay=keep and columns() is not None)


def _show(style: str, document: Callable[[], Any], text: Callable[[], str]) -> None:
    if style == "json":
        _echo_json(document())
    else:
        _echo(text())


def _echo(text: str) -> None:
    click.echo(fitted(text, columns()))


def _echo_json(document: Any) -> None:
    text = json.dumps(document, allow_nan=False, ensure_ascii=False)
    # What a terminal would obey is written as JSON can: it reads the same.
    click.echo("".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text))
