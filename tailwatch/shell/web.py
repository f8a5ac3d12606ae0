"""HTTP in: sockets, threads and headers around what the site answers. GET and HEAD only."""

from __future__ import annotations

import contextlib
import http.client
import io
import ipaddress
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Collection, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol
from urllib.parse import urlsplit

from .. import __version__
from ..core.addresses import is_called, split_address
from ..errors import ConfigError
from ..pages.answer import Answer, text
from ..pages.site import Site

REQUEST_TIMEOUT_S = 10.0
"""For a client to send its request, and again to take the answer."""
LOOK_S = 1.0
"""How often to look for clients whose time is up."""
CONNECTIONS_MAX = 16
SLOT_WAIT_S = 1.0
HEAD_BYTES_MAX = 128 * 1024
"""Of a request: its first line (64 KiB at most, by http.server) and all its headers."""
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


class Guard(Protocol):
    """Who may ask."""

    @property
    def headers(self) -> Mapping[str, str]:
        """To be set on every answer, before our own."""

    def context(self) -> ssl.SSLContext | None:
        """What a new connection is to be wrapped in."""

    def refusal(self, authorization: str) -> int | None:
        """The status to refuse a request with, by its header; None if it may ask."""


class WebServer:
    """
    The site on a port, each request on a thread of its own.

    Args:
        listen: "HOST:PORT"; port 0 takes a free one.
        site: What answers.
        guard: Whom it answers.
        names: What the server may be called in a request, if it listens on loopback.

    Raises:
        ConfigError: The address cannot be used.
    """

    def __init__(self, listen: str, site: Site, guard: Guard, names: Collection[str] = ()) -> None:
        host, port = split_address(listen)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._server = _Server(family, (host, port), site, guard)
        except OSError as error:
            raise ConfigError(
                f"cannot listen on {listen}: {error.strerror}; "
                "is another tailwatch running? --listen takes another address"
            ) from None
        except OverflowError:
            raise ConfigError(f"cannot listen on {listen}: the port is out of range") from None
        except (UnicodeError, ValueError, TypeError):
            raise ConfigError(f"cannot listen on {listen!r}: not the name of a host") from None
        if ipaddress.ip_address(self._server.server_name).is_loopback:
            self._server.names = {name.lower() for name in names}
        serve = self._server.serve_forever
        self._thread = threading.Thread(target=serve, args=(LOOK_S,), name="web", daemon=True)
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
        with contextlib.suppress(OSError):  # Or it would find out only at its next look.
            self._server.socket.shutdown(socket.SHUT_RDWR)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)


def own_names(external_url: str | None) -> set[str]:
    """What this host may be called by those who ask it."""
    outside = urlsplit(external_url or "").hostname
    return {socket.gethostname(), *([outside] if outside else [])}


class _Server(ThreadingHTTPServer):
    """
    At most `CONNECTIONS_MAX` connections, each with its thread.

    One more takes the place of the one that has waited longest for its client.
    """

    daemon_threads = True
    request_queue_size = 1024

    names: Collection[str] | None = None
    """What it may be called in a request; None: anything."""

    def __init__(
        self, family: socket.AddressFamily, address: tuple[str, int], site: Site, guard: Guard
    ) -> None:
        self.address_family, self.site, self.guard = family, site, guard
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

    def finish_request(self, request: Any, client_address: Any) -> None:
        """On that thread: the handshake too, or one silent client would hold up all others."""
        context = self.guard.context()
        if context is None:
            return super().finish_request(request, client_address)
        self.works(request)
        with context.wrap_socket(
            request, server_side=True, do_handshake_on_connect=False
        ) as secure:
            self.waits(secure)  # It has its time, as for a request.
            try:
                secure.do_handshake()
                super().finish_request(secure, client_address)
            finally:
                self.works(secure)
        return None

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
        """Called every `LOOK_S`: a client has its time, however it divides it."""
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
                # Its thread then ends by itself. Not the method of a TLS socket: that one
                # would first take the encryption away from it.
                socket.socket.shutdown(request, socket.SHUT_RDWR)
        return True

    def handle_error(self, request: object, client_address: object) -> None:
        """A peer that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = REQUEST_TIMEOUT_S
    server_version = f"tailwatch/{__version__}"
    sys_version = ""

    def setup(self) -> None:
        """Of what a client sends no more is held than the head of a request."""
        super().setup()
        self.rfile = _Head(self.rfile.detach())

    def do_GET(self) -> None:
        self.server.works(self.connection)
        try:
            answer = self._page()
        except Exception as error:
            answer = text(500, f"internal error: {type(error).__name__}")
        self.server.waits(self.connection)
        status, content_type, body = answer
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="tailwatch"')
        if status == 405:
            self.send_header("Allow", "GET, HEAD")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_TRACE = do_GET  # noqa: N815

    def _page(self) -> Answer:
        refusal = self.server.guard.refusal(self.headers.get("Authorization", ""))
        if refusal is not None:
            return text(refusal, http.client.responses[refusal])
        if self.command not in ("GET", "HEAD"):
            return text(405, "only GET and HEAD are answered")
        names = self.server.names
        if names is not None and not is_called(self.headers.get("Host"), names):
            return text(421, "this name is not ours: web.external_url can make it so")
        return self.server.site.answer(self.path, self.headers.get("Accept", ""))

    def end_headers(self) -> None:
        """Whatever the answer, an error of the server's own among them."""
        for name, value in (_HEADERS | dict(self.server.guard.headers)).items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Requests are not logged."""


class _Head(io.BufferedReader):
    """The lines of a request's head; too many bytes of them are what too long a line is."""

    left = HEAD_BYTES_MAX

    def readline(self, size: int | None = -1, /) -> bytes:
        line = super().readline(size)
        self.left -= len(line)
        if self.left < 0:
            raise http.client.LineTooLong("head")
        return line
