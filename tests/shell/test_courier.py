"""HTTP out: every bad receiver gives an outcome in bounded time and space, and no secret away."""

from __future__ import annotations

import email.utils
import json
import logging
import re
import resource
import socket
import ssl
import struct
import subprocess
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core.outbox import Outcome
from tailwatch.core.secret import Secret
from tailwatch.messages import Settled
from tailwatch.receivers import generic, slack
from tailwatch.shell import courier as courier_module
from tailwatch.shell.courier import HttpCourier
from tests.shell.helpers import notice, wait_until

MARKER = "SECRETMARKER"
TIMEOUT_S = 0.6
BOUND_S = 4.0
"""What an attempt of `TIMEOUT_S` may take on a busy machine."""

Behaviour = Callable[[socket.socket, bytes], None]


class Receiver:
    """
    A server that does to each connection what it is told, and keeps what it was sent.

    Args:
        behave: Called with the connection and the request, once that is whole.
        context: For TLS.
    """

    def __init__(self, behave: Behaviour, context: ssl.SSLContext | None = None) -> None:
        self._behave, self._context = behave, context
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.requests: list[bytes] = []
        self.over = threading.Event()
        self._threads: list[threading.Thread] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        scheme = "https" if self._context else "http"
        return f"{scheme}://127.0.0.1:{self.port}/hook/{MARKER}"

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._talk, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _talk(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            connection.settimeout(10)
            if self._context:
                connection = self._context.wrap_socket(connection, server_side=True)
            with connection:
                self.requests.append(request := _read_request(connection))
                self._behave(connection, request)

    def close(self) -> None:
        self.over.set()
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for thread in [self._thread, *self._threads]:
            thread.join(timeout=10)


def _read_request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data and (more := connection.recv(65536)):
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = re.findall(rb"(?i)\r\ncontent-length: *(\d+)", head)
    length = int(lengths[0]) if lengths else 0
    while len(body) < length and (more := connection.recv(65536)):
        body += more
    return head + b"\r\n\r\n" + body


@pytest.fixture
def receiver() -> Iterator[Callable[..., Receiver]]:
    """Makes receivers, and ends them."""
    made: list[Receiver] = []

    def make(behave: Behaviour, context: ssl.SSLContext | None = None) -> Receiver:
        made.append(Receiver(behave, context))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def courier() -> Iterator[Callable[..., HttpCourier]]:
    """Makes couriers, and ends them."""
    made: list[HttpCourier] = []

    def make(url: str, **more: Any) -> HttpCourier:
        values: dict[str, Any] = {
            "secret": None,
            "render": generic.render,
            "settled": lambda _: None,
            "timeout_s": TIMEOUT_S,
        }
        made.append(HttpCourier("ops", Secret(url), **(values | more)))
        return made[-1]

    yield make
    for each in made:
        each.close()
        each._thread.join(timeout=10)


@pytest.fixture(autouse=True)
def _no_secret_leaves(
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[None]:
    """Whatever a test does, no log record of any logger and no output shows the URL."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with caplog.at_level(logging.DEBUG):
        yield
    assert MARKER not in caplog.text
    assert MARKER not in "".join(capfd.readouterr())


def answer(status: str, *headers: str, body: bytes = b"ok") -> Behaviour:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    head = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"

    def behave(connection: socket.socket, _: bytes) -> None:
        connection.sendall(head + body)

    return behave


def attempt(made: HttpCourier) -> tuple[Outcome, float]:
    """One attempt's outcome and how long it took."""
    began_s = time.monotonic()
    outcome = made.attempt("tw_1", [notice()])
    assert MARKER not in repr(outcome)
    return outcome, time.monotonic() - began_s


# What a receiver may answer.


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("200 OK", "delivered"),
        ("201 Created", "delivered"),
        ("204 No Content", "delivered"),
        ("301 Moved Permanently", "undeliverable"),
        ("302 Found", "undeliverable"),
        ("400 Bad Request", "undeliverable"),
        ("401 Unauthorized", "undeliverable"),
        ("403 Forbidden", "undeliverable"),
        ("404 Not Found", "undeliverable"),
        ("408 Request Timeout", "retried"),
        ("410 Gone", "undeliverable"),
        ("429 Too Many Requests", "retried"),
        ("500 Internal Server Error", "retried"),
        ("503 Service Unavailable", "retried"),
    ],
)
def test_status_settles(
    receiver: Callable[..., Receiver], courier: Callable[..., HttpCourier], status: str, kind: str
) -> None:
    """2xx is delivered, 408, 429 and 5xx are tried again, everything else is final."""
    outcome, _ = attempt(courier(receiver(answer(status)).url))
    assert Outcome(kind, f"HTTP {status[:3]}") == outcome


def test_request_is_what_the_specification_says(
    receiver: Callable[..., Receiver], courier: Callable[..., HttpCourier]
) -> None:
    """One POST of JSON to the path of the URL, with key, time and signature in its headers."""
    server = receiver(answer("200 OK"))
    attempt(courier(server.url, secret=Secret("whsec_c2VjcmV0")))
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in lines)}
    assert f"POST /hook/{MARKER} HTTP/1.1" == first
    assert headers["webhook-id"] == "tw_1"
    assert (
        generic.sign("whsec_c2VjcmV0", "tw_1", headers["webhook-timestamp"], body)
        == (headers["webhook-signature"])
    )
    assert headers["user-agent"].startswith("tailwatch/")
    assert json.loads(body)["data"]["run"] == "exp/metrics"
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary"])
def test_redirect_is_not_followed(
    receiver: Callable[..., Receiver], courier: Callable[..., HttpCourier], status: str
) -> None:
    """A finding goes where the operator said, not where the receiver's answer says."""
    elsewhere = receiver(answer("200 OK"))
    first = receiver(answer(status, f"Location: {elsewhere.url}"))
    outcome, _ = attempt(courier(first.url))
    assert outcome.kind == "undeliverable"
    assert (len(first.requests), len(elsewhere.requests)) == (1, 0)


def test_retry_after_in_seconds(
    receiver: Callable[..., Receiver], courier: Callable[..., HttpCourier]
) -> None:
    """A receiver that asks to be left alone for some seconds is understood."""
    outcome, _ = attempt(courier(receiver(answer("429 Slow", "Retry-After: 37")).url))
    assert Outcome("retried", "HTTP 429", 37.0) == outcome


def test_retry_after_as_a_date(
    receiver: Callable[..., Receiver], courier: Callable[..., HttpCourier]
) -> None:
    """So is one that names the moment."""
    date = email.utils.formatdate(time.time() + 120, usegmt=True)
    outcome, _ = attempt(courier(receiver(answer("503 Busy", f"Retry-After: {date}")).url))
    assert 110 < outcome.retry_after_s <= 120


def test_retry_after_is_bounded(
    receiver: Callable[..., Receiver], courier: Callable[..., HttpCourier]
) -> None:
    """Nobody can ask us to be silent for a year."""
    outcome, _ = attempt(courier(receiver(answer("429 Slow", f"Retry-After: {'9' * 300}")).url))
    assert outcome.retry_after_s == 3600.0


@pytest.mark.parametrize(
    "text", ["soon", "-5", "\xb2", "1.5", "Wed, 99 Foo 2026 25:61:61 GMT", ""]
)
def test_nonsense_in_retry_after_is_passed_over(
    receiver: Callable[..., Receiver], courier: Callable[..., HttpCourier], text: str
) -> None:
    """A header that means nothing changes nothing about the answer."""
    outcome, _ = attempt(courier(receiver(answer("200 OK", f"Retry-After: {text}")).url))
    assert Outcome("delivered", "HTTP 200") == outcome


@given(st.text(st.characters(max_codepoint=255), max_size=40))
@settings(deadline=None, max_examples=300)
def test_any_retry_after_is_a_number(text: str) -> None:
    """Whatever the header holds, it is read as seconds that are not negative."""
    assert courier_module._retry_after_s(text, 1000.0) >= 0.0


# Receivers that are out of order.


def _refused() -> str:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    return f"http://127.0.0.1:{port}/{MARKER}"


def test_refused_connection_is_tried_again(courier: Callable[..., HttpCourier]) -> None:
    """A receiver that is down is a reason to wait, not to give up."""
    outcome, took_s = attempt(courier(_refused()))
    assert Outcome("retried", "Connection refused") == outcome
    assert took_s < BOUND_S


def test_unknown_host_is_tried_again(courier: Callable[..., HttpCourier]) -> None:
    """A name that cannot be looked up now may be known later, and is not shown."""
    outcome, _ = attempt(courier(f"http://{MARKER}.invalid/", timeout_s=5.0))
    assert outcome.kind == "retried"


def test_reset_is_tried_again(
    receiver: Callable[..., Receiver], courier: Callable[..., HttpCourier]
) -> None:
    """A connection that breaks before the answer is tried again."""

    def reset(connection: socket.socket, _: bytes) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    outcome, _ = attempt(courier(receiver(reset).url))
    assert Outcome("retried", "Connection reset by peer") == outcome


def test_no_http_is_tried_again(
    receiver: Callable[..., Receiver], courier: Callable[..., HttpCourier]
) -> None:
    """Something that does not speak HTTP gives a reason without its words in it."""

    def babble(connection: socket.socket, request: bytes) -> None:
        connection.sendall(b"220 mail " + request[:60] + b"\r\n")

    outcome, _ = attempt(courier(receiver(babble).url))
    assert Outcome("retried", "BadStatusLine") == outcome


def _drip(connection: socket.socket, data: bytes, over: threading.Event) -> None:
    for byte in data:
        connection.sendall(bytes([byte]))
        if over.wait(0.1):
            return


def test_silence_is_bounded(
    receiver: Callable[..., Receiver], courier: Callable[..., HttpCourier]
) -> None:
    """A receiver that takes the request and says nothing holds us for the time limit only."""
    over = threading.Event()
    outcome, took_s = attempt(courier(receiver(lambda *_: over.wait(10) and None).url))
    over.set()
    assert outcome.kind == "retried"
    assert TIMEOUT_S * 0.9 < took_s < BOUND_S


@pytest.mark.parametrize("at_once", [b"", b"HTTP/1.1 200 OK\r\n"])
def test_dripped_headers_are_bounded(
    receiver: Callable[..., Receiver], courier: Callable[..., HttpCourier], at_once: bytes
) -> None:
    """A byte now and then never lets a socket time out; the attempt ends all the same."""
    over = threading.Event()

    def behave(connection: socket.socket, _: bytes) -> None:
        connection.sendall(at_once)
        _drip(connection, b"HTTP/1.1 200 OK\r\nX-Pad: "[len(at_once) :] + b"x" * 200, over)

    outcome, took_s = attempt(courier(receiver(behave).url))
    over.set()
    assert outcome.kind == "retried"
    assert took_s < BOUND_S


def test_dripped_body_is_bounded_and_delivered(
    receiver: Callable[..., Receiver], courier: Callable[..., HttpCourier]
) -> None:
    """The status was 200, so it is delivered, and nobody waits for the rest of the body."""
    over = threading.Event()

    def behave(connection: socket.socket, _: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n")
        _drip(connection, b"x" * 200, over)

    outcome, took_s = attempt(courier(receiver(behave).url))
    over.set()
    assert Outcome("delivered", "HTTP 200") == outcome
    assert took_s < BOUND_S


@pytest.mark.parametrize(
    "rest",
    [
        b"Content-Length: 4000\r\n\r\nbroken off",
        b"Transfer-Encoding: chunked\r\n\r\nno chunk at all\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n5\r\nab",
    ],
)
def test_broken_body_does_not_undo_the_status(
    receiver: Callable[..., Receiver], courier: Callable[..., HttpCourier], rest: bytes
) -> None:
    """A 200 whose body breaks is delivered: trying again would tell people twice."""
    server = receiver(lambda c, _: c.sendall(b"HTTP/1.1 200 OK\r\n" + rest))
    assert Outcome("delivered", "HTTP 200") == attempt(courier(server.url))[0]


def test_time_limit_counts_from_the_start(
    receiver: Callable[..., Receiver],
    courier: Callable[..., HttpCourier],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If looking up the name eats all of the time, a slow peer does not get more of it."""
    over = threading.Event()
    server = receiver(lambda c, _: _drip(c, b"HTTP/1.1 200 OK\r\nX-Pad: " + b"x" * 200, over))
    real = socket.getaddrinfo

    def slow(*args: Any, **kwargs: Any) -> Any:  # A stand-in for a name server that is slow.
        over.wait(TIMEOUT_S * 1.5)
        return real(*args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    outcome, took_s = attempt(courier(server.url))
    over.set()
    assert outcome.kind == "retried"
    assert took_s < BOUND_S


def test_huge_answer_takes_no_memory(
    receiver: Callable[..., Receiver], courier: Callable[..., HttpCourier]
) -> None:
    """A body of 300 MB is neither read nor held."""
    block = b"x" * 65536

    def behave(connection: socket.socket, _: bytes) -> None:
        size = 300 << 20
        connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode())
        for _n in range(size // len(block)):
            connection.sendall(block)

    server = receiver(behave)
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcome, took_s = attempt(courier(server.url))
    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb
    assert outcome.kind == "delivered"
    assert took_s < BOUND_S
    assert grown_kb < 20_000


def test_compressed_answer_is_not_inflated(
    receiver: Callable[..., Receiver], courier: Callable[..., HttpCourier]
) -> None:
    """An answer that would be 300 MB when inflated stays as small as it came."""
    packer = zlib.compressobj(wbits=31)
    bomb = b"".join([*(packer.compress(bytes(1 << 20)) for _ in range(300)), packer.flush()])
    server = receiver(answer("200 OK", "Content-Encoding: gzip", body=bomb))
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert attempt(courier(server.url))[0].kind == "delivered"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 20_000


# TLS and proxies.


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that nobody has signed but itself."""
    directory = tmp_path_factory.mktemp("tls")
    cert, key = directory / "cert.pem", directory / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-keyout", str(key), "-out", str(cert), "-subj", "/CN=127.0.0.1"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(command, check=True, capture_output=True)
    return cert, key


@pytest.fixture
def tls(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context


def test_wrong_certificate_gets_nothing(
    receiver: Callable[..., Receiver], courier: Callable[..., HttpCourier], tls: ssl.SSLContext
) -> None:
    """A server that cannot prove who it is gets no byte of the request."""
    server = receiver(answer("200 OK"), tls)
    outcome, _ = attempt(courier(server.url, timeout_s=5.0))
    assert Outcome("retried", "TLS: CERTIFICATE_VERIFY_FAILED") == outcome
    assert server.requests == []


def test_trusted_certificate_is_delivered_to(
    receiver: Callable[..., Receiver],
    courier: Callable[..., HttpCourier],
    tls: ssl.SSLContext,
    certificate: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that the system trusts gets it."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    server = receiver(answer("200 OK"), tls)
    assert attempt(courier(server.url, timeout_s=5.0))[0].kind == "delivered"


def test_dripped_headers_are_bounded_under_tls(
    receiver: Callable[..., Receiver],
    courier: Callable[..., HttpCourier],
    tls: ssl.SSLContext,
    certificate: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The time limit reaches a connection that TLS has wrapped."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    over = threading.Event()
    behave = lambda c, _: _drip(c, b"HTTP/1.1 200 OK\r\nX-Pad: " + b"x" * 200, over)  # noqa: E731
    outcome, took_s = attempt(courier(receiver(behave, tls).url))
    over.set()
    assert outcome.kind == "retried"
    assert took_s < BOUND_S


def test_handshake_that_stalls_is_bounded(courier: Callable[..., HttpCourier]) -> None:
    """A port that takes connections and never shakes hands holds us for the time limit only."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"https://127.0.0.1:{mute.getsockname()[1]}/{MARKER}"
        outcome, took_s = attempt(courier(url))
    assert outcome.kind == "retried"
    assert took_s < BOUND_S


def test_proxy_of_the_environment_is_used(
    receiver: Callable[..., Receiver],
    courier: Callable[..., HttpCourier],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A host that reaches the world only through a proxy can send."""
    proxy, server = receiver(answer("200 OK")), receiver(answer("200 OK"))
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
    assert attempt(courier(server.url))[0].kind == "delivered"
    assert (len(proxy.requests), len(server.requests)) == (1, 0)
    assert proxy.requests[0].startswith(f"POST {server.url} HTTP/1.1".encode())


def test_no_proxy_is_honoured(
    receiver: Callable[..., Receiver],
    courier: Callable[..., HttpCourier],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A receiver that is named in no_proxy is reached directly."""
    proxy, server = receiver(answer("200 OK")), receiver(answer("200 OK"))
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert attempt(courier(server.url))[0].kind == "delivered"
    assert (len(proxy.requests), len(server.requests)) == (0, 1)


def test_https_goes_through_the_proxy_in_a_tunnel(
    receiver: Callable[..., Receiver],
    courier: Callable[..., HttpCourier],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The proxy of an https receiver is asked for a tunnel, and never sees the path."""
    proxy = receiver(answer("403 Forbidden"))
    monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
    outcome, _ = attempt(courier(f"https://example.invalid/{MARKER}"))
    assert outcome.kind == "retried"
    assert proxy.requests[0].startswith(b"CONNECT example.invalid:443")
    assert MARKER.encode() not in proxy.requests[0]


@pytest.mark.parametrize("url", [f"file:///{MARKER}", f"ftp://h/{MARKER}", f"data:,{MARKER}"])
def test_other_schemes_are_not_opened(courier: Callable[..., HttpCourier], url: str) -> None:
    """A URL that got past the settings still opens no file."""
    assert attempt(courier(url))[0].kind == "retried"


@pytest.mark.parametrize(
    "url",
    [f"http://h:{MARKER}/", f"http://[{MARKER}/", f"http://a b/{MARKER}", f"http://\n{MARKER}"],
)
def test_url_that_is_none_is_not_shown(courier: Callable[..., HttpCourier], url: str) -> None:
    """Python's own errors hold the URL; ours do not."""
    assert attempt(courier(url))[0].kind == "retried"


# The thread.


def _breaks(*_: object) -> Any:
    raise RuntimeError(f"a bug that quotes {MARKER}")


def _no_memory(*_: object) -> Any:
    raise MemoryError


def test_no_memory_for_rendering_is_retried(courier: Callable[..., HttpCourier]) -> None:
    """A notice is not given up because memory ran out for a moment."""
    outcome, _ = attempt(courier(_refused(), render=_no_memory))
    assert Outcome("retried", "out of memory") == outcome


def test_bug_in_rendering_is_undeliverable(courier: Callable[..., HttpCourier]) -> None:
    """A notice that cannot be put into words does not hold up those behind it."""
    outcome, _ = attempt(courier(_refused(), render=_breaks))
    assert Outcome("undeliverable", "not rendered: RuntimeError") == outcome


def test_thread_survives_everything(
    receiver: Callable[..., Receiver], courier: Callable[..., HttpCourier]
) -> None:
    """After every kind of failure the same courier delivers the next notice, in order."""
    came: list[Settled] = []
    answers = iter([b"", b"junk\r\n\r\n", b"HTTP/1.1 500 E\r\n\r\n", b"HTTP/1.1 204 N\r\n\r\n"])
    server = receiver(lambda c, _: c.sendall(next(answers)))
    renders = iter([_breaks, *[generic.render] * 3, slack.render])
    made = courier(server.url, settled=came.append, render=lambda *a: next(renders)(*a))
    for n in range(5):
        made.post(f"tw_{n}", [notice(f"tw_{n}")])
    wait_until(lambda: len(came) == 5, "five outcomes")
    assert [s.outcome.kind for s in came] == [
        "undeliverable",
        "retried",
        "retried",
        "retried",
        "delivered",
    ]
    assert {"ops"} == {s.receiver for s in came}


def test_post_returns_at_once(
    receiver: Callable[..., Receiver], courier: Callable[..., HttpCourier]
) -> None:
    """The engine does not wait for a receiver, however slow."""
    over, came = threading.Event(), []
    server = receiver(lambda *_: over.wait(5) and None)
    made = courier(server.url, settled=came.append)
    began_s = time.monotonic()
    made.post("tw_1", [notice()])
    assert time.monotonic() - began_s < 0.2
    wait_until(lambda: came, "the time limit")
    over.set()


def test_closed_courier_is_not_heard_any_more(
    receiver: Callable[..., Receiver], courier: Callable[..., HttpCourier]
) -> None:
    """What was under way at a reload does not report to the engine that comes after it."""
    over, came = threading.Event(), []

    def behave(connection: socket.socket, _: bytes) -> None:
        over.wait(5)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    server = receiver(behave)
    made = courier(server.url, settled=came.append, timeout_s=10.0)
    made.post("tw_1", [notice()])
    made.post("tw_2", [notice()])
    wait_until(lambda: server.requests, "the request")
    made.close()
    over.set()
    wait_until(lambda: not made._thread.is_alive() or len(server.requests) == 2, "the answer")
    made._thread.join(timeout=10)
    assert came == []
