"""HTTP in: /metrics, health, and a page that says what is there. GET and HEAD only."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
import time
from collections.abc import Callable
from html import escape as html_escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from .. import __version__
from ..board import Board
from ..errors import ConfigError

REQUEST_TIMEOUT_S = 10.0
"""For a client to send its request, and again to take the answer."""
CONNECTIONS_MAX = 16
SLOT_WAIT_S = 1.0
BEAT_AGE_MAX_S = 60.0
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}


class Answer(NamedTuple):
    """Status, content type, body."""

    status: int
    content_type: str
    body: bytes


class Site:
    """
    What each path answers, apart from sockets.

    Args:
        board: Where the engine leaves its snapshots.
        registry: What `/metrics` shows.
        monotonic: The clock by which the engine's beat is judged.
    """

    def __init__(
        self, board: Board, registry: CollectorRegistry, monotonic: Callable[[], float]
    ) -> None:
        self._board, self._registry, self._monotonic = board, registry, monotonic
        self._rendering = threading.Lock()

    def answer(self, path: str, accept: str) -> Answer:
        """The answer to GET *path*."""
        pages: dict[str, Callable[[], Answer]] = {
            "/": self._index,
            "/-/healthy": self._healthy,
            "/-/ready": self._ready,
            "/metrics": lambda: self._metrics(accept),
        }
        page = pages.get(urlsplit(path).path)
        return page() if page is not None else _text(404, "not found")

    def _metrics(self, accept: str) -> Answer:
        if self._board.snapshot is None:
            return _text(503, "the state is being restored")
        encoder, content_type = choose_encoder(accept)
        # One at a time: a page of many runs takes memory and processor time while it is made.
        with self._rendering:
            return Answer(200, content_type, encoder(self._registry))

    def _healthy(self) -> Answer:
        beat_s = self._board.beat_s
        if beat_s is None:
            return _text(503, "the engine has not turned yet")
        age_s = self._monotonic() - beat_s
        if age_s > BEAT_AGE_MAX_S:
            return _text(503, f"the engine has not turned for {age_s:.0f} s")
        return _text(200, "OK")

    def _ready(self) -> Answer:
        snapshot = self._board.snapshot
        if snapshot is None:
            return _text(503, "the state is being restored")
        if not snapshot.ready:
            return _text(503, "the first look at all files is not done")
        return _text(200, "OK")

    def connection_dropped(self) -> None:
        """A connection was closed before its time."""
        self._board.connections_dropped += 1

    def _index(self) -> Answer:
        snapshot = self._board.snapshot
        rows = []
        for name, run in sorted(snapshot.runs.items() if snapshot else ()):
            said = "; ".join(f"{s.severity.value}: {s.message}" for s in run.standing) or "nothing"
            step = "" if run.last_step is None else f"{run.last_step:g}"
            cells = (name, run.state, step, str(run.rows), said)
            rows.append("".join(f"<td>{html_escape(cell)}</td>" for cell in cells))
        table = "".join(f"<tr>{row}</tr>" for row in rows)
        body = (
            "<!doctype html><html lang=en><meta charset=utf-8><title>tailwatch</title>"
            f"<h1>tailwatch {__version__}</h1>"
            "<p><a href=/metrics>metrics</a> <a href=/-/healthy>health</a> "
            "<a href=/-/ready>ready</a></p><table><tr><th>run<th>state<th>step<th>rows"
            f"<th>what stands</tr>{table}</table>"
        )
        return Answer(200, "text/html; charset=utf-8", body.encode(errors="backslashreplace"))


def _text(status: int, text: str) -> Answer:
    return Answer(status, "text/plain; charset=utf-8", f"{text}\n".encode())


class WebServer:
    """
    The site on a port, each request on a thread of its own.

    Args:
        listen: "HOST:PORT"; port 0 takes a free one.
        site: What answers.

    Raises:
        ConfigError: The address cannot be used.
    """

    def __init__(self, listen: str, site: Site) -> None:
        host, port = split_address(listen)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._server = _Server(family, (host, port), site)
        except OSError as error:
            raise ConfigError(
                f"cannot listen on {listen}: {error.strerror}; "
                "is another tailwatch running? --listen takes another address"
            ) from None
        except OverflowError:
            raise ConfigError(f"cannot listen on {listen}: the port is out of range") from None
        except (UnicodeError, ValueError, TypeError):
            raise ConfigError(f"cannot listen on {listen!r}: not the name of a host") from None
        serve = self._server.serve_forever
        self._thread = threading.Thread(target=serve, args=(0.2,), name="web", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """Where it listens, HOST:PORT."""
        host, port = self._server.server_address[:2]
        return f"[{host!s}]:{port}" if ":" in str(host) else f"{host!s}:{port}"

    def alive(self) -> bool:
        """Whether it can still answer."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)


def split_address(listen: str) -> tuple[str, int]:
    """
    Split "HOST:PORT" or "[V6]:PORT".

    >>> split_address("127.0.0.1:10836"), split_address("[::1]:80")
    (('127.0.0.1', 10836), ('::1', 80))

    Raises:
        ConfigError: It is neither.
    """
    host, colon, port = listen.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()):
        raise ConfigError(f"web.listen: expected HOST:PORT, got {listen!r}")
    return host.removeprefix("[").removesuffix("]"), int(port)


class _Server(ThreadingHTTPServer):
    """
    At most `CONNECTIONS_MAX` connections, each with its thread.

    One more takes the place of the one that has waited longest for its client.
    """

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, family: socket.AddressFamily, address: tuple[str, int], site: Site) -> None:
        self.address_family, self.site = family, site
        self._lock = threading.Lock()
        self._slots = threading.Semaphore(CONNECTIONS_MAX)
        self._waiting: dict[socket.socket, float] = {}
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        """Take the address, without looking up its name: that hangs for as long as DNS does."""
        socketserver.TCPServer.server_bind(self)
        host, port = self.server_address[:2]
        self.server_name, self.server_port = str(host), int(port)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer on a thread of its own, once one is free."""
        if not self._slots.acquire(blocking=False):
            self._drop_oldest(older_than_s=0.0)
            if not self._slots.acquire(timeout=SLOT_WAIT_S):
                self.site.connection_dropped()
                return self.shutdown_request(request)
        self.waits(request)
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # No thread can be started.
            self._slots.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """On that thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._slots.release()

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        self.works(request)
        super().shutdown_request(request)

    def waits(self, request: socket.socket) -> None:
        """It is the client's turn: to send its request, or to take the answer."""
        with self._lock:
            self._waiting[request] = time.monotonic()

    def works(self, request: socket.socket) -> None:
        """It is our turn."""
        with self._lock:
            self._waiting.pop(request, None)

    def service_actions(self) -> None:
        """Called several times a second: a client has its time, however it divides it."""
        while self._drop_oldest(older_than_s=REQUEST_TIMEOUT_S):
            pass

    def _drop_oldest(self, older_than_s: float) -> bool:
        with self._lock:
            request, since_s = next(iter(self._waiting.items()), (None, 0.0))
            if request is None or time.monotonic() - since_s < older_than_s:
                return False
            del self._waiting[request]
            self.site.connection_dropped()  # First: the client may ask at once why.
            with contextlib.suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)  # Its thread then ends by itself.
        return True

    def handle_error(self, request: object, client_address: object) -> None:
        """A peer that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = REQUEST_TIMEOUT_S
    server_version = f"tailwatch/{__version__}"
    sys_version = ""

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        self.server.works(self.connection)
        try:
            answer = self.server.site.answer(self.path, self.headers.get("Accept", ""))
        except Exception as error:
            answer = _text(500, f"internal error: {type(error).__name__}")
        self.server.waits(self.connection)
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if with_body:
            self.wfile.write(answer.body)

    def end_headers(self) -> None:
        """Whatever the answer, an error of the server's own among them."""
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Requests are not logged."""
