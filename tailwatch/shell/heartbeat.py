"""systemd's notify protocol: ready, reloading, stopping, and signs of life from the engine."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Mapping

from ..core.findings import Severity
from ..messages import Snapshot

SEND_TIMEOUT_S = 0.2


class Heartbeat:
    """
    Speaks to systemd if it listens; otherwise does nothing.

    Args:
        environment: Holds NOTIFY_SOCKET and WATCHDOG_USEC, as systemd sets them.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._address = environment.get("NOTIFY_SOCKET", "")
        usec = environment.get("WATCHDOG_USEC", "")
        ours = environment.get("WATCHDOG_PID", "") in ("", str(os.getpid()))
        # Twice as often as asked, as systemd advises.
        self._interval_s = int(usec) / 2e6 if usec.isdigit() and ours else None
        self._last_s: float | None = None

    def ready(self, status: str) -> None:
        """State is restored and the port answers."""
        self._send(f"READY=1\nSTATUS={status}")

    def stopping(self) -> None:
        """The drain has begun."""
        self._send("STOPPING=1")

    def reloading(self, monotonic_s: float) -> None:
        """The settings are being read again; `ready` ends it."""
        self._send(f"RELOADING=1\nMONOTONIC_USEC={int(monotonic_s * 1e6)}")

    def beat(self, monotonic_s: float, snapshot: Snapshot | None) -> None:
        """The engine has turned, and this is what it has published."""
        if self._interval_s is None:
            return
        if self._last_s is None or monotonic_s - self._last_s >= self._interval_s:
            self._last_s = monotonic_s
            self._send(f"WATCHDOG=1\nSTATUS={status_of(snapshot)}")

    def _send(self, text: str) -> None:
        if not self._address:
            return
        address = self._address
        if address.startswith("@"):
            address = "\0" + address[1:]
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender,
        ):
            sender.settimeout(SEND_TIMEOUT_S)
            sender.sendto(text.encode(errors="replace"), address)


def status_of(snapshot: Snapshot | None) -> str:
    """What `systemctl status` says of the runs: how many there are, and how many are wrong."""
    if snapshot is None:
        return "reading the state"
    runs = [run for run in snapshot.runs.values() if run.state != "ended"]
    wrong = sum(any(s.severity is Severity.CRITICAL for s in run.standing) for run in runs)
    waiting = int(snapshot.gauges.get(("outbox_pending",), 0))
    told = f"; {waiting} notice(s) not delivered yet" if waiting else ""
    return f"following {len(runs)} run(s), {wrong} with a critical finding{told}"
