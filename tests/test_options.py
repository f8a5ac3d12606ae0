"""Options that several commands share."""

from __future__ import annotations

import click

from tailwatch import options


def test_check_and_replay_share_their_options() -> None:
    """What `diagnosing` adds is the same set of options in the same order."""

    def command(**_: object) -> None:
        pass

    made = click.command()(options.diagnosing(command))
    names = [option.name for option in made.params]

    assert {"paths", "style", "checks", "config_file", "run_config", "whole_file"} <= set(names)
    assert len(names) == len(set(names))
