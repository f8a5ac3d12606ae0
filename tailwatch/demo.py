"""`tailwatch demo`: the main job on a simulated trainer, told as it happens."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import queue
import random
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .app import Daemon
from .config import Settings, load_settings
from .core.sparkline import sparkline
from .ports import Log
from .terminal import columns, fitted

NAN_AT = 0.5
ROWS_PER_S = 20
PATIENCE_S = 10.0


def run_demo(
    seconds: float, keep: bool, say: Callable[[str], None], log: Log, *, stay: bool = False
) -> None:
    """
    Train nothing for *seconds*, go NaN half way, and show what tailwatch makes of it.

    Everything is real but the trainer: the daemon, its database, its port and
    the HTTP post, which goes to a receiver of our own on this machine. With *stay*
    the page is there until SIGINT, which ends the looking at any time.
    """
    start_s = time.monotonic()
    with contextlib.ExitStack() as stack:
        directory = tempfile.mkdtemp(prefix="tailwatch-demo-")
        if not keep:
            stack.callback(_remove, directory)
        runs = os.path.join(directory, "runs")
        os.makedirs(os.path.join(runs, "demo"))
        bodies, url = stack.enter_context(_receiver())
        settings = _settings(directory, runs, url)
        address = stack.enter_context(_daemon(settings, log))
        file = os.path.join(runs, "demo", "metrics.jsonl")
        say(f"A trainer now writes {file}")
        long = "until Ctrl-C" if stay else f"for {seconds:.0f} s (--keep: until Ctrl-C)"
        say(f"tailwatch follows it. Open its page, there {long}:")
        say(f"  http://{address}/")
        rows = int(seconds * ROWS_PER_S)
        trainer = threading.Thread(target=_train, args=(file, rows), daemon=True)
        began_s = time.monotonic()
        trainer.start()
        body = bodies.get(timeout=seconds + PATIENCE_S)
        notice = json.loads(body)
        advice, losses = (notice["data"].pop(key) for key in ("suggestion", "recent"))
        say(f"\nFound: {notice['data']['message']}.")
        say(f"The losses before: {sparkline(losses)}")
        say(fitted(f"What to do: {advice}", columns()))
        say("\nThe counter that Prometheus reads:")
        for line in _metrics(address):
            say(f"  {line}")
        say("\nThe body that was posted to the webhook, beside the losses and the advice:")
        say(json.dumps(notice, indent=2, ensure_ascii=False))
        with contextlib.suppress(KeyboardInterrupt):
            if stay:
                say(f"\nThe page stays at http://{address}/ until Ctrl-C.")
            trainer.join(max(0.0, seconds - (time.monotonic() - began_s)))
            if stay:
                threading.Event().wait()
    say(f"\nDone. Kept: {directory}" if keep else "\nDone.")
    say("Next: tailwatch run /path/to/your/runs")
    say(f"It took {time.monotonic() - start_s:.0f} s.")


def _remove(directory: str) -> None:
    for top, _, names in os.walk(directory, topdown=False):
        for name in names:
            os.unlink(os.path.join(top, name))
        os.rmdir(top)


def _settings(directory: str, runs: str, url: str) -> Settings:
    flags = {
        "paths": [runs],
        "state_dir": os.path.join(directory, "state"),
        "web.listen": "127.0.0.1:0",
        "webhook_url": url,
    }
    settings = load_settings(flags, {}, os.devnull)
    return dataclasses.replace(settings, source=None)


@contextlib.contextmanager
def _daemon(settings: Settings, log: Log) -> Iterator[str]:
    """The daemon on a thread; gives the address of its page."""
    answers: queue.Queue[str | BaseException] = queue.Queue()
    daemon = Daemon(settings, lambda: settings, log, {}, started=answers.put)

    def run() -> None:
        try:
            daemon.run()
        except Exception as error:
            answers.put(error)

    thread = threading.Thread(target=run, name="engine")
    thread.start()
    try:
        answer = answers.get(timeout=PATIENCE_S)
        if isinstance(answer, BaseException):
            raise answer
        yield answer
    finally:
        daemon.stop()
        thread.join()


@contextlib.contextmanager
def _receiver() -> Iterator[tuple[queue.Queue[bytes], str]]:
    """A webhook receiver on loopback: what it was sent, and its URL."""
    bodies: queue.Queue[bytes] = queue.Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.put(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)
    thread.start()
    try:
        yield bodies, f"http://127.0.0.1:{server.server_address[1]}/hook"
    finally:
        server.shutdown()
        server.server_close()


def _train(file: str, rows: int) -> None:
    """Write the rows of a run that falls, and goes NaN half way."""
    noise = random.Random(7)
    with open(file, "a", buffering=1, encoding="utf-8") as log:
        for number in range(1, rows + 1):
            nan = number > rows * NAN_AT
            loss = math.nan if nan else 0.4 + 2.2 * math.exp(-number / 60) + noise.gauss(0, 0.03)
            row = {"step": number * 10, "loss": loss, "grad_norm": 1 + noise.random(), "lr": 2e-4}
            log.write(json.dumps(row) + "\n")
            time.sleep(1 / ROWS_PER_S)


def _metrics(address: str) -> list[str]:
    """The counter's line, as soon as it has counted."""
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=5) as response:
            text = response.read().decode()
        lines = [x for x in text.splitlines() if x.startswith("anomaly_findings_total")]
        found = [line for line in lines if line.endswith(" 1.0")]
        if found or time.monotonic() > deadline_s:
            return found
        time.sleep(0.05)
