"""Memory and threads that run out, and clients that take them: all of the daemon, or none of it."""

from __future__ import annotations

import json
import math
import os
import resource
import socket
import subprocess
from pathlib import Path

import pytest

from .daemon import Daemon, daemon, receiver, row, wait_for, write
from .trouble import counted, let_sweep, rows, status, wait_for_rows, with_fault

NAN = math.nan
EXIT_SYSTEM = 71


def says(output: str, words: str) -> bool:
    """The last line tells a person why it ended; nobody is shown a traceback."""
    last = output.splitlines()[-1]
    assert "Traceback" not in output
    return last.startswith("tailwatch: ") and words in last


def run_to_its_end(tw: Daemon, command: list[str]) -> tuple[int, str]:
    """Exit code and output of a daemon that is to end by itself."""
    ran = subprocess.run(
        [*command, *tw.args], env=tw.env, capture_output=True, text=True, timeout=60, check=False
    )
    return ran.returncode, ran.stdout + ran.stderr


# Room for the first files, for some more, for hundreds.
@pytest.mark.parametrize("room_kib", [0, 1500, 5000])
def test_memory_that_runs_out(tmp_path: Path, room_kib: int) -> None:
    """Without memory the daemon ends at once, and after a new start nothing is lost or doubled."""
    files = {f"d{n:03}/m": tmp_path / "runs" / f"d{n:03}" / "m.jsonl" for n in range(20)}
    with receiver() as hook, daemon(tmp_path, url=hook.url) as tw:
        for path in files.values():
            write(path, row(0, 2.0) + row(1, 2.0))
        wait_for_rows(tw, dict.fromkeys(files, 2))
        assert tw.process is not None
        limit = (status(tw, "VmData") + room_kib) * 1024
        resource.prlimit(tw.process.pid, resource.RLIMIT_DATA, (limit, limit))
        for number, path in enumerate(files.values()):
            write(path, row(2, NAN))
            for other in range(40):
                write(tw.runs / "other" / f"{number}-{other}.jsonl", row(0, 2.0))
        assert tw.process.wait(timeout=60) == EXIT_SYSTEM
        assert says(tw.all_output(), "out of memory")
        tw.env["TAILWATCH_MAX_EXPORTED_RUNS"] = "10000"
        tw.start()

        others = {f"other/{n}-{m}": 1 for n in range(20) for m in range(40)}
        wait_for_rows(tw, {**dict.fromkeys(files, 3), **others}, 60, every_s=0.5)
        wait_for(lambda: {f["run"] for f in hook.findings()} == set(files))
        let_sweep(tw)
        assert rows(tw) == {**dict.fromkeys(files, 3), **others}
        assert len({f["id"] for f in hook.findings()}) == len(files)
        found = [
            counted(tw, "anomaly_findings_total", run=run, category="nan_loss") for run in files
        ]
        assert found == [1] * len(files)


DYING = """
# The first time that `given[1]` of `given[0]` is called, its thread dies of `given[2]`.
import builtins, importlib
module, name = given[0].rsplit(".", 1)
owner = getattr(importlib.import_module(module), name)
original = getattr(owner, given[1])

def die(self, *args, **kwargs):
    setattr(owner, given[1], original)
    raise getattr(builtins, given[2])("mutant")

setattr(owner, given[1], die)
"""


@pytest.mark.parametrize(
    ("owner", "method", "error", "words"),
    [
        ("tailwatch.shell.courier.HttpCourier", "attempt", "ValueError", "a thread has died"),
        ("tailwatch.shell.courier.HttpCourier", "attempt", "MemoryError", "out of memory"),
        ("tailwatch.shell.web._Server", "service_actions", "ValueError", "a thread has died"),
        ("tailwatch.engine.Engine", "_sweep", "MemoryError", "out of memory"),
    ],
)
def test_half_a_daemon_is_none(
    tmp_path: Path, owner: str, method: str, error: str, words: str
) -> None:
    """When one of its threads dies the whole daemon ends, and a new start tells what is untold."""
    write(tmp_path / "runs" / "m.jsonl", row(0, 2.0))
    with receiver() as hook, daemon(tmp_path, url=hook.url) as tw:
        wait_for_rows(tw, {"m": 1})
        assert tw.stop() == 0
        write(tw.runs / "m.jsonl", row(1, NAN))
        code, output = run_to_its_end(tw, with_fault(DYING, owner, method, error))
        assert code == EXIT_SYSTEM
        assert says(output, words)
        tw.start()

        wait_for(lambda: hook.posts)
        let_sweep(tw)
        assert rows(tw) == {"m": 2}
        assert len({f["id"] for f in hook.findings()}) == 1
        assert counted(tw, "anomaly_findings_total", run="m", category="nan_loss") == 1


NO_THREADS = """
import threading
def start(self):
    raise RuntimeError("can't start new thread")
threading.Thread.start = start
"""


def test_no_threads_to_be_had(tmp_path: Path) -> None:
    """Without a thread the daemon does not start, and says why in one line."""
    code, output = run_to_its_end(Daemon(tmp_path), with_fault(NO_THREADS))

    assert code == EXIT_SYSTEM
    assert says(output, "no thread can be started")
    assert json.loads(output.splitlines()[-2])["event"] == "cannot_go_on"


def test_500_idle_clients(tmp_path: Path) -> None:
    """Clients that say nothing take neither memory nor descriptors, and hold up nobody."""
    with daemon(tmp_path) as tw:
        write(tw.runs / "m.jsonl", row(0, 2.0))
        wait_for_rows(tw, {"m": 1})
        assert tw.process is not None
        held = f"/proc/{tw.process.pid}/fd"
        memory_kib, threads, descriptors = (
            status(tw, "VmRSS"),
            status(tw, "Threads"),
            len(os.listdir(held)),
        )
        host, _, port = tw.address.rpartition(":")
        clients = [socket.create_connection((host, int(port)), timeout=30) for _ in range(500)]
        try:
            for client in clients[::2]:
                client.send(b"GET /metrics HTTP/1.1\r\nX-Half: ")
            for step in range(1, 6):
                assert tw.get("/-/healthy")[0] == 200
                write(tw.runs / "m.jsonl", row(step, 2.0))
                wait_for_rows(tw, {"m": step + 1})
            assert status(tw, "VmRSS") - memory_kib < 20 * 1024
            assert status(tw, "Threads") - threads <= 16
            assert len(os.listdir(held)) - descriptors <= 20
            assert counted(tw, "tailwatch_http_connections_dropped_total") >= 500 - 16
        finally:
            for client in clients:
                client.close()
