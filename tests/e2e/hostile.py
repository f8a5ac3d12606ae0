"""Receivers that do harm, each in its own way, on loopback."""

from __future__ import annotations

import email.utils
import re
import socket
import ssl
import struct
import subprocess
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tests.deploy.tools import debian_tool

from .daemon import MARKER

HUGE_BYTES = 300 << 20
DRIP_S = 0.1

Behaviour = Callable[[socket.socket, threading.Event], None]


def _answer(status: str, *headers: str, body: bytes = b"ok") -> Behaviour:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    whole = "\r\n".join(lines).encode() + b"\r\n\r\n" + body
    return lambda connection, over: connection.sendall(whole)


def _hang(said: bytes) -> Behaviour:
    def behave(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(said)
        over.wait(60)

    return behave


def _drip(at_once: bytes, slowly: bytes) -> Behaviour:
    def behave(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(at_once)
        for byte in slowly:
            connection.sendall(bytes([byte]))
            if over.wait(DRIP_S):
                return

    return behave


def _huge(connection: socket.socket, over: threading.Event) -> None:
    connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {HUGE_BYTES}\r\n\r\n".encode())
    for _ in range(HUGE_BYTES >> 16):
        connection.sendall(bytes(1 << 16))


def _bomb(connection: socket.socket, over: threading.Event) -> None:
    packer = zlib.compressobj(1, wbits=31)
    blocks = [packer.compress(bytes(1 << 20)) for _ in range(HUGE_BYTES >> 20)]
    body = b"".join([*blocks, packer.flush()])
    _answer("200 OK", "Content-Encoding: gzip", body=body)(connection, over)


def _reset(connection: socket.socket, over: threading.Event) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _later(connection: socket.socket, over: threading.Event) -> None:
    date = email.utils.formatdate(time.time() + 3, usegmt=True)
    _answer("429 Too Many Requests", f"Retry-After: {date}")(connection, over)


PADDING = b"x" * 1000
KINDS: Mapping[str, tuple[Behaviour, str]] = {
    "hang": (_hang(b""), "retried"),
    "hang-in-the-answer": (_hang(b"HTTP/1.1 200 OK\r\nContent-Le"), "retried"),
    "dripped-headers": (_drip(b"HTTP/1.1 200 OK\r\nX-Pad: ", PADDING), "retried"),
    "dripped-body": (
        _drip(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", PADDING), "delivered",
    ),
    "huge-body": (_huge, "delivered"),
    "gzip-bomb": (_bomb, "delivered"),
    "reset": (_reset, "retried"),
    "500": (_answer("500 Internal Server Error"), "retried"),
    "429-seconds": (_answer("429 Too Many Requests", "Retry-After: 2"), "retried"),
    "429-date": (_later, "retried"),
    "301": (_answer("301 Moved Permanently", "Location: http://127.0.0.1:9/"), "undeliverable"),
    "410": (_answer("410 Gone"), "undeliverable"),
    "wrong-certificate": (_answer("200 OK"), "retried"),
}  # fmt: skip
"""What each does with a request, and what the daemon must make of it."""


class Hostile:
    """A server that does one of `KINDS` to every request, and keeps what it was sent."""

    def __init__(self, kind: str, context: ssl.SSLContext | None = None) -> None:
        self._behave, self._context = KINDS[kind][0], context
        self._over = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.requests: list[bytes] = []
        scheme = "https" if context else "http"
        self.origin = f"{scheme}://127.0.0.1:{self._socket.getsockname()[1]}"
        self.url = f"{self.origin}/{MARKER}"
        self._threads = [threading.Thread(target=self._serve, daemon=True)]
        self._threads[0].start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                thread = threading.Thread(target=self._talk, args=(connection,), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _talk(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            connection.settimeout(30)
            if self._context:
                connection = self._context.wrap_socket(connection, server_side=True)
            with connection:
                self.requests.append(_read_request(connection))
                self._behave(connection, self._over)

    def close(self) -> None:
        self._over.set()
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for thread in self._threads:
            thread.join(timeout=30)


def _read_request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data and (more := connection.recv(65536)):
        data += more
    head = data.partition(b"\r\n\r\n")[0]
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    whole = len(head) + 4 + (int(length[1]) if length else 0)
    while len(data) < whole and (more := connection.recv(65536)):
        data += more
    return data


def own_certificate(directory: Path) -> ssl.SSLContext:
    """TLS for 127.0.0.1 with a certificate that nobody has signed but itself."""
    cert, key = directory / "cert.pem", directory / "key.pem"
    command = [debian_tool("openssl", "openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes"]
    command += ["-days", "2", "-keyout", str(key), "-out", str(cert), "-subj", "/CN=127.0.0.1"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context


@contextmanager
def hostile_receivers(directory: Path, *kinds: str) -> Iterator[dict[str, Hostile]]:
    """One of each of *kinds* (default: all), by its kind."""
    with ExitStack() as stack:
        made = {}
        for kind in kinds or KINDS:
            context = own_certificate(directory) if kind == "wrong-certificate" else None
            made[kind] = Hostile(kind, context)
            stack.callback(made[kind].close)
        yield made
