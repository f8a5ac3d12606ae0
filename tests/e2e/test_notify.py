"""What a real daemon tells systemd, on a real socket: ready, alive, reloading, stopping."""

from __future__ import annotations

import signal
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .daemon import Daemon, row, wait_for, write
from .trouble import with_fault

NAN = float("nan")
# Beats come at every turn then; a daemon with nothing to do turns five times a second here.
OFTEN = {"WATCHDOG_USEC": "2000"}
END, MARK = "END", "MARK"
SILENT_S = 1.0
"""Several turns of a daemon that is well: each looks at the files again."""

HANGS = {
    "a file system that does not answer": ("scanner", "DirectoryScanner", "sweep"),
    "a read that does not end": ("follower", "LocalFile", "read"),
    "a disk of the state that does not answer": ("store", "SqliteStore", "commit"),
}
FAULT = """
# While the file given[0] is there, the method does not come back; it makes given[1] to say so.
import os, time
from tailwatch.shell import {module}
real = {module}.{owner}.{method}

def hang(*args, **kwargs):
    while os.path.exists(given[0]):
        open(given[1], "w").close()
        time.sleep(0.01)
    return real(*args, **kwargs)

{module}.{owner}.{method} = hang
"""
SLOW_RESTORE = """
# The state is not restored before the file given[0] is there.
import os, time
from tailwatch.engine import Engine
real = Engine.restore

def restore(self):
    open(given[1], "w").close()
    while not os.path.exists(given[0]):
        time.sleep(0.01)
    real(self)

Engine.restore = restore
"""


class Told:
    """A daemon and all that it has told systemd, which reads without pause."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.address = str(directory / "notify")
        self.daemon = Daemon(
            directory, "--sweep-interval", "0.2", NOTIFY_SOCKET=self.address, **OFTEN
        )
        self.messages: list[str] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self.address)
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def _listen(self) -> None:
        while (message := self._socket.recv(65536).decode()) != END:
            self.messages.append(message)

    def _send(self, message: str) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(message.encode(), self.address)

    def hear(self, what: str = "") -> list[str]:
        """The messages so far that begin with *what*."""
        return [each for each in list(self.messages) if each.startswith(what)]

    def forget(self) -> None:
        """Drop what was sent before now, whether it has been read yet or not."""
        self._send(MARK)
        wait_for(lambda: MARK in self.messages)
        self.messages = self.messages[self.messages.index(MARK) + 1 :]

    def wait_for(self, what: str, times: int = 1) -> str:
        wait_for(lambda: len(self.hear(what)) >= times, message=f"systemd hears {what}")
        return self.hear(what)[-1]

    def close(self) -> None:
        if self.daemon.process is not None and self.daemon.process.poll() is None:
            self.daemon.kill()
        self._send(END)
        self._thread.join()
        self._socket.close()


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Told]:
    made = Told(tmp_path)
    yield made
    made.close()


def no_beat(told: Told) -> bool:
    told.forget()
    time.sleep(SILENT_S)
    return told.hear() == []


def test_ready_is_said_once_the_state_is_restored(told: Told) -> None:
    """Not a word before that; then READY with a status, and signs of life with what stands."""
    go, waiting = told.directory / "go", told.directory / "waiting"
    told.daemon.command = [*with_fault(SLOW_RESTORE, go, waiting), *told.daemon.args]
    write(told.daemon.runs / "m.jsonl", row(1, 2.0) + row(2, NAN))
    starting = threading.Thread(target=told.daemon.start)
    starting.start()
    wait_for(waiting.exists)
    before = told.hear()
    go.touch()
    starting.join()

    assert before == []
    assert (
        told.wait_for("READY=1") == "READY=1\nSTATUS=following 0 run(s), 0 with a critical finding"
    )
    wrong = "WATCHDOG=1\nSTATUS=following 1 run(s), 1 with a critical finding"
    assert told.wait_for(wrong).startswith(wrong)
    assert len(told.hear("READY=1")) == 1


@pytest.mark.parametrize("hang", HANGS.values(), ids=HANGS)
def test_an_engine_that_hangs_is_not_alive(told: Told, hang: tuple[str, str, str]) -> None:
    """While the engine waits for something outside, nothing else says that it lives."""
    module, owner, method = hang
    stop, hung = told.directory / "hang", told.directory / "hung"
    fault = FAULT.format(module=module, owner=owner, method=method)
    told.daemon.command = [*with_fault(fault, stop, hung), *told.daemon.args]
    told.daemon.start()
    path = told.daemon.runs / "m.jsonl"
    write(path, row(1, 2.0))
    wait_for(lambda: told.daemon.metric("tailwatch_run_rows_total", run="m") == 1)
    told.wait_for("WATCHDOG=1", 3)

    stop.touch()
    write(path, row(2, 2.0))
    wait_for(hung.exists)
    assert no_beat(told)
    # Its web server does answer: a sign of life from any other thread would be a lie.
    assert told.daemon.get("/metrics")[0] == 200

    stop.unlink()
    told.wait_for("WATCHDOG=1", 2)
    wait_for(lambda: told.daemon.metric("tailwatch_run_rows_total", run="m") == 2)


def test_a_stopped_process_is_not_alive(told: Told) -> None:
    """A process that does not run at all says nothing, and goes on where it was."""
    told.daemon.start()
    told.wait_for("WATCHDOG=1")
    told.daemon.signal(signal.SIGSTOP)
    wait_for(lambda: is_stopped(told.daemon))
    assert no_beat(told)
    told.daemon.signal(signal.SIGCONT)
    told.wait_for("WATCHDOG=1")


def is_stopped(daemon: Daemon) -> bool:
    assert daemon.process is not None
    stat = Path(f"/proc/{daemon.process.pid}/stat").read_text()
    return stat.rpartition(")")[2].split()[0] == "T"


def test_a_locked_state_is_no_hang(told: Told) -> None:
    """Who cannot save says so and tries again: a restart would not help, so it stays alive."""
    told.daemon.start()
    lock = sqlite3.connect(told.directory / "state" / "tailwatch.db", isolation_level=None)
    try:
        lock.execute("BEGIN IMMEDIATE")
        write(told.daemon.runs / "m.jsonl", row(1, 2.0))
        wait_for(lambda: told.daemon.metric("tailwatch_state_errors_total"))
        told.forget()
        told.wait_for("WATCHDOG=1", 2)
    finally:
        lock.close()
    wait_for(lambda: told.daemon.metric("tailwatch_run_rows_total", run="m") == 1)


def test_reload_begins_and_ends(told: Told) -> None:
    """SIGHUP: RELOADING with the time, then READY, for settings that are right and for wrong ones."""
    file = told.directory / "tailwatch.toml"
    file.write_text("")
    told.daemon.args += ["--config", str(file)]
    told.daemon.start()
    for text, status in (
        ("[log]\nlevel = 'warning'", "following 0 run(s), 0 with a critical finding"),
        ("nonsense = 1", "wrong settings, not taken over: the old ones are in force"),
    ):
        told.forget()
        file.write_text(text)
        began_us = time.monotonic_ns() // 1000
        told.daemon.signal(signal.SIGHUP)
        assert told.wait_for("READY=1") == f"READY=1\nSTATUS={status}"
        reloading, ready = (
            next(n for n, each in enumerate(told.messages) if each.startswith(what))
            for what in ("RELOADING=1", "READY=1")
        )
        assert reloading < ready
        said, at = told.messages[reloading].split("\n")
        assert said == "RELOADING=1"
        # Of this very reload: systemd takes an older one for that of an earlier SIGHUP.
        at_us = int(at.removeprefix("MONOTONIC_USEC="))
        assert began_us <= at_us <= time.monotonic_ns() // 1000
        told.wait_for("WATCHDOG=1")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stopping_is_said(told: Told, number: int) -> None:
    """The end that was asked for is told, and is no failure."""
    told.daemon.start()
    told.daemon.signal(number)
    assert told.daemon.process is not None
    assert told.daemon.process.wait(timeout=30) == 0
    told.wait_for("STOPPING=1")
    assert told.hear("STOPPING=1") == ["STOPPING=1"]


def test_a_stop_during_a_reload_is_a_stop(told: Told) -> None:
    """SIGTERM right behind SIGHUP ends the daemon: it does not come up once more."""
    told.daemon.start()
    assert told.daemon.process is not None
    told.daemon.signal(signal.SIGSTOP)  # Both are there before either is dealt with.
    wait_for(lambda: is_stopped(told.daemon))
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGCONT):
        told.daemon.signal(number)
    assert told.daemon.process.wait(timeout=20) == 0


@pytest.mark.parametrize("pid", ["1", "ours"])
def test_a_watchdog_for_another_process_is_not_fed(told: Told, pid: str) -> None:
    """WATCHDOG_PID of another process means that no sign of life is asked of us."""
    if pid == "1":
        told.daemon.env["WATCHDOG_PID"] = pid
    told.daemon.start()
    told.wait_for("READY=1")
    write(told.daemon.runs / "m.jsonl", row(1, 2.0))
    wait_for(lambda: told.daemon.metric("tailwatch_run_rows_total", run="m") == 1)
    assert bool(told.hear("WATCHDOG=1")) == (pid == "ours")
