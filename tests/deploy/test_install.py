"""The install script: below a root of its own, again, and away."""

from __future__ import annotations

import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.deploy.tools import DEPLOY, SYSTEMD, debian_tool, run, said

SCRIPT = DEPLOY / "install.sh"
INFO = "tailwatch-9.9.dist-info"
# What a wheel must hold to be installed: a program that says its name, and who it is.
WHEEL = {
    "tailwatch_said.py": "import sys\ndef main():\n    print('tailwatch 9.9', *sys.argv[2:])\n",
    f"{INFO}/METADATA": "Metadata-Version: 2.1\nName: tailwatch\nVersion: 9.9\n",
    f"{INFO}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    f"{INFO}/entry_points.txt": "[console_scripts]\ntailwatch = tailwatch_said:main\n",
    f"{INFO}/RECORD": "",
}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a wheel called tailwatch: what pip does with the real one is not ours."""
    directory = tmp_path_factory.mktemp("wheels")
    with zipfile.ZipFile(directory / "tailwatch-9.9-py3-none-any.whl", "w") as wheel:
        for name, text in WHEEL.items():
            wheel.writestr(name, text)
    return directory


def install(root: Path, *args: str | Path, code: int = 0) -> str:
    result = run(SCRIPT, "--root", root, *args)
    assert result.returncode == code, said(result)
    return result.stdout + result.stderr


def files(root: Path) -> set[str]:
    """Everything below *root* but the inside of the virtual environment."""
    return {
        str(path.relative_to(root))
        for path in root.rglob("*")
        if (not path.is_dir() or path.is_symlink()) and "opt/tailwatch" not in str(path)
    }


def test_scripts_are_clean() -> None:
    """shellcheck finds nothing in any script that is shipped."""
    scripts = [SCRIPT, *sorted((DEPLOY / "slurm").glob("*.sh"))]
    result = run(debian_tool("shellcheck", "shellcheck"), "--severity=style", *scripts)
    assert result.returncode == 0, said(result)


def test_it_installs_upgrades_and_removes(tmp_path: Path, wheels: Path) -> None:
    """A second run keeps the settings; a removal keeps settings and state, a purge does not."""
    root = tmp_path / "host"
    told = install(root, "--wheels", wheels)
    program = root / "opt/tailwatch/bin/tailwatch"
    assert "tailwatch 9.9 is in" in told
    assert "systemctl enable --now tailwatch" in told
    assert os.readlink(root / "usr/bin/tailwatch") == "/opt/tailwatch/bin/tailwatch"
    assert run(program, "--version").stdout == "tailwatch 9.9\n"
    for name in ("tailwatch.service", "tailwatch@.service"):
        assert (root / "etc/systemd/system" / name).read_text() == (SYSTEMD / name).read_text()
    assert (root / "etc/credstore").stat().st_mode & 0o777 == 0o700
    config = root / "etc/tailwatch/tailwatch.toml"
    assert config.read_text() == (DEPLOY / "tailwatch.toml").read_text()

    config.write_text("# mine\n")
    (root / "etc/systemd/system/tailwatch.service").write_text("old")
    state = root / "var/lib/private/tailwatch/tailwatch.db"
    state.parent.mkdir(parents=True)
    state.write_text("state")
    secret = root / "etc/credstore/tailwatch.webhook_url"
    secret.write_text("secret")
    before = files(root)
    again = install(root, "--wheels", wheels)
    assert "systemctl enable" not in again
    assert files(root) == before
    assert config.read_text() == "# mine\n"
    assert (root / "etc/systemd/system/tailwatch.service").read_text() != "old"

    install(root, "--uninstall")
    kept = {str(path.relative_to(root)) for path in (config, secret, state)}
    assert files(root) == kept
    assert not (root / "opt/tailwatch").exists()
    install(root, "--uninstall", "--purge")
    assert files(root) == set()


@pytest.mark.parametrize("where", ["opt/tailwatch/x", "usr/bin/tailwatch"])
@pytest.mark.parametrize("args", [[], ["--uninstall"]], ids=["install", "uninstall"])
def test_what_is_not_ours_is_left_alone(tmp_path: Path, where: str, args: list[str]) -> None:
    """A directory or a program of the same name from elsewhere stops it, and stays."""
    other = tmp_path / where
    other.parent.mkdir(parents=True)
    other.write_text("somebody's")
    assert "is none of ours" in install(tmp_path, *args, code=1)
    assert files(tmp_path) | {where} == {where}
    assert other.read_text() == "somebody's"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--frobnicate"], "unknown option --frobnicate"),
        (["--purge"], "--purge goes with --uninstall only"),
        (["--wheels"], "--wheels needs a directory"),
    ],
)
def test_wrong_use_says_so_and_does_nothing(tmp_path: Path, args: list[str], words: str) -> None:
    """An option that it does not know, or half of one, changes nothing."""
    assert words in install(tmp_path, *args, code=1)
    assert list(tmp_path.iterdir()) == []


def test_an_old_python_is_refused(tmp_path: Path) -> None:
    """A Python that is too old, or none, is named before anything is made."""
    result = subprocess.run(
        [SCRIPT, "--root", tmp_path],
        env={**os.environ, "PYTHON": "/bin/false"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert result.returncode == 1
    assert "/bin/false is no Python of 3.11 or newer" in result.stderr
    assert list(tmp_path.iterdir()) == []
