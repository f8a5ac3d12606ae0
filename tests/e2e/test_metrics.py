"""/metrics of a real daemon, judged by Prometheus's own tool."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tailwatch.checks import CHECKS
from tests.deploy.tools import debian_tool
from tests.exported import exported_families

from .daemon import daemon, receiver, row, wait_for, write

NAN = float("nan")


def test_promtool_finds_nothing_to_say(tmp_path: Path) -> None:
    """`promtool check metrics` is clean, with findings, bad lines and hostile names there."""
    with receiver() as hook, daemon(tmp_path, url=hook.url) as tw:
        write(tw.runs / "a" / "m.jsonl", row(1, 2.0) + row(2, NAN) + "bad\n")
        hostile = os.fsencode(tw.runs) + b'/caf\xff"\\\n<script>.jsonl'
        with open(hostile, "w") as file:
            file.write(row(1, NAN))
        wait_for(lambda: len(hook.findings()) == 2)
        status, text = tw.get("/metrics")
        result = subprocess.run(
            [debian_tool("promtool", "prometheus"), "check", "metrics"],
            input=text, capture_output=True, text=True, check=False,
        )  # fmt: skip

        assert status == 200
        assert (result.returncode, result.stdout + result.stderr) == (0, "")
        assert "_created" not in text
        assert 'run="caf\\\\xff\\"' in text
        assert "<script>" not in tw.get("/")[1]


def test_every_category_is_zero_before_its_first_finding(tmp_path: Path) -> None:
    """A run that is known shows 0 for every category of the enabled checks."""
    with daemon(tmp_path) as tw:
        for name in ("a", "b"):
            write(tw.runs / name / "m.jsonl", row(1, 2.0))
        wait_for(lambda: tw.metric("tailwatch_run_rows_total", run="b/m") == 1)
        wait_for(lambda: tw.metric("tailwatch_run_rows_total", run="a/m") == 1)

        for run in ("a/m", "b/m"):
            for check in CHECKS:
                labels = {"run": run, "category": check.category, "severity": check.severity.value}
                assert tw.metric("anomaly_findings_total", **labels) == 0
                assert tw.metric("anomaly_findings_active", **labels) == 0


def test_the_page_shows_what_the_program_exports(tmp_path: Path) -> None:
    """The names on the page are those that the rules and the README are held against."""
    with daemon(tmp_path) as tw:
        write(tw.runs / "a" / "m.jsonl", row(1, 2.0) + row(2, NAN) + row(3, 2.0))
        wait_for(lambda: tw.metric("anomaly_findings_total", category="nan_loss") == 1)
        page = {series.partition("{")[0] for series in tw.metrics()}
        ours = {name for name in page if name.startswith(("anomaly_", "tailwatch_"))}
        ours = {name.removesuffix("_sum").removesuffix("_count") for name in ours}

        assert set(exported_families()) - {"tailwatch_deliveries_total"} == ours


def test_a_nan_is_never_a_sample(tmp_path: Path) -> None:
    """While the loss is NaN its sample is left out."""
    with daemon(tmp_path) as tw:
        write(tw.runs / "m.jsonl", row(1, 2.0))
        wait_for(lambda: tw.metric("tailwatch_run_loss", run="m") == 2.0)
        write(tw.runs / "m.jsonl", row(2, NAN))
        wait_for(lambda: tw.metric("tailwatch_run_rows_total", run="m") == 2)

        assert tw.metric("tailwatch_run_loss", run="m") is None
        assert "NaN" not in "".join(x for x in tw.get("/metrics")[1].splitlines() if x[0] != "#")
