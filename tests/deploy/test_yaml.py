"""Every YAML file that we ship."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.deploy.tools import DEPLOY, python_tool, run, said

YAML = sorted(path for kind in ("*.yml", "*.yaml") for path in DEPLOY.rglob(kind))
RULES = """
extends: default
rules:
  # What makes a file mean something else than it says; how it looks is not judged.
  document-start: disable
  line-length: disable
  comments: disable
  comments-indentation: disable
  braces: disable
  brackets: disable
  indentation: {indent-sequences: consistent, spaces: consistent}
  octal-values: {forbid-implicit-octal: false}
  truthy: {check-keys: false}
"""


def test_files_are_found() -> None:
    """The search is not blind: each directory with YAML in it has its files here."""
    assert {"alertmanager", "docker", "kubernetes", "prometheus", "provisioning"} <= {
        part for path in YAML for part in path.parts
    }


def test_yaml_says_what_it_seems_to_say() -> None:
    """yamllint finds no doubled key, no bare yes or no, and no tab in any of them."""
    result = run(python_tool("yamllint"), "--strict", "-d", RULES, *YAML)
    assert result.returncode == 0, said(result)
    assert result.stdout == ""


@pytest.mark.parametrize("text", ["a: 1\na: 2\n", "a: yes\n", "a:\n\t- b\n"])
def test_what_is_wrong_is_noticed(tmp_path: Path, text: str) -> None:
    """The linter is not blind: it refuses a doubled key, a word for true, and a tab."""
    path = tmp_path / "wrong.yml"
    path.write_text(text)
    assert run(python_tool("yamllint"), "--strict", "-d", RULES, path).returncode != 0


@pytest.mark.parametrize("path", sorted(DEPLOY.rglob("*.toml")), ids=lambda p: p.parent.name)
def test_settings_files_are_read(path: Path) -> None:
    """Every TOML file is one."""
    assert tomllib.loads(path.read_text())
