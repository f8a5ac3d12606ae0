"""`tailwatch status --watch`, at a real terminal."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator

import pytest

from tailwatch.pages.answer import Answer
from tailwatch.pages.api import runs_document
from tailwatch.shell.guard import Guard
from tailwatch.shell.web import WebServer
from tests.e2e.daemon import tailwatch
from tests.shell.helpers import MemoryLog, run_view, snapshot
from tests.terminals import Terminal

ENTERED, LEFT = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"


class Counting:
    """A daemon whose run is one step further at each question."""

    def __init__(self, runs: int) -> None:
        self._step, self._runs, self._lock = 0, runs, threading.Lock()

    def answer(self, path: str, accept: str) -> Answer:
        with self._lock:
            self._step += path.endswith("runs")
            views = [run_view(f"r{n}", last_step=7000 + self._step) for n in range(self._runs)]
        return Answer(
            200, "application/json", json.dumps(runs_document(snapshot(*views))).encode()
        )

    def connection_dropped(self) -> None:
        pass


Serve = Callable[..., WebServer]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts daemons, and ends those that are left."""
    servers: list[WebServer] = []

    def start(address: str = "127.0.0.1:0", runs: int = 1) -> WebServer:
        servers.append(WebServer(address, Counting(runs), Guard(None, MemoryLog())))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def watching(server: WebServer, **env: str) -> Terminal:
    """The command, asking five times a second."""
    return Terminal("status", "--url", f"http://{server.address}", "--watch", "0.2", **env)


@pytest.mark.parametrize("how", ["ctrl-c", "sigterm"])
def test_it_refreshes_until_it_is_ended(serve: Serve, how: str) -> None:
    """The terminal is as before then, with the last table on it, and the exit is clean."""
    with watching(serve()) as terminal:
        terminal.waits_for(lambda seen: "7001" in seen and "7003" in seen, "three tables")
        if how == "ctrl-c":
            terminal.press(b"\x03")
        else:
            terminal.process.send_signal(signal.SIGTERM)
        code, seen = terminal.end()

    before, after = seen.split(LEFT)
    assert code == 0
    assert before.startswith(ENTERED)
    assert "Traceback" not in seen
    assert "Aborted" not in seen
    assert after.count("STATE") == 1
    assert after.endswith("1 run: 0 critical, 0 warning, 0 info\n")


def test_a_daemon_that_goes_away_is_asked_again(serve: Serve) -> None:
    """It is said, with the last that was known below, until it is there again."""
    server = serve()
    with watching(server) as terminal:
        terminal.waits_for(lambda seen: "7001" in seen, "a table")
        server.close()
        terminal.waits_for(lambda seen: "trying again" in seen, "what is wrong")
        # The first of them may be reset: it came while the server was being closed.
        terminal.waits_for(lambda seen: "Connection refused" in seen, "the reason")
        terminal.waits_for(lambda seen: "r0" in seen.split("no daemon answers")[-1], "the table")
        serve(server.address)
        terminal.waits_for(
            lambda seen: "Ctrl-C ends it" in seen.split("trying again")[-1], "a table once more"
        )
        terminal.press(b"\x03")

        assert terminal.end()[0] == 0


def test_what_is_too_high_is_cut(serve: Serve) -> None:
    """A terminal of 24 lines is never scrolled; the last table is whole."""
    with watching(serve(runs=40)) as terminal:
        terminal.waits_for(lambda seen: "lines more" in seen, "a table")
        terminal.press(b"\x03")
        _, seen = terminal.end()

    pages, after = seen.split(LEFT)
    assert {page.count("\n") for page in pages.split("\x1b[H")[1:]} == {23}
    assert "... and 21 lines more" in pages
    assert after.count("active") == 40


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_without_codes_table_follows_table(serve: Serve, env: dict[str, str]) -> None:
    """Who wants no codes gets none, and all tables."""
    with watching(serve(), **env) as terminal:
        terminal.waits_for(lambda seen: seen.count("STATE") > 1, "two tables")
        terminal.press(b"\x03")
        code, seen = terminal.end()

    assert code == 0
    assert "\x1b" not in seen


def test_in_a_pipe_it_is_one_table(serve: Serve) -> None:
    """Nobody looks there; and a program that wants JSON is told to ask again itself."""
    url = f"http://{serve().address}"
    once = tailwatch("status", "--watch", "--url", url)
    refused = tailwatch("status", "--watch", "--format", "json", "--url", url)

    assert (once.returncode, once.stdout.count("STATE"), once.stderr) == (0, 1, "")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--watch is for a person" in refused.stderr
