"""HTTP in: /metrics, health, and a page that says what is there. GET and HEAD only."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Callable
from html import escape as html_escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from .. import __version__
from ..board import Board
from ..errors import ConfigError

REQUEST_TIMEOUT_S = 10.0
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
        handler = type("Handler", (_Handler,), {"site": site})
        server = type(
            "Server",
            (_Server,),
            {"address_family": socket.AF_INET6 if ":" in host else socket.AF_INET},
        )
        try:
            self._server: _Server = server((host, port), handler)
        except OSError as error:
            raise ConfigError(
                f"cannot listen on {listen}: {error.strerror}; "
                "is another tailwatch running? --listen takes another address"
            ) from None
        except OverflowError:
            raise ConfigError(f"cannot listen on {listen}: the port is out of range") from None
        except (UnicodeError, ValueError, TypeError):
            raise ConfigError(f"cannot listen on {listen!r}: not the name of a host") from None
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": 0.2},
            name="web",
            daemon=True,
        )
        self._thread.start()

    @property
    def address(self) -> str:
        """Where it listens, HOST:PORT."""
        host, port = self._server.server_address[:2]
        return f"[{host!s}]:{port}" if ":" in str(host) else f"{host!s}:{port}"

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
    daemon_threads = True
    request_queue_size = 64

    def server_bind(self) -> None:
        """Take the address, without looking up its name: that hangs for as long as DNS does."""
        socketserver.TCPServer.server_bind(self)
        host, port = self.server_address[:2]
        self.server_name, self.server_port = str(host), int(port)

    def handle_error(self, request: object, client_address: object) -> None:
        """A peer that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    site: Site
    timeout = REQUEST_TIMEOUT_S
    server_version = f"tailwatch/{__version__}"
    sys_version = ""

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        try:
            answer = self.site.answer(self.path, self.headers.get("Accept", ""))
        except Exception as error:
            answer = _text(500, f"internal error: {type(error).__name__}")
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
