"""Debian's Prometheus and Alertmanager as real processes, with the files that we ship."""

from __future__ import annotations

import copy
import json
import re
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.tools import DEPLOY, debian_tool

from .daemon import Receiver, wait_for

SCALE = 60
"""In these tests a minute of the shipped rules is a second."""
EVERY = "1s"
BY_RUN = "by-run"
RESEND = "4s"
"""
How often Prometheus repeats a firing alert. One that is not repeated for four times as long ends,
so this is also how long a restart of Prometheus may take.
"""


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


class Server:
    """A program that serves HTTP on loopback, and keeps its directory when it is restarted."""

    def __init__(self, directory: Path, port: int, command: list[str]) -> None:
        directory.mkdir()
        self.port, self._command, self._log = port, command, directory / "log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        wait_for(self._ready, 60, f"{self._log} says ready")

    def _ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self._log.read_text()[-2000:]
        return self.get("/-/ready") is not None

    def get(self, path: str) -> bytes | None:
        """What it answers; None if that is not 200."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as got:
                return bytes(got.read())
        except OSError:
            return None

    def post(self, path: str, body: bytes, headers: dict[str, str]) -> int:
        """The status with which it answers."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as got:
                return int(got.status)
        except urllib.error.HTTPError as error:
            return error.code

    def stop(self) -> None:
        """SIGTERM, and wait until all that it keeps is on the disk."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(timeout=60)

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()


class Alertmanager(Server):
    """
    With our alertmanager.yml. Its Slack is *hook*, at a path with the name of the receiver.

    Args:
        directory: For its files; must not be there.
        hook: Takes the messages.
    """

    def __init__(self, directory: Path, hook: Receiver) -> None:
        port = free_port()
        program = debian_tool("prometheus-alertmanager", "prometheus-alertmanager")
        super().__init__(
            directory,
            port,
            [
                program,
                f"--config.file={directory / 'alertmanager.yml'}",
                f"--storage.path={directory / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
                "--cluster.listen-address=",
            ],
        )
        config = alertmanager_config()
        for receiver in config["receivers"]:
            url_file = directory / f"{receiver['name']}.url"
            url_file.write_text(f"{hook.url}/{receiver['name']}")
            for slack in receiver.get("slack_configs", []):
                slack["api_url_file"] = str(url_file)
        (directory / "alertmanager.yml").write_text(yaml.safe_dump(config))


def alertmanager_config() -> dict[str, Any]:
    """
    Ours, in a hurry, and with one receiver more: like "findings", but a group for each run.

    The shipped groups repeat the runs that they have told before whenever one joins; in a group
    of its own each message about a run is one that was sent for this run.
    """
    config = yaml.safe_load((DEPLOY / "alertmanager" / "alertmanager.yml").read_text())
    config["route"] |= {"group_wait": EVERY, "group_interval": EVERY}
    routes, receivers = config["route"]["routes"], config["receivers"]
    (route,) = (each for each in routes if each["receiver"] == "findings")
    (findings,) = (each for each in receivers if each["name"] == "findings")
    by_run = [*config["route"]["group_by"], "run"]
    routes.insert(0, {**route, "receiver": BY_RUN, "group_by": by_run, "continue": True})
    receivers.append({**copy.deepcopy(findings), "name": BY_RUN})
    return dict(config)


class Prometheus(Server):
    """
    With our prometheus.yml and our rules, `SCALE` times as fast.

    Args:
        directory: For its files; must not be there.
        target: Port of tailwatch.
        alertmanager: Port of Alertmanager.
    """

    def __init__(self, directory: Path, target: int, alertmanager: int) -> None:
        port = free_port()
        super().__init__(
            directory,
            port,
            [
                debian_tool("prometheus", "prometheus"),
                f"--config.file={directory / 'prometheus.yml'}",
                f"--storage.tsdb.path={directory / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
                f"--rules.alert.resend-delay={RESEND}",
            ],
        )
        config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
        config["global"] = {"scrape_interval": EVERY, "evaluation_interval": EVERY}
        for configs, at in (
            (config["scrape_configs"], target),
            (config["alerting"]["alertmanagers"], alertmanager),
        ):
            configs[0]["static_configs"] = [{"targets": [f"127.0.0.1:{at}"]}]
        (directory / "prometheus.yml").write_text(yaml.safe_dump(config))
        (directory / config["rule_files"][0]).write_text(yaml.safe_dump(scaled_rules()))

    def query(self, expression: str) -> list[dict[str, Any]]:
        """An instant query's result."""
        got = self.get(f"/api/v1/query?{urllib.parse.urlencode({'query': expression})}")
        return list(json.loads(got)["data"]["result"]) if got else []

    def evaluations(self) -> float:
        """How often this process has evaluated the rules about findings."""
        text = (self.get("/metrics") or b"").decode()
        name = r"prometheus_rule_group_iterations_total\{.*tailwatch-findings.*\} (\S+)"
        found = re.search(name, text)
        return float(found[1]) if found else 0.0


def scaled_rules() -> dict[str, Any]:
    """Our rules, every duration in them `SCALE` times as short."""
    text = (DEPLOY / "prometheus" / "tailwatch.rules.yml").read_text()
    rules = yaml.safe_load(text)
    for group in rules["groups"]:
        group["interval"] = EVERY
        for rule in group["rules"]:
            for key in {"expr", "for"} & set(rule):
                rule[key] = scaled(rule[key])
    return dict(rules)


def scaled(expression: str) -> str:
    """
    PromQL, every duration in it `SCALE` times as short.

    >>> scaled("max_over_time(x[6h] offset 16m) < 15 * 60 and y < 6 * 3600 or z > 64 * 1024")
    'max_over_time(x[360s] offset 16s) < 15 * 1 and y < 6 * 60 or z > 64 * 1024'
    """
    unit_s = {"m": 60, "h": 3600}
    shorter = re.sub(
        r"\b(\d+)([mh])\b", lambda m: f"{int(m[1]) * unit_s[m[2]] // SCALE}s", expression
    )
    return re.sub(r"\* (60|3600)\b", lambda m: f"* {int(m[1]) // SCALE}", shorter)
