"""Finding and running the outside tools that judge our files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
SYSTEMD = ROOT / "systemd"


def debian_tool(name: str, package: str) -> str:
    """The path of a tool from a Debian package; without it, skip on a laptop and fail in CI."""
    path = shutil.which(name)
    if path:
        return path
    message = f"{name} is not installed (Debian package {package})"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


def python_tool(name: str) -> str:
    """The path of a tool that pip installs; a virtualenv need not be on PATH to be found."""
    path = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if not path:
        pytest.fail(f"{name} is not installed: it belongs to the test requirements")
    return path


def run(*command: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a tool to its end and keep what it says, in English and without colour."""
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "SYSTEMD_COLORS": "0"},
    )


def said(result: subprocess.CompletedProcess[str]) -> str:
    """Everything a tool said, for the message of a failed assertion."""
    return f"exit {result.returncode}\n{result.stdout}{result.stderr}"


def promtool() -> str:
    return debian_tool("promtool", "prometheus")


def amtool() -> str:
    return debian_tool("amtool", "prometheus-alertmanager")


def systemd_analyze() -> str:
    return debian_tool("systemd-analyze", "systemd")
