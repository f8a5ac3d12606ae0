"""README.md is true: its tables against the code, its examples run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import click

from tailwatch.checks import CHECKS
from tailwatch.cli import main
from tailwatch.config_file import (
    FieldSettings,
    FileSettings,
    LogSettings,
    ReceiverSettings,
    WebSettings,
)
from tests.exported import exported_families

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def table(heading: str) -> list[list[str]]:
    """The cells of the first table under a heading, without its head."""
    section = README.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_checks_table_is_the_list_of_checks() -> None:
    """Every check has its row, with its severity, in order."""
    expected = [[f"`{check.category}`", check.severity.value] for check in CHECKS]

    assert expected == [row[:2] for row in table("Checks")]


def test_the_metrics_table_is_what_is_exported() -> None:
    """Every metric has its row, with its labels, in the words of the exposition."""
    families = exported_families()
    rows = {
        row[0].strip("`"): {x.strip() for x in row[1].split(",")} - {""}
        for row in table("Metrics")
    }

    assert families == rows


def test_the_settings_table_is_the_schema() -> None:
    """Every key has its row, and every row is a key."""
    tables = ("web", "log", "thresholds", "fields", "receivers")
    keys = [key for key in FileSettings.__struct_fields__ if key not in tables]
    keys += [f"web.{key}" for key in WebSettings.__struct_fields__]
    keys += [f"log.{key}" for key in LogSettings.__struct_fields__]
    keys += ["thresholds.CATEGORY"]
    keys += [f"fields[].{key}" for key in FieldSettings.__struct_fields__]
    keys += [f"receivers[].{key}" for key in ReceiverSettings.__struct_fields__]

    assert keys == [row[0].strip("`") for row in table("Settings")]


def test_the_commands_table_is_the_command_line() -> None:
    """Every subcommand has its row."""
    assert isinstance(main, click.Group)
    rows = [re.sub(r"`tailwatch ([\w-]+).*", r"\1", row[0]) for row in table("Commands")]

    assert sorted(main.commands) == sorted(rows)


def test_the_first_screen_has_the_two_commands() -> None:
    """The two commands are there, early, each one line."""
    demo, tests, *_ = blocks("sh")

    assert demo.strip().endswith("&& .venv/bin/tailwatch demo")
    assert tests.strip().endswith("&& .venv/bin/pytest")
    assert README.index(demo) < 1200


def test_the_demo_shows_what_the_readme_shows() -> None:
    """The demo's story has the lines of the README's example, whatever the numbers."""
    shown = [line for line in blocks("text")[0].splitlines() if line.strip() not in ("", "...")]
    result = subprocess.run(
        [sys.executable, "-m", "tailwatch", "demo", "--seconds", "4"],
        capture_output=True, text=True, timeout=60, check=True, cwd=ROOT,
    )  # fmt: skip
    plain = [shape(line) for line in result.stdout.splitlines()]

    for line in shown:
        assert any(found.startswith(shape(line)) for found in plain), line
    assert result.stderr == ""


def shape(line: str) -> str:
    """A line without what differs from run to run."""
    line = re.sub(r"tailwatch-demo-\w+", "DIR", line.removesuffix("..."))
    return without_curve(re.sub(r"\d[\d.]*", "N", line.rstrip(" ")))


def test_the_check_example(tmp_path: Path) -> None:
    """`tailwatch check` prints what the README shows."""
    example = blocks("console")[0].splitlines()
    lines = [
        f'{{"step": {n}, "loss": {"NaN" if 120 <= n < 123 else 3 - n / 200}}}'
        for n in range(1, 413)
    ]
    (tmp_path / "runs" / "exp1").mkdir(parents=True)
    (tmp_path / "runs" / "exp1" / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    result = subprocess.run(
        [sys.executable, "-m", "tailwatch", "check", "runs/"],
        capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
    )  # fmt: skip
    got = result.stdout.splitlines()

    assert result.returncode == 1
    assert example[0] == "$ tailwatch check runs/"
    assert [without_curve(line) for line in example[1:]] == [
        without_curve(cut(line, example)) for line in got
    ]


def test_the_inspect_example_and_its_advice(tmp_path: Path) -> None:
    """`tailwatch inspect` prints what the README shows; with the rule it proposes the run is seen."""
    command, *example = blocks("console")[1].splitlines()
    rows = [f'{{"step": {n}, "objective": {3 - n / 20}, "g_norm": 1.5}}' for n in range(1, 41)]
    (tmp_path / "runs" / "exp2").mkdir(parents=True)
    (tmp_path / "runs" / "exp2" / "history.log").write_text("\n".join(rows) + "\n")
    rule = [line.strip() for line in example[4:8]]
    (tmp_path / "own.toml").write_text("\n".join(['include = ["**/history.log"]', *rule]))
    results = [
        subprocess.run(
            [sys.executable, "-m", *command.removeprefix("$ ").split(), *more],
            capture_output=True, text=True, timeout=60, check=True, cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
        ).stdout.splitlines()
        for more in ([], ["--config", "own.toml"])
    ]  # fmt: skip

    assert example == results[0]
    assert rule[0] == "[[fields]]"
    assert "  a metric file" in results[1]
    assert "  name         exp2/history.log matches **/history.log of include" in results[1]


def test_the_inspect_document_has_what_is_listed(tmp_path: Path) -> None:
    """The keys that the README lists are those of the document, in both directions."""
    (tmp_path / "m.jsonl").write_text('{"step": 1, "loss": 2}\n')
    result = subprocess.run(
        [sys.executable, "-m", "tailwatch", "inspect", "--format", "json", "m.jsonl"],
        capture_output=True, text=True, timeout=60, check=True, cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
    )  # fmt: skip
    document = json.loads(result.stdout)
    listed = README.split("`--format json` prints one document", 1)[1].split("\n## ", 1)[0]
    keys = {*document, *document["files"][0]}

    assert keys == set(re.findall(r"`(\w+)`", listed))


def without_curve(line: str) -> str:
    return re.sub(r"[▁-█]+", "CURVE", line)


def cut(line: str, example: list[str]) -> str:
    """Shorten a line as the example does."""
    for shown in example:
        if shown.endswith(" ...") and line.startswith(shown.removesuffix("...")):
            return shown
    return line


def test_links_lead_somewhere() -> None:
    """Every relative link of README is a file or a directory."""
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_example_settings_are_valid() -> None:
    """deploy/tailwatch.toml passes `tailwatch config --check`, with its comments taken away too."""
    file = ROOT / "deploy" / "tailwatch.toml"
    result = subprocess.run(
        [sys.executable, "-m", "tailwatch", "config", "--check", "--config", str(file)],
        capture_output=True, text=True, timeout=60, check=False, cwd=ROOT,
    )  # fmt: skip

    assert (0, f"{file}: ok\n") == (result.returncode, result.stdout)
