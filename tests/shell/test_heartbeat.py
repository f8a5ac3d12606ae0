"""systemd's notify protocol, against a real datagram socket."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tailwatch.core.findings import Severity
from tailwatch.shell.heartbeat import Heartbeat, status_of
from tests.shell.helpers import run_view, snapshot, standing


class Manager:
    """The end of the socket that systemd has."""

    def __init__(self, address: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address)
        self.socket.setblocking(False)

    def heard(self) -> list[str]:
        """What has come since this was last asked."""
        messages = []
        while True:
            try:
                messages.append(self.socket.recv(65536).decode())
            except BlockingIOError:
                return messages


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Manager, str]]:
    """A listening manager, and what it would put into NOTIFY_SOCKET."""
    if request.param == "path":
        shown = bound = str(tmp_path / "notify")
    else:
        shown = f"@tailwatch-test-{os.getpid()}-{tmp_path.name}"
        bound = "\0" + shown[1:]
    made = Manager(bound)
    yield made, shown
    made.socket.close()


def test_states_are_told(manager: tuple[Manager, str]) -> None:
    """Ready with a status, reloading with its time, and stopping are told in systemd's words."""
    systemd, address = manager
    heartbeat = Heartbeat({"NOTIFY_SOCKET": address})
    heartbeat.ready("following 2 path(s)")
    heartbeat.reloading(12.5)
    heartbeat.stopping()
    assert systemd.heard() == [
        "READY=1\nSTATUS=following 2 path(s)",
        "RELOADING=1\nMONOTONIC_USEC=12500000",
        "STOPPING=1",
    ]


def test_beat_is_sent_every_half_interval(manager: tuple[Manager, str]) -> None:
    """Of many turns those are told that come half of the asked interval after the last."""
    systemd, address = manager
    heartbeat = Heartbeat({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "10000000"})
    told = []
    for tenth in range(0, 121):
        heartbeat.beat(100.0 + tenth / 10, None)
        told += [tenth / 10] * len(systemd.heard())
    assert told == [0.0, 5.0, 10.0]


def test_beat_says_watchdog(manager: tuple[Manager, str]) -> None:
    """The sign of life is the word that systemd waits for."""
    systemd, address = manager
    variables = {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "1000000"}
    Heartbeat(variables | {"WATCHDOG_PID": str(os.getpid())}).beat(0.0, None)
    assert systemd.heard() == ["WATCHDOG=1\nSTATUS=reading the state"]


@pytest.mark.parametrize(
    "variables", [{}, {"WATCHDOG_USEC": "often"}, {"WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"}]
)
def test_no_beat_that_was_not_asked_for(
    manager: tuple[Manager, str], variables: dict[str, str]
) -> None:
    """Without an interval, or with one that is for another process, no beat is sent."""
    systemd, address = manager
    Heartbeat({"NOTIFY_SOCKET": address} | variables).beat(0.0, None)
    assert systemd.heard() == []


def test_status_may_hold_anything(manager: tuple[Manager, str]) -> None:
    """A path that is no UTF-8 in the status does not stop the message."""
    systemd, address = manager
    Heartbeat({"NOTIFY_SOCKET": address}).ready(os.fsdecode(b"caf\xff"))
    assert systemd.heard() == ["READY=1\nSTATUS=caf?"]


@pytest.mark.parametrize("address", ["", "/no/such/socket", "/" + "x" * 300, "vsock:2:1"])
def test_nobody_listening_is_no_trouble(address: str) -> None:
    """Outside of systemd, or with a socket that is gone, every call returns quietly."""
    heartbeat = Heartbeat({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "1000"})
    said = (heartbeat.ready("x"), heartbeat.beat(0.0, None), heartbeat.stopping())

    assert said == (None, None, None)


def test_full_socket_does_not_hold_the_engine(manager: tuple[Manager, str]) -> None:
    """A manager that does not read delays a turn by a fraction of a second and no more."""
    systemd, address = manager
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as filler:
        filler.setblocking(False)
        with suppress(BlockingIOError):
            while True:
                filler.sendto(b"x", systemd.socket.getsockname())
    heartbeat = Heartbeat({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "1000000"})
    began_s = time.monotonic()
    heartbeat.beat(0.0, None)
    assert time.monotonic() - began_s < 2.0
    systemd.heard()
    heartbeat.beat(1.0, None)
    assert systemd.heard() == ["WATCHDOG=1\nSTATUS=reading the state"]


def test_status_counts_runs_and_what_is_wrong() -> None:
    """The line in `systemctl status` has the runs that are there, the bad ones and what waits."""
    runs = [
        run_view("good"),
        run_view("bad", standing=[standing()]),
        run_view("so-so", state="quiet", standing=[standing("x", Severity.WARNING)]),
        run_view("over", state="ended", standing=[standing()]),
    ]
    calm = status_of(snapshot(*runs))
    behind = status_of(snapshot(*runs, gauges={("outbox_pending",): 2}))

    assert status_of(None) == "reading the state"
    assert calm == "following 3 run(s), 1 with a critical finding"
    assert behind == f"{calm}; 2 notice(s) not delivered yet"
