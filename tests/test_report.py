"""What people read: tables and reports."""

from __future__ import annotations

import dataclasses
import os

import click

from tailwatch.checks import CHECKS
from tailwatch.config import load_settings
from tailwatch.documents import check_facts, settings_document
from tailwatch.report import checks_table, explanation


def test_the_table_has_a_line_for_each_check() -> None:
    """Every line starts with its category, and the columns stand under each other."""
    head, *lines = click.unstyle(checks_table(CHECKS)).splitlines()

    assert [check.category for check in CHECKS] == [line.split()[0] for line in lines]
    column = head.index("SEVERITY")
    assert [check.severity.value for check in CHECKS] == [
        line[column:].split()[0] for line in lines
    ]


def test_an_explanation_ends_with_what_to_do_and_when() -> None:
    """It says when the finding fires and when it resolves."""
    pages = {check.category: explanation(check) for check in CHECKS}

    assert pages["nan_loss"].endswith("Fires after 1 row; resolves after 20 rows.")
    assert pages["lr_too_low"].endswith("resolves never, within its segment.")
    assert "Fires when the run has ended or gone quiet" in pages["too_few_steps"]


def test_facts_name_the_thresholds() -> None:
    """The facts of a check are what its code compares with."""
    facts = {check.category: check_facts(check) for check in CHECKS}

    assert facts["loss_diverged"]["thresholds"]["factor"] == 3
    assert facts["nan_loss"]["reads"] == ["loss"]


def test_every_setting_is_shown() -> None:
    """Nothing that can be set is left out of what `config` prints."""
    settings = load_settings({}, {}, os.devnull)
    fields = {f.name.removesuffix("_s") for f in dataclasses.fields(settings)}
    shown = set(settings_document(settings))

    in_tables = {"listen", "external_url", "web_config_file", "log_level", "log_format"}
    assert fields - in_tables | {"web", "log"} == shown
