"""Checks that another package brings, really installed beside ours, sound and broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tailwatch.checks import CHECKS
from tailwatch.core.check import Check
from tailwatch.core.findings import Hold, Severity
from tailwatch.user_checks import all_checks, fault_of

from .readme import python_blocks

BROKEN = """
from tailwatch.core.check import Check
from tailwatch.core.findings import Evidence, Hold, Severity

class Base(Check):
    severity, suggestion, hold, reads = Severity.CRITICAL, "Do it.", Hold(1, 1), ("loss",)

class RaisesOnRow(Base):
    category = "raises_on_row"
    def update(self, row):
        raise KeyError("secret-value")

class SaysNonsense(Base):
    category = "says_nonsense"
    def update(self, row):
        return Evidence("fine", {"x": "no number"}, None)

class UnsavedLater(Base):
    category = "unsaved_later"
    def __init__(self):
        self.kept = 1
    def update(self, row):
        self.kept = object()

class Taken(Base):
    category = "nan_loss"

NotACheck = 7
"""


def install(directory: Path, module: str, points: dict[str, str]) -> dict[str, str]:
    """A package on the path, as pip would leave it; the environment in which it is there."""
    (directory / "extra_checks.py").write_text(module)
    info = directory / "extra_checks-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: extra-checks\nVersion: 1.0\n")
    lines = [f"{name} = extra_checks:{value}" for name, value in points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[tailwatch.checks]", *lines, ""]))
    return os.environ | {"PYTHONPATH": str(directory)}


def run(env: dict[str, str], *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tailwatch", *args]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)


def test_the_example_of_the_readme(tmp_path: Path) -> None:
    """The check that README shows is found, documented, selected, tuned, and speaks."""
    (example,) = [block for block in python_blocks() if "class TokensLow" in block]
    env = install(tmp_path, example, {"tokens": "TokensLow"})
    log = tmp_path / "m.jsonl"
    rows = [{"step": n, "loss": 2.0, "tokens_per_second": 50.0} for n in range(20)]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))

    listed = json.loads(run(env, "checks", "--format", "json").stdout)["checks"]
    assert "tokens_low" in [check["category"] for check in listed if check["set"] == "user"]
    assert "What it finds" in run(env, "explain", "tokens_low").stdout
    found = json.loads(run(env, "check", "--format", "json", str(log)).stdout)["runs"][0]
    assert "tokens_low" in [finding["category"] for finding in found["findings"]]
    seed = run(env, "check", "--checks", "seed", "--format", "json", str(log))
    assert "tokens_low" not in seed.stdout


def test_broken_checks_hurt_nobody(tmp_path: Path) -> None:
    """What raises, says nonsense or cannot be saved is taken out; all else goes on as before."""
    names = ["RaisesOnRow", "SaysNonsense", "UnsavedLater", "Taken", "NotACheck", "Gone"]
    env = install(tmp_path, BROKEN, {name.lower(): name for name in names})
    log = tmp_path / "m.jsonl"
    log.write_text('{"step": 1, "loss": 2}\n{"step": 2, "loss": NaN}\n')

    checked = run(env, "check", str(log))
    assert checked.returncode == 1
    assert "nan_loss" in checked.stdout
    assert "says_nonsense" not in checked.stdout
    assert "Traceback" not in checked.stderr
    assert "secret-value" not in checked.stdout + checked.stderr
    listed = json.loads(run(env, "checks", "--format", "json").stdout)["checks"]
    user = {check["category"] for check in listed if check["set"] == "user"}
    assert user == {"raises_on_row", "says_nonsense", "unsaved_later"}
    told = run(env, "checks").stderr
    assert all(name.lower() in told for name in ("Taken", "NotACheck", "Gone"))


def test_a_broken_check_does_not_stop_the_daemon(tmp_path: Path) -> None:
    """It runs, keeps its state, counts the error, and finds the NaN."""
    from .e2e.daemon import Daemon, row, wait_for, write

    env = install(tmp_path, BROKEN, {"a": "RaisesOnRow", "b": "UnsavedLater", "c": "NotACheck"})
    made = Daemon(tmp_path, PYTHONPATH=env["PYTHONPATH"])
    made.command = [sys.executable, "-m", "tailwatch", "run", *made.args]
    made.start()
    try:
        write(made.runs / "m.jsonl", row(1, 2.0) + row(2, float("nan")))
        wait_for(lambda: made.metric("anomaly_findings_total", run="m", category="nan_loss") == 1)
        errors = "tailwatch_check_errors_total"
        wait_for(lambda: made.metric(errors, category="raises_on_row") == 1)
        write(made.runs / "m.jsonl", row(3, 2.0))  # It failed when it was to be kept.
        wait_for(lambda: made.metric(errors, category="unsaved_later") == 1)
        assert any(line["event"] == "check_not_used" for line in made.log())
        assert made.metric("tailwatch_state_errors_total") == 0
        assert made.stop() == 0
    finally:
        if made.process is not None and made.process.poll() is None:
            made.kill()


class Sound(Check):
    category, severity, suggestion, hold = "own", Severity.INFO, "Look.", Hold(1, 1)


@pytest.mark.parametrize(
    ("attributes", "fault"),
    [
        ({}, ""),
        ({"category": "Own Check"}, "short name"),
        ({"category": "nan_loss"}, "tailwatch's own"),
        ({"severity": "critical"}, "severity"),
        ({"hold": (1, 1)}, "hold"),
        ({"to_state": lambda self: {"a": float("nan")}}, "ValueError"),
        ({"__init__": lambda self: 1 / 0}, "ZeroDivisionError"),
    ],
)
def test_what_makes_a_check_unfit(attributes: dict[str, object], fault: str) -> None:
    """Each fault is named in words."""
    assert fault in fault_of(type("Own", (Sound,), attributes))
    assert bool(fault) == bool(fault_of(type("Own", (Sound,), attributes)))


def test_without_other_packages_there_are_ours() -> None:
    """In their order."""
    assert all_checks() == CHECKS
