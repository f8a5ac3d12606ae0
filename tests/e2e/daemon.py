"""A real daemon process, a real receiver, real trainers: what the end-to-end tests drive."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

MARKER = "S3CRETMARKER"
"""In every webhook path here: it must show up nowhere."""


def wait_for(what: Callable[[], Any], limit_s: float = 30.0, message: str = "") -> Any:
    """Poll until *what* gives something true; its last value is in the failure."""
    end = time.monotonic() + limit_s
    while True:
        got = what()
        if got:
            return got
        if time.monotonic() > end:
            raise AssertionError(f"not within {limit_s} s: {message or what} gave {got!r}")
        time.sleep(0.01)


def command(*args: str) -> list[str]:
    """The command line that runs tailwatch in this interpreter."""
    return [sys.executable, "-m", "tailwatch", *args]


def environment(**more: str) -> dict[str, str]:
    """This environment without settings of ours, and with *more*."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("TAILWATCH_")}
    return clean | {"PYTHONUNBUFFERED": "1"} | more


def tailwatch(*args: str, **kwargs: Any) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    kwargs.setdefault("env", environment())
    kwargs.setdefault("timeout", 60)
    return subprocess.run(command(*args), capture_output=True, text=True, check=False, **kwargs)


class Post:
    """One request that the receiver took in."""

    def __init__(self, path: str, headers: Any, body: bytes) -> None:
        self.at_s = time.time()
        self.path = path
        self.id = headers["webhook-id"]
        self.body = json.loads(body, parse_constant=_no_constant)

    def findings(self) -> list[dict[str, Any]]:
        """The findings it tells of, each with its own id."""
        if self.body["type"] == "findings.digest":
            return list(self.body["data"]["findings"])
        return [{"id": self.id, **self.body["data"]}]


def _no_constant(name: str) -> None:
    raise AssertionError(f"a body with a bare {name}")


class Receiver:
    """An HTTP receiver on loopback that answers as it is told to."""

    def __init__(self) -> None:
        self.posts: list[Post] = []
        self.attempts = 0
        self.broken_off = 0
        self.answer: Callable[[BaseHTTPRequestHandler, int], int | None] = lambda handler, n: 204
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                self.body = body = self.rfile.read(length)
                if len(body) < length:
                    outer.broken_off += 1
                    return
                outer.attempts += 1
                status = outer.answer(self, outer.attempts)
                if status is None:
                    return
                if 200 <= status < 300:
                    outer.posts.append(Post(self.path, self.headers, body))
                with contextlib.suppress(OSError):
                    self.send_response(status)
                    self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/{MARKER}/hook"

    def findings(self) -> list[dict[str, Any]]:
        """Every finding that was told, repetitions included."""
        return [finding for post in self.posts for finding in post.findings()]

    def close(self) -> None:
        if not self._thread.is_alive():
            return
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Daemon:
    """`tailwatch run` as a process."""

    def __init__(self, directory: Path, *args: str, url: str | None = None, **env: str) -> None:
        self.directory = directory
        self.runs = directory / "runs"
        self.runs.mkdir(exist_ok=True)
        self.args = [
            str(self.runs), "--state-dir", str(directory / "state"),
            "--listen", "127.0.0.1:0", "--sweep-interval", "1", *args,
        ]  # fmt: skip
        self.env = environment(**env) | ({"TAILWATCH_WEBHOOK_URL": url} if url else {})
        self.command: list[str] | None = None
        self.starts = 0
        self.process: subprocess.Popen[bytes] | None = None
        self.address = ""

    def start(self, *, ready: bool = True) -> Daemon:
        self.starts += 1
        self.log_path = self.directory / f"log{self.starts}"
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                self.command or command("run", *self.args), env=self.env, stdout=log, stderr=log
            )
        started = wait_for(self._started, message=f"{self.log_path} says started")
        self.address = str(started["address"])
        if ready:
            wait_for(lambda: self.get("/-/ready")[0] == 200, message="ready")
        return self

    def _started(self) -> dict[str, Any] | None:
        assert self.process is not None
        lines = self.log()
        assert self.process.poll() is None, lines
        return next((line for line in lines if line.get("event") == "started"), None)

    def log(self) -> list[dict[str, Any]]:
        """The log lines of this life; each is JSON."""
        text = self.log_path.read_bytes()
        lines = text[: text.rfind(b"\n") + 1].splitlines()
        return [json.loads(line, parse_constant=_no_constant) for line in lines]

    def all_output(self) -> str:
        """Everything that was printed in all lives."""
        return "".join(p.read_text() for p in sorted(self.directory.glob("log*")))

    def get(self, path: str, **headers: str) -> tuple[int, str]:
        host, _, port = self.address.rpartition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=10)
        try:
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            return response.status, response.read().decode()
        except (OSError, http.client.HTTPException):  # A kill may fall within its answer.
            return 0, ""
        finally:
            connection.close()

    def metrics(self) -> dict[str, float]:
        """Series as they are written -> value."""
        status, text = self.get("/metrics")
        if status != 200:
            code = self.process.poll() if self.process is not None else None
            assert code is None, (
                f"the daemon ended with {code}: {self.log_path.read_text()[-500:]}"
            )
            return {}
        lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
        return {series: float(value) for series, _, value in lines}

    def metric(self, name: str, **labels: str) -> float | None:
        """One series' value; None if it is not there."""
        for series, value in self.metrics().items():
            if series.partition("{")[0] == name:
                found = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', series))
                if all(found.get(k) == v for k, v in labels.items()):
                    return value
        return None

    def signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self.signal(signal.SIGKILL)
        assert self.process is not None
        self.process.wait()

    def stop(self) -> int:
        """SIGTERM; its exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        return self.process.wait(timeout=30)


@contextlib.contextmanager
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    try:
        yield made
    finally:
        made.close()


@contextlib.contextmanager
def daemon(directory: Path, *args: str, url: str | None = None, **env: str) -> Iterator[Daemon]:
    """A running daemon; whatever happens, it is gone afterwards."""
    made = Daemon(directory, *args, url=url, **env).start()
    try:
        yield made
    finally:
        if made.process is not None and made.process.poll() is None:
            made.kill()


def row(step: int, loss: float | str | None, **more: Any) -> str:
    """One line as a trainer writes it."""
    return json.dumps({"step": step, "loss": loss, **more}) + "\n"


def write(path: Path, text: str) -> None:
    """Append, as a trainer that flushes each row."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(text)
