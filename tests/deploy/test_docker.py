"""The container files, as far as they can be judged without a container engine."""

from __future__ import annotations

import http.server
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import yaml

from tests.deploy.tools import DEPLOY, ROOT, python_tool, run, said

DOCKER = DEPLOY / "docker"
DOCKERFILE = DOCKER / "Dockerfile"
COMPOSE = yaml.safe_load((DOCKER / "compose.yml").read_text())
# Made by the person who starts it: the secret and the runs.
NOT_IN_THE_REPOSITORY = {"./webhook_url", "${RUNS:-./runs}"}


def instruction(name: str) -> str:
    """What follows the last instruction of this name, continuation lines joined."""
    text = DOCKERFILE.read_text().replace("\\\n", " ")
    found: list[str] = re.findall(rf"^{name}\s+(.*)$", text, re.MULTILINE)
    return found[-1].strip()


def health_command(port: int) -> list[str]:
    """The HEALTHCHECK of the image, for this Python and this port."""
    command = json.loads(instruction("HEALTHCHECK").split("CMD", 1)[1])
    assert command[0] == "python"
    assert command[2].count("10836") == 1
    return [sys.executable, command[1], command[2].replace("10836", str(port))]


@contextmanager
def daemon(status: int) -> Iterator[tuple[int, list[str]]]:
    """A server that answers every request with this status; its port and the paths asked for."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1], asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_dockerfile_is_clean() -> None:
    """hadolint finds nothing in the Dockerfile."""
    result = run(python_tool("hadolint"), DOCKERFILE)
    assert result.returncode == 0, said(result)
    assert result.stdout == ""


def test_health_check_follows_the_daemon() -> None:
    """The container is healthy when the daemon says so, and only then."""
    with daemon(200) as (port, asked):
        assert subprocess.run(health_command(port), timeout=30, check=False).returncode == 0
    assert asked == ["/-/healthy"]
    with daemon(503) as (port, _):
        assert subprocess.run(health_command(port), timeout=30, check=False).returncode == 1
    gone = subprocess.run(health_command(port), timeout=30, check=False, stderr=subprocess.PIPE)
    assert gone.returncode == 1


def test_health_check_does_not_ask_through_a_proxy() -> None:
    """A proxy that the webhooks need does not make a healthy container look sick."""
    dead = {"http_proxy": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9"}
    with daemon(200) as (port, _):
        result = subprocess.run(health_command(port), env=dead, timeout=30, check=False)
    assert result.returncode == 0


def test_container_listens_on_every_address() -> None:
    """The default command opens port 10836 to the outside of the container and keeps its state."""
    command = json.loads(instruction("CMD"))
    assert json.loads(instruction("ENTRYPOINT")) == ["tailwatch"]
    assert command[0] == "run"
    assert command[command.index("--listen") + 1] == "0.0.0.0:10836"
    assert instruction("EXPOSE") == "10836"
    state = command[command.index("--state-dir") + 1]
    assert json.loads(instruction("VOLUME")) == [state]


def test_container_does_not_run_as_root() -> None:
    """The user is a number above 0, so that a cluster can see that it is not root."""
    uid, gid = instruction("USER").split(":")
    assert int(uid) > 0
    assert int(gid) > 0


def test_build_context_holds_what_is_copied_and_no_more() -> None:
    """Everything that the Dockerfile copies passes .dockerignore, and nothing else does."""
    copied = re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE.read_text(), re.MULTILINE)
    sources = {source for line in copied for source in line.split()[:-1]}
    ignore = (DOCKER / "Dockerfile.dockerignore").read_text().split("\n")
    lines = [line for line in ignore if line and not line.startswith("#")]
    assert lines[0] == "*"
    assert {line[1:] for line in lines if line.startswith("!")} == sources


def test_compose_mounts_and_secrets_exist() -> None:
    """Every file, directory, volume and secret that compose.yml names exists."""
    used_volumes, used_secrets = set(), set()
    for service in COMPOSE["services"].values():
        used_secrets |= set(service.get("secrets", []))
        for volume in service["volumes"]:
            source = volume["source"]
            if volume["type"] == "volume":
                used_volumes.add(source)
            elif source not in NOT_IN_THE_REPOSITORY:
                assert (DOCKER / source).exists(), source
    assert used_volumes == set(COMPOSE["volumes"])
    assert used_secrets == set(COMPOSE["secrets"])
    assert {secret["file"] for secret in COMPOSE["secrets"].values()} <= NOT_IN_THE_REPOSITORY
    build = COMPOSE["services"]["tailwatch"]["build"]
    assert (DOCKER / build["context"]).resolve() == ROOT
    assert (DOCKER / build["context"] / build["dockerfile"]).resolve() == DOCKERFILE


@pytest.mark.parametrize("service", COMPOSE["services"])
def test_compose_opens_ports_on_loopback_only(service: str) -> None:
    """No service of the demo can be reached from another machine."""
    ports = COMPOSE["services"][service]["ports"]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_compose_gives_the_daemon_no_rights() -> None:
    """The daemon has a read-only root, no capability, a memory limit and read-only runs."""
    service = COMPOSE["services"]["tailwatch"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["mem_limit"]
    (runs,) = [volume for volume in service["volumes"] if volume["type"] == "bind"]
    assert runs["read_only"] is True


def test_names_in_the_configurations_are_services_of_the_demo() -> None:
    """Prometheus finds tailwatch and Alertmanager under the names that compose.yml gives them."""
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    targets = [
        target
        for place in [*config["scrape_configs"], *config["alerting"]["alertmanagers"]]
        for group in place["static_configs"]
        for target in group["targets"]
    ]
    assert targets
    assert {target.split(":")[0] for target in targets} <= set(COMPOSE["services"])
