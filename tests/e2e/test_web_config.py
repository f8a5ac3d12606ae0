"""TLS, passwords and the text file, with a real daemon and a real Prometheus."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import math
import re
import shutil
import signal
import socket
import ssl
import subprocess
import urllib.parse
from pathlib import Path
from typing import Any

import bcrypt
import yaml

from tests.certificates import certificates
from tests.deploy.tools import DEPLOY, debian_tool, promtool, run, said

from .daemon import Daemon, daemon, environment, row, tailwatch, wait_for, write
from .servers import Server, free_port

EXAMPLE = DEPLOY / "prometheus" / "web-config.example.yml"


def secured(directory: Path) -> Path:
    """The shipped example beside certificates of ours, with a password that is known."""
    shutil.copytree(certificates(), directory)
    hashed = bcrypt.hashpw(b"right", bcrypt.gensalt(4)).decode()
    text, replaced = re.subn(
        r"(  prometheus: )\$2\S+", lambda m: m[1] + hashed, EXAMPLE.read_text()
    )
    assert replaced == 1
    (directory / "web.yml").write_text(text)
    (directory / "shipped.yml").write_text(EXAMPLE.read_text())
    (directory / "password").write_text("right")
    return directory / "web.yml"


class Scraper(Server):
    """Prometheus with the shipped job, and with three that should be refused."""

    def __init__(self, directory: Path, secrets: Path, target: str) -> None:
        port = free_port()
        super().__init__(
            directory,
            port,
            [
                debian_tool("prometheus", "prometheus"),
                f"--config.file={secrets / 'prometheus.yml'}",
                f"--storage.tsdb.path={directory / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
        )
        comment = EXAMPLE.read_text().partition("# The other end, in prometheus.yml:\n")[2]
        config = yaml.safe_load(re.sub(r"(?m)^# ?", "", comment))
        config["global"] = {"scrape_interval": "1s"}
        (job,) = config["scrape_configs"]
        job["static_configs"] = [{"targets": [target]}]
        guess = {"basic_auth": {"username": "prometheus", "password": "wrong"}}
        stranger = {"cert_file": "stranger.crt", "key_file": "stranger.key", "ca_file": "ca.crt"}
        config["scrape_configs"] += [
            {**job, **guess, "job_name": "guess"},
            {**job, "tls_config": stranger, "job_name": "stranger"},
            {**job, "tls_config": {"ca_file": "ca.crt"}, "job_name": "nobody"},
        ]
        (secrets / "prometheus.yml").write_text(yaml.safe_dump(config))

    def targets(self) -> dict[str, tuple[str, str]]:
        """Job -> health and last error, of those that were scraped."""
        got = json.loads(self.get("/api/v1/targets") or b'{"data": {"activeTargets": []}}')
        return {
            each["labels"]["job"]: (each["health"], each["lastError"])
            for each in got["data"]["activeTargets"]
            if each["health"] != "unknown"
        }

    def value(self, expression: str) -> str | None:
        got = json.loads(
            self.get(f"/api/v1/query?{urllib.parse.urlencode({'query': expression})}") or b"{}"
        )
        found = got.get("data", {}).get("result", [])
        return str(found[0]["value"][1]) if found else None


def asked(tw: Daemon, secrets: Path, path: str, user: tuple[str, str] | None) -> tuple[int, str]:
    """Status and body, with the client's certificate."""
    context = ssl.create_default_context(cafile=str(secrets / "ca.crt"))
    context.load_cert_chain(secrets / "client.crt", secrets / "client.key")
    host, _, port = tw.address.rpartition(":")
    connection = http.client.HTTPSConnection(host, int(port), timeout=10, context=context)
    headers: dict[str, str] = {}
    if user is not None:
        headers["Authorization"] = "Basic " + base64.b64encode(":".join(user).encode()).decode()
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


RIGHT = ("prometheus", "right")


def test_prometheus_scrapes_with_certificate_and_password(tmp_path: Path) -> None:
    """With the shipped files Prometheus gets its page, and nobody whom they do not name does."""
    secrets = tmp_path / "secrets"
    file = secured(secrets)
    check = run(promtool(), "check", "web-config", str(file), str(secrets / "shipped.yml"))
    assert check.returncode == 0, said(check)
    made = Daemon(tmp_path, "--web.config.file", str(file))
    write(made.runs / "m.jsonl", row(1, 2.0) + row(2, math.nan))
    with contextlib.ExitStack() as stack:
        stack.callback(made.kill)
        made.start(ready=False)
        host, _, port = made.address.rpartition(":")
        # One that says nothing, all the time.
        stack.enter_context(socket.create_connection((host, int(port))))
        scraper = Scraper(tmp_path / "prometheus", secrets, made.address)
        stack.callback(scraper.close)
        scraper.start()
        count = 'anomaly_findings_total{job="tailwatch",category="nan_loss"}'
        wait_for(lambda: scraper.value(count) == "1", 30, "the finding is in Prometheus")
        refused = "server returned HTTP status 401 Unauthorized"
        wait_for(lambda: scraper.targets().get("guess") == ("down", refused), 30, "the guess")
        for job in ("stranger", "nobody"):
            wait_for(lambda: "tls: " in scraper.targets().get(job, ("", ""))[1], 30, job)  # noqa: B023
        assert scraper.targets()["tailwatch"] == ("up", "")
        for job in ("guess", "stranger", "nobody"):
            assert scraper.value(f'max_over_time(up{{job="{job}"}}[1h])') == "0"
    assert "Traceback" not in made.all_output()
    assert "right" not in made.all_output()


def test_a_wrong_web_config_at_the_start(tmp_path: Path) -> None:
    """One line that names file, key and what was expected, exit 2; `config --check` says it too."""
    file = tmp_path / "web.yml"
    file.write_text("tls_server_config:\n  cert_file: no.crt\n  key_file: no.key\n")
    (tmp_path / "runs").mkdir()
    expected = (
        f"{file}: tls_server_config.cert_file: {tmp_path}/no.crt: cannot be read: No such file"
    )
    for command, args in (
        ("run", [str(tmp_path / "runs"), "--state-dir", str(tmp_path / "state"), "--listen", "127.0.0.1:0"]),
        ("config", ["--check"]),
        ("config", []),
    ):  # fmt: skip
        env = environment(TAILWATCH_WEB__CONFIG_FILE=str(file))
        result = tailwatch(command, *args, env=env)
        assert result.returncode == 2
        assert result.stderr.splitlines()[-1].startswith(f"tailwatch: {expected}")
        assert "Traceback" not in result.stderr


def status(tw: Daemon, secrets: Path, password: str) -> subprocess.CompletedProcess[str]:
    """`tailwatch status` with the client's certificate and a password."""
    client = secrets / "client.yml"
    client.write_text(
        f"basic_auth: {{username: prometheus, {password}}}\n"
        "tls_config: {ca_file: ca.crt, cert_file: client.crt, key_file: client.key}\n"
    )
    url = f"https://{tw.address}"
    return tailwatch("status", "--url", url, "--http.config.file", str(client))


def test_status(tmp_path: Path) -> None:
    """A daemon's runs as a table and as a document; 1 and one line when nobody answers."""
    with daemon(tmp_path) as tw:
        write(tw.runs / "m.jsonl", row(1, 2.0) + row(2, math.nan))
        wait_for(lambda: tw.metric("anomaly_findings_total", run="m", category="nan_loss") == 1)
        listen = {"TAILWATCH_WEB__LISTEN": tw.address}
        table = tailwatch("status", env=environment(**listen))
        assert (table.returncode, table.stderr) == (0, "")
        assert re.search(r"(?m)^m +active +2 +NaN .* critical nan_loss: ", table.stdout)
        assert "\x1b" not in table.stdout
        document = tailwatch("status", "--format", "json", env=environment(**listen))
        (run_facts,) = json.loads(document.stdout)["runs"]
        assert (run_facts["run"], run_facts["findings"][0]["category"]) == ("m", "nan_loss")
    gone = tailwatch("status", env=environment(**listen))
    assert (gone.returncode, gone.stdout) == (1, "")
    assert (
        gone.stderr == f"tailwatch: no daemon answers at http://{tw.address}: Connection refused\n"
    )


def test_sighup_reads_the_web_config_again(tmp_path: Path) -> None:
    """A wrong one leaves the old in force and is said by the gauge; a right one is taken."""
    secrets = tmp_path / "secrets"
    file = secured(secrets)
    whole = file.read_text()
    made = Daemon(tmp_path, "--web.config.file", str(file))

    def reload_success() -> Any:
        status, text = asked(made, secrets, "/metrics", RIGHT)
        return (
            re.findall(r"(?m)^tailwatch_config_reload_success (\S+)$", text)[0]
            if status == 200
            else None
        )

    try:
        made.start(ready=False)
        wait_for(lambda: asked(made, secrets, "/-/ready", RIGHT)[0] == 200)
        assert status(made, secrets, "password_file: password").returncode == 0
        assert "wants a password" in status(made, secrets, "password: wrong").stderr
        assert asked(made, secrets, "/-/ready", None)[0] == 401
        assert reload_success() == "1.0"
        file.write_text("tls_server_config: 3")
        assert reload_success() == "0.0"
        file.write_text(whole)
        assert reload_success() == "1.0"
        file.write_text("tls_server_config: 3")
        made.signal(signal.SIGHUP)
        wait_for(lambda: any(each["event"] == "settings_not_reloaded" for each in made.log()))
        assert reload_success() == "0.0"
        assert asked(made, secrets, "/-/ready", ("prometheus", "wrong"))[0] == 401

        # Less is asked of clients: taken on a reload only.
        file.write_text(whole.partition("basic_auth_users")[0])
        assert asked(made, secrets, "/-/ready", None)[0] == 401
        made.signal(signal.SIGHUP)
        starts = wait_for(lambda: [x for x in made.log() if x["event"] == "started"][1:])
        made.address = starts[0]["address"]
        wait_for(lambda: asked(made, secrets, "/-/ready", None)[0] == 200)
        assert reload_success() == "1.0"
    finally:
        made.kill()


def test_metrics_in_a_file_without_a_port(tmp_path: Path) -> None:
    """With `--listen none` no port is opened, and the file has what the page would have."""
    file = tmp_path / "textfile" / "tailwatch.prom"
    file.parent.mkdir()
    made = Daemon(tmp_path, "--textfile", str(file))
    made.args[made.args.index("--listen") + 1] = "none"
    write(made.runs / "m.jsonl", row(1, 2.0) + row(2, math.nan))
    try:
        made.start(ready=False)
        assert made.address == ""
        wait_for(file.exists, 30, "the file is there")
        wait_for(lambda: any("nan_loss" in str(each) for each in made.log()), 30, "the finding")
        assert made.process is not None
        inodes = {link.readlink().name for link in Path(f"/proc/{made.process.pid}/fd").iterdir()}
        listening = [
            x.split() for x in Path(f"/proc/{made.process.pid}/net/tcp").read_text().splitlines()
        ]
        assert not [x for x in listening[1:] if x[3] == "0A" and f"socket:[{x[9]}]" in inodes]
        assert made.stop() == 0
    finally:
        if made.process is not None and made.process.poll() is None:
            made.kill()
    line = 'anomaly_findings_total{category="nan_loss",run="m",severity="critical"} 1.0'
    assert line in file.read_text()
    assert "process_" not in file.read_text()  # node_exporter has its own.
    lint = run("sh", "-c", f"{promtool()} check metrics < {file}")
    assert (lint.returncode, lint.stdout, lint.stderr) == (0, "", ""), said(lint)
    assert file.stat().st_mode & 0o777 == 0o644


def test_a_text_file_that_cannot_be_written(tmp_path: Path) -> None:
    """It is said once and counted, and the daemon goes on."""
    with daemon(tmp_path, "--textfile", str(tmp_path / "gone" / "x.prom")) as tw:
        write(tw.runs / "m.jsonl", row(1, 2.0))
        wait_for(lambda: tw.metric("tailwatch_textfile_errors_total"), 20, "it is counted")
        wait_for(lambda: tw.metric("tailwatch_run_rows_total", run="m") == 1)
        told = [each for each in tw.log() if each["event"] == "textfile_not_written"]
        assert [each["error"] for each in told] == ["No such file or directory"]
