"""HTTP in: sockets, threads and headers around what the site answers. GET and HEAD only."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .. import __version__
from ..errors import ConfigError
from ..pages import answer as answers
from ..pages.site import Site

REQUEST_TIMEOUT_S = 10.0
"""For a client to send its request, and again to take the answer."""
CONNECTIONS_MAX = 16
SLOT_WAIT_S = 1.0
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
}


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
            answer = answers.text(500, f"internal error: {type(error).__name__}")
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
