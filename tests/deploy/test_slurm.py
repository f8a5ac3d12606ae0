"""The scripts for Slurm, with a Slurm that is played."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families as parse

from tests.deploy.tools import DEPLOY, promtool, run, said

HERE = DEPLOY / "slurm"
HOSTILE = '/data/é\udcffa"} 1\n\\evil{x="\t'


def play(script: str, *args: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script as slurmd does: with these variables and a short PATH."""
    return subprocess.run(
        [str(HERE / script), *args],
        env={"PATH": os.environ["PATH"], **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def job(directory: Path, **more: str) -> dict[str, str]:
    return {
        "TAILWATCH_TEXTFILES": str(directory),
        "SLURM_JOB_ID": "4711",
        "SLURM_JOB_USER": "alice",
        "SLURM_JOB_UID": str(os.getuid()),
        "SLURM_JOB_GID": str(os.getgid()),
        **more,
    }


@pytest.mark.parametrize("work_dir", ["/data/runs/exp", HOSTILE], ids=["plain", "hostile"])
def test_prolog_says_which_job_runs_here(tmp_path: Path, work_dir: str) -> None:
    """One series with the job, its user and its directory, whatever that is called."""
    result = play("prolog.sh", **job(tmp_path, SLURM_JOB_WORK_DIR=work_dir))
    assert (result.returncode, result.stdout + result.stderr) == (0, "")
    (file,) = tmp_path.iterdir()
    assert file.name.endswith(".prom")
    (family,) = parse(file.read_text())
    (sample,) = family.samples
    printable = "".join(c for c in work_dir if c.isprintable())
    assert sample.labels == {"job_id": "4711", "user": "alice", "work_dir": printable}
    checked = subprocess.run(
        [promtool(), "check", "metrics"], input=file.read_bytes(), capture_output=True, check=False
    )
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("script", ["prolog.sh", "epilog.sh"])
@pytest.mark.parametrize(
    "trouble", ["no directory", "no job", "not to be written to", "no program"]
)
def test_nothing_drains_the_node(tmp_path: Path, script: str, trouble: str) -> None:
    """Whatever is missing or fails, slurmd hears that all is well."""
    variables = job(tmp_path, SLURM_JOB_WORK_DIR="/nowhere", TAILWATCH="/bin/false")
    if trouble == "no directory":
        variables["TAILWATCH_TEXTFILES"] = str(tmp_path / "none")
    elif trouble == "no job":
        del variables["SLURM_JOB_ID"]
    elif trouble == "not to be written to":
        variables["TAILWATCH_TEXTFILES"] = "/proc/self"
    else:
        variables["TAILWATCH"] = "/no/such/program"
    assert play(script, **variables).returncode == 0


def logged(tmp_path: Path, tailwatch: str, **more: str) -> str:
    """What the epilog sends to the system's log when *tailwatch* is the program."""
    log = tmp_path / "log"
    log.write_text("")
    program(tmp_path / "bin" / "logger", f'{{ echo "$@"; cat; }} >> {log}')
    (tmp_path / "texts").mkdir(exist_ok=True)
    variables = job(
        tmp_path / "texts",
        PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        TAILWATCH=str(program(tmp_path / "bin" / "tailwatch", tailwatch)),
        SLURM_JOB_WORK_DIR="/data/runs/exp",
        **more,
    )
    assert play("prolog.sh", **variables).returncode == 0
    assert len(list((tmp_path / "texts").iterdir())) == 1
    assert play("epilog.sh", **variables).returncode == 0
    # In every case, the series of the job is gone.
    assert list((tmp_path / "texts").iterdir()) == []
    return log.read_text()


def test_epilog_tells_what_is_critical(tmp_path: Path) -> None:
    """A critical finding in the job's directory is a warning in the log, with the job's id."""
    text = logged(tmp_path, 'echo "$@"; echo "critical nan_loss"; exit 1')
    assert text.splitlines() == [
        "-t tailwatch -p user.warning --id=4711",
        "check -- /data/runs/exp",
        "critical nan_loss",
    ]


@pytest.mark.parametrize("code", [0, 2], ids=["well", "no metric file"])
def test_epilog_is_silent_of_what_is_no_news(tmp_path: Path, code: int) -> None:
    """A run that is well, and a directory without runs, are not told."""
    assert logged(tmp_path, f"echo something; exit {code}") == ""


def test_epilog_has_an_end(tmp_path: Path) -> None:
    """A check that hangs, on a dead file system say, holds the node for its seconds and no longer."""
    assert logged(tmp_path, "exec sleep 600", TAILWATCH_CHECK_SECONDS="1") == ""


def test_epilog_checks_with_the_rights_of_the_user(public_path: Path) -> None:
    """Root does not read a user's files: the check runs as that user, and without it not at all."""
    text = logged(public_path, "id -u; id -g; exit 1")
    assert text.splitlines()[1:] == [str(os.getuid()), str(os.getgid())]
    if os.getuid() == 0:
        nobody = {"SLURM_JOB_UID": "65534", "SLURM_JOB_GID": "65534"}
        text = logged(public_path, "id -u; id -g; exit 1", **nobody)
        assert text.splitlines()[1:] == ["65534", "65534"]
        assert logged(public_path, "id -u; exit 1", SLURM_JOB_UID="") == ""


SINFO = """
gpu-01  gpu:h100:8(S:0-1)
gpu-01  gpu:h100:8(S:0-1)
gpu-02  gpu:h100:8
cpu-01  (null)
"""


def test_targets_are_the_nodes_with_a_gpu(tmp_path: Path) -> None:
    """Each GPU node is one target, in however many partitions it is, and Prometheus takes the list."""
    program(tmp_path / "bin" / "sinfo", f"cat <<'END'{SINFO}END")
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    out = tmp_path / "targets.json"
    result = play("targets.sh", str(out), PATH=path)
    assert result.returncode == 0, said(result)
    assert json.loads(out.read_text()) == [{"targets": ["gpu-01:10836", "gpu-02:10836"]}]
    config = {
        "scrape_configs": [{"job_name": "tailwatch", "file_sd_configs": [{"files": [str(out)]}]}]
    }
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(config))
    checked = run(promtool(), "check", "config", tmp_path / "prometheus.yml")
    assert checked.returncode == 0, said(checked)


@pytest.mark.parametrize("sinfo", ["exit 1", "echo 'cpu-01 (null)'"], ids=["down", "empty"])
def test_the_last_targets_stay_when_slurm_is_down(tmp_path: Path, sinfo: str) -> None:
    """No answer, or one without a GPU, is no reason to stop watching."""
    program(tmp_path / "bin" / "sinfo", sinfo)
    out = tmp_path / "targets.json"
    out.write_text("the last")
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    assert play("targets.sh", str(out), PATH=path).returncode != 0
    assert out.read_text() == "the last"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bin", "targets.json"]
