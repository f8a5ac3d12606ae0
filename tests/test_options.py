"""Options that several commands share."""

from __future__ import annotations

import click

from tailwatch import options
from tailwatch.cli import main


def test_check_and_replay_share_their_options() -> None:
    """What `diagnosing` adds is the same set of options in the same order."""

    def command(**_: object) -> None:
        pass

    made = click.command()(options.diagnosing(command))
    names = [option.name for option in made.params]

    assert {"paths", "style", "checks", "config_file", "run_config", "whole_file"} <= set(names)
    assert len(names) == len(set(names))


def test_run_and_the_others_take_what_they_share() -> None:
    """`run` has a flag for each setting that it takes; the settings of the others come from theirs."""
    assert isinstance(main, click.Group)
    names = [option.name for option in main.commands["run"].params]

    assert names[:2] == ["paths", "config_file"]
    assert {"web_config", "textfile"} <= set(names)
    assert {"state_dir", "listen", "webhook_url", "checks", "include", "log_format"} <= set(names)
    flags = {"checks": "seed", "include": ("*.log",), "exclude": (), "config_file": "/dev/null"}
    settings = options.diagnosing_settings(flags)
    assert (settings.include, settings.exclude) == (("*.log",), ())
    assert all(check.check_set == "seed" for check in settings.checks)
