"""What is installed: one version, whatever asks, and a command line that completes itself."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import tomllib
from pathlib import Path

import pytest

import tailwatch
from tests.deploy.tools import ROOT, debian_tool, run, said
from tests.e2e.daemon import command

README = (ROOT / "README.md").read_text()


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A directory with `tailwatch` in it, as an installed one is called."""
    directory = tmp_path / "bin"
    directory.mkdir()
    script = directory / "tailwatch"
    quoted = " ".join(f"'{part}'" for part in command())
    script.write_text(f'#!/bin/sh\nexec {quoted} "$@"\n')
    script.chmod(0o755)
    return directory


def completions(program: Path, *words: str, directory: Path) -> list[str]:
    """What bash offers for the last of *words*, with the line of README in its start-up file."""
    (line,) = [
        each for each in README.split("`") if each.startswith('eval "$(_TAILWATCH_COMPLETE')
    ]
    quoted = " ".join(f"'{word}'" for word in words)
    script = f"""
{line}
COMP_WORDS=({quoted}) COMP_CWORD={len(words) - 1}
"$(complete -p tailwatch | sed 's/.*-F \\([^ ]*\\).*/\\1/')" tailwatch
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    result = subprocess.run(
        [debian_tool("bash", "bash"), "--norc", "-c", script],
        env={**os.environ, "PATH": f"{program}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"},
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.stderr == ""
    return result.stdout.split()


def test_the_version_stands_in_one_place() -> None:
    """The package, its metadata and the command line have the same version, from one file."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "tailwatch/__init__.py"
    assert importlib.metadata.version("tailwatch") == tailwatch.__version__
    result = run(*command("--version"))
    assert result.stdout == f"tailwatch {tailwatch.__version__}\n", said(result)


def test_no_file_for_deployment_has_a_version_of_its_own() -> None:
    """Nothing in deploy/ or systemd/ has to be changed for a new version."""
    files = [p for d in ("deploy", "systemd") for p in (ROOT / d).rglob("*") if p.is_file()]
    assert len(files) > 30
    version = tailwatch.__version__.encode()
    assert [p for p in files if version in p.read_bytes()] == []


def test_bash_completes_commands_and_options(program: Path, tmp_path: Path) -> None:
    """The line in README makes bash offer the subcommands, and the options of each."""
    assert completions(program, "tailwatch", "che", directory=tmp_path) == ["check", "checks"]
    offered = completions(program, "tailwatch", "check", "--fail", directory=tmp_path)
    assert offered == ["--fail-on"]
    severities = completions(program, "tailwatch", "check", "--fail-on", "c", directory=tmp_path)
    assert severities == ["critical"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_their_script(program: Path, shell: str) -> None:
    """The scripts that README names for zsh and fish are made, for a command of our name."""
    assert f"{shell}_source" in README
    result = subprocess.run(
        [program / "tailwatch"],
        env={**os.environ, "_TAILWATCH_COMPLETE": f"{shell}_source"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert f"_TAILWATCH_COMPLETE={shell}_complete" in result.stdout
