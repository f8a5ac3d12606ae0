"""The systemd unit: understood without a murmur, shut tight, and free of the known traps."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.deploy.tools import SYSTEMD, run, said, systemd_analyze

UNIT = SYSTEMD / "tailwatch.service"
DROP_IN = SYSTEMD / "runs.conf.example"
LIMIT = 1.5


def settings() -> dict[str, list[str]]:
    """Every setting of the unit with its values in order."""
    found: dict[str, list[str]] = {}
    for line in UNIT.read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            found.setdefault(key, []).append(value)
    return found


def one(key: str) -> str:
    (value,) = settings()[key]
    return value


@pytest.fixture(params=["unit", "unit and drop-in"])
def installed(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The unit as installed, with a program that exists on this machine in place of ours."""
    program = tmp_path / "tailwatch"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/usr/bin/tailwatch", str(program)))
    if request.param == "unit and drop-in":
        drop_ins = tmp_path / f"{UNIT.name}.d"
        drop_ins.mkdir()
        shutil.copy(DROP_IN, drop_ins / "runs.conf")
    return unit


def test_systemd_understands_every_line(installed: Path) -> None:
    """systemd-analyze verify has nothing to say about the unit, alone or with the site's part."""
    result = run(systemd_analyze(), "verify", installed)
    assert result.returncode == 0, said(result)
    assert result.stdout + result.stderr == ""


def test_exposure_is_low(installed: Path) -> None:
    """systemd's own rating of the unit's exposure is 1.5 or less (a plain unit has 9.2)."""
    result = run(systemd_analyze(), "security", "--offline=yes", "--no-pager", installed)
    exposure = re.search(r"Overall exposure level for \S+: ([\d.]+)", result.stdout)
    assert exposure, said(result)
    assert float(exposure[1]) <= LIMIT, said(result)


def test_settings_are_checked_before_start_and_reload() -> None:
    """Start and reload first check the same file that the daemon then reads."""
    check = "/usr/bin/tailwatch config --check --config /etc/tailwatch/tailwatch.toml"
    assert one("ExecStartPre") == check
    assert one("ExecStart") == "/usr/bin/tailwatch run --config /etc/tailwatch/tailwatch.toml"
    assert settings()["ExecReload"] == [check, "/bin/kill -HUP $MAINPID"]


def test_daemon_reports_and_is_watched() -> None:
    """systemd waits until the daemon is ready, notices when it hangs, and starts it again."""
    assert one("Type") == "notify"
    assert int(one("WatchdogSec").removesuffix("s")) > 0
    assert one("Restart") == "on-failure"


def test_no_restart_where_it_cannot_help() -> None:
    """A wrong setting (2) and an unusable state (78) are not tried again and again."""
    assert one("RestartPreventExitStatus").split() == ["2", "78"]


def test_process_metrics_survive() -> None:
    """ProcSubset= stays unset: with "pid" all process_* metrics would be gone."""
    assert "ProcSubset" not in settings()


def test_homes_are_not_silently_empty() -> None:
    """Runs below /home can be read: an empty /home would look like no training at all."""
    assert one("ProtectHome") == "read-only"
    assert "InaccessiblePaths" not in settings()


def test_missing_directory_does_not_stop_the_unit() -> None:
    """A system without /opt or /lib64 can start the unit: each path but /usr may be absent."""
    required = [path for path in one("ExecPaths").split() if not path.startswith("-")]
    assert required == ["/usr"]


def test_missing_webhook_does_not_stop_the_unit() -> None:
    """The credential has no path, since one with a path fails the unit when the file is absent."""
    assert one("LoadCredential") == "tailwatch.webhook_url"
    assert "SetCredential" not in settings()


def test_state_directory_can_have_a_neighbour() -> None:
    """The state directory is one plain name, which another instance does not sit inside."""
    assert one("StateDirectory") == "tailwatch"
    assert one("DynamicUser") == "yes"


def test_trainer_goes_first() -> None:
    """The daemon has bounds on memory, CPU and tasks, and is the one to die when memory is out."""
    for key in ("MemoryHigh", "MemoryMax", "CPUQuota", "TasksMax"):
        assert re.fullmatch(r"\d+[MG%]?", one(key)), key
    assert one("MemorySwapMax") == "0"
    assert int(one("OOMScoreAdjust")) > 0
    assert int(one("Nice")) > 0
    assert int(one("CPUWeight")) < 100


def test_secret_is_in_no_setting_and_no_core_file() -> None:
    """The webhook URL cannot be read over D-Bus, and no core file is written that holds it."""
    assert "WEBHOOK" not in " ".join(one("Environment").split())
    assert one("LimitCORE") == "0"
