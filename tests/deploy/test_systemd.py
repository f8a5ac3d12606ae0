"""The systemd units: understood without a murmur, shut tight, and free of the known traps."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.deploy.tools import SYSTEMD, debian_tool, run, said, systemd_analyze

UNIT = SYSTEMD / "tailwatch.service"
TEMPLATE = SYSTEMD / "tailwatch@.service"
DROP_INS = {path.stem: path for path in sorted((SYSTEMD / "drop-ins").glob("*.conf"))}
COMBINATIONS = [
    "", *DROP_INS, "runs static-user", "runs egress", "static-user egress", "runs static-user egress",
    "other-users egress", "other-users static-user",
]  # fmt: skip
LIMIT = 1.5


def settings(path: Path = UNIT) -> dict[str, list[str]]:
    """Every setting of a unit with its values in order."""
    found: dict[str, list[str]] = {}
    for line in path.read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            found.setdefault(key, []).append(value)
    return found


def one(key: str, path: Path = UNIT) -> str:
    (value,) = settings(path)[key]
    return value


@pytest.fixture(params=["tailwatch.service", "tailwatch@teama.service"])
def unit(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=COMBINATIONS, ids=lambda names: names or "alone")
def installed(request: pytest.FixtureRequest, unit: str, tmp_path: Path) -> Path:
    """A unit as installed, with a program that exists on this machine in place of ours."""
    program = tmp_path / "tailwatch"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    made = tmp_path / unit
    source = TEMPLATE if "@" in unit else UNIT
    made.write_text(source.read_text().replace("/usr/bin/tailwatch", str(program)))
    drop_ins = tmp_path / f"{unit}.d"
    drop_ins.mkdir()
    for name in request.param.split():
        shutil.copy(DROP_INS[name], drop_ins)
    return made


def test_systemd_understands_every_line(installed: Path) -> None:
    """systemd-analyze verify has nothing to say about a unit, alone or with a site's parts."""
    result = run(systemd_analyze(), "verify", installed)
    assert result.returncode == 0, said(result)
    assert result.stdout + result.stderr == ""


def test_exposure_is_low(installed: Path) -> None:
    """systemd's own rating of a unit's exposure is 1.5 or less (a plain unit has 9.2)."""
    result = run(systemd_analyze(), "security", "--offline=yes", "--no-pager", installed)
    exposure = re.search(r"Overall exposure level for \S+: ([\d.]+)", result.stdout)
    assert exposure, said(result)
    assert float(exposure[1]) <= LIMIT, said(result)


def test_template_is_the_unit_for_one_instance() -> None:
    """tailwatch@ is tailwatch.service with a name of its own for all that two cannot share."""
    plain, template = settings(UNIT), settings(TEMPLATE)
    differ = {key for key in plain | template if plain.get(key) != template.get(key)}
    assert differ == {
        "Description", "ExecStartPre", "ExecStart", "ExecReload", "EnvironmentFile",
        "LoadCredential", "User", "StateDirectory", "RuntimeDirectory",
    }  # fmt: skip
    for key in differ:
        assert all("%i" in value for value in template[key] if "MAINPID" not in value), key
    # Under the name that the program looks for, from a file for this instance alone.
    assert one("LoadCredential", TEMPLATE) == "tailwatch.webhook_url:tailwatch.%i.webhook_url"
    # Not below a directory that another unit owns: with DynamicUser= it would not start.
    assert one("StateDirectory", TEMPLATE) == "tailwatch-%i"
    # Or all instances would be one user, and each could read the state of the others.
    assert one("User", TEMPLATE) == "tailwatch-%i"


def test_a_drop_in_that_reads_everything_sees_only_the_runs() -> None:
    """Who may read every file is shown no home, no key and no password, and still not root."""
    found = settings(DROP_INS["other-users"])
    assert (
        found["CapabilityBoundingSet"] == found["AmbientCapabilities"] == ["CAP_DAC_READ_SEARCH"]
    )
    assert found["ProtectHome"] == ["tmpfs"]
    hidden = found["InaccessiblePaths"][0].split()
    assert {"-/etc/shadow", "-/etc/ssl/private", "-/etc/ssh"} <= set(hidden)
    # The unit's own state lies there: without it the unit does not start (226/NAMESPACE).
    assert not [path for path in hidden if path.lstrip("-").startswith("/var/lib")]


def test_egress_allows_the_port_that_is_served() -> None:
    """With the door shut to everything else, the default port can still be opened."""
    assert settings(DROP_INS["egress"])["SocketBindAllow"] == ["tcp:10836"]


def test_user_can_be_made(tmp_path: Path) -> None:
    """systemd-sysusers makes the user and the group that the drop-in for a static user names."""
    (tmp_path / "etc").mkdir()
    tool = debian_tool("systemd-sysusers", "systemd")
    result = run(tool, f"--root={tmp_path}", SYSTEMD / "sysusers.d" / "tailwatch.conf")
    assert result.returncode == 0, said(result)
    name = one("User", DROP_INS["static-user"])
    (user,) = (tmp_path / "etc/passwd").read_text().splitlines()
    assert user.split(":")[0] == name
    assert user.split(":")[5:] == ["/var/lib/tailwatch", "/usr/sbin/nologin"]
    (group,) = (tmp_path / "etc/group").read_text().splitlines()
    assert group.split(":")[0] == one("Group", DROP_INS["static-user"])


def test_directories_can_be_made(tmp_path: Path) -> None:
    """systemd-tmpfiles makes the directory of the settings, and one for secrets that is shut."""
    tool = debian_tool("systemd-tmpfiles", "systemd")
    path = SYSTEMD / "tmpfiles.d" / "tailwatch.conf"
    result = run(tool, f"--root={tmp_path}", "--create", path)
    # Only root can give them to root; all else is done before.
    assert result.returncode == 0 or "not permitted" in result.stderr, said(result)
    modes = {p.name: p.stat().st_mode & 0o777 for p in (tmp_path / "etc").iterdir()}
    assert modes == {"tailwatch": 0o755, "credstore": 0o700}


def test_kernel_settings_exist() -> None:
    """Every name in sysctl.d is one that this kernel knows, with a number."""
    lines = (SYSTEMD / "sysctl.d" / "60-tailwatch.conf").read_text().splitlines()
    found = dict(line.split(" = ") for line in lines if line and not line.startswith("#"))
    assert found
    for name, value in found.items():
        assert Path("/proc/sys", *name.split(".")).exists(), name
        assert int(value) > 0


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


def test_readme_names_only_what_is_there() -> None:
    """Every file that README names is there, and every part that is there is named."""
    text = (SYSTEMD / "README.md").read_text()
    named = set(re.findall(r"(?:drop-ins|sysusers\.d|sysctl\.d)/[\w-]+\.conf", text))
    kept = {"drop-ins", "sysusers.d", "sysctl.d"}
    there = {f"{p.parent.name}/{p.name}" for p in SYSTEMD.rglob("*.conf")}
    assert named == {name for name in there if name.split("/")[0] in kept}


def test_readme_says_the_exposure_of_each_part(tmp_path: Path) -> None:
    """The table of parts has the figure that systemd gives for the unit with that part."""
    rows = re.findall(
        r"^\| `drop-ins/([\w-]+)\.conf` .*\| ([\d.]+) \|$",
        (SYSTEMD / "README.md").read_text(),
        re.MULTILINE,
    )
    assert {name for name, _ in rows} == set(DROP_INS)
    for name, said_exposure in rows:
        unit = tmp_path / name / UNIT.name
        drop_ins = unit.with_name(f"{UNIT.name}.d")
        drop_ins.mkdir(parents=True)
        shutil.copy(UNIT, unit)
        shutil.copy(DROP_INS[name], drop_ins)
        result = run(systemd_analyze(), "security", "--offline=yes", "--no-pager", unit)
        assert f"Overall exposure level for {UNIT.name}: {said_exposure} " in result.stdout, name
