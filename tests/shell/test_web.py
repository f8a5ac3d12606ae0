"""HTTP in: what each path answers, to whom, and that no client can hold up another."""

from __future__ import annotations

import contextlib
import http.client
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.core import Metric

from tailwatch.board import Board
from tailwatch.errors import ConfigError
from tailwatch.pages.answer import Answer
from tailwatch.pages.site import BEAT_AGE_MAX_S, Site
from tailwatch.shell import web
from tailwatch.shell.exposition import Exposed, SnapshotCollector, make_registry
from tailwatch.shell.guard import Guard
from tailwatch.shell.web import CONNECTIONS_MAX, HEAD_BYTES_MAX, WebServer, own_names
from tests.shell.helpers import (
    PATIENCE_S,
    MemoryLog,
    run_view,
    snapshot,
    standing,
    wait_until,
)

OPEN = Guard(None, MemoryLog())


class Served(NamedTuple):
    """A server on a free port, its board, and the clock that the test sets."""

    server: WebServer
    board: Board
    clock_s: list[float]

    @property
    def port(self) -> int:
        return int(self.server.address.rpartition(":")[2])

    def ask(
        self, path: str, method: str = "GET", headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers (names in lower case) and body of one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request(method, path, headers=headers or {})
            response = connection.getresponse()
            names = {k.lower(): v for k, v in response.getheaders()}
            return response.status, names, response.read()
        finally:
            connection.close()


@contextlib.contextmanager
def served_on(listen: str, guard: Guard) -> Iterator[Served]:
    """A server with a snapshot, behind a guard."""
    board = Board()
    board.publish(snapshot())
    registry = make_registry(board, Exposed([], []), lambda: 2000.0, lambda: 2000.0)
    server = WebServer(listen, Site(board, registry, lambda: 100.0), guard)
    try:
        yield Served(server, board, [100.0])
    finally:
        server.close()


@pytest.fixture(scope="module")
def serving() -> Iterator[Served]:
    board, clock_s = Board(), [100.0]
    exposed = Exposed([("nan_loss", "critical")], ["ops"])
    registry = make_registry(board, exposed, lambda: 2000.0, lambda: 2000.0)
    server = WebServer("127.0.0.1:0", Site(board, registry, lambda: clock_s[0]), OPEN, {"gpu1"})
    yield Served(server, board, clock_s)
    server.close()


@pytest.fixture
def served(serving: Served) -> Served:
    """The module's server with nothing on its board, at second 100."""
    serving.board.snapshot = serving.board.beat_s = None
    serving.clock_s[0] = 100.0
    return serving


# Health.


def test_metrics_wait_for_the_state(served: Served) -> None:
    """Until the state is restored a scrape fails, so that no counter is seen to fall."""
    assert served.ask("/metrics")[0] == 503
    served.board.publish(snapshot(run_view()))
    status, headers, body = served.ask("/metrics")
    assert status == 200
    assert headers["content-type"].startswith("text/plain")
    assert b'anomaly_findings_total{category="nan_loss",run="exp/metrics"' in body


def test_openmetrics_is_given_to_who_asks_for_it(served: Served) -> None:
    """The format goes by the Accept header, as Prometheus sends it."""
    served.board.publish(snapshot(run_view()))
    accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
    _, headers, body = served.ask("/metrics", headers={"Accept": accept})
    assert headers["content-type"].startswith("application/openmetrics-text")
    assert body.endswith(b"# EOF\n")


def test_healthy_while_the_engine_turns(served: Served) -> None:
    """Health is a recent turn of the engine; without one the answer says since when."""
    assert served.ask("/-/healthy")[::2] == (503, b"the engine has not turned yet\n")
    served.board.beat(100.0)
    served.clock_s[0] = 100.0 + BEAT_AGE_MAX_S
    assert served.ask("/-/healthy")[0] == 200
    served.clock_s[0] = 101.0 + BEAT_AGE_MAX_S
    status, _, body = served.ask("/-/healthy")
    assert (status, b"not turned for 61 s" in body) == (503, True)


def test_ready_after_the_first_sweep(served: Served) -> None:
    """Ready is: restored, and every file looked at once; until then the answer says why not."""
    status, _, body = served.ask("/-/ready")
    assert (status, b"being restored" in body) == (503, True)
    served.board.publish(snapshot(ready=False))
    status, _, body = served.ask("/-/ready")
    assert (status, b"first look" in body) == (503, True)
    served.board.publish(snapshot(ready=True))
    assert served.ask("/-/ready")[0] == 200


# What may be asked.


@pytest.mark.parametrize("path", ["/", "/metrics", "/-/healthy", "/-/ready", "/no/such/page"])
def test_head_is_get_without_its_body(served: Served, path: str) -> None:
    """HEAD has the status and the length that GET has, and no body."""
    served.board.publish(snapshot())
    served.board.beat(100.0)
    get, head = served.ask(path), served.ask(path, "HEAD")
    assert head[2] == b""
    assert get[0] == head[0]
    assert get[1]["content-type"] == head[1]["content-type"]
    if path != "/metrics":  # That holds the CPU time of this process.
        assert get[1]["content-length"] == head[1]["content-length"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(served: Served, method: str) -> None:
    """Nothing can be changed over HTTP, and the answer says what can be asked."""
    served.board.publish(snapshot())
    status, headers, body = served.ask("/metrics", method)
    assert (status, headers["allow"], body) == (
        405,
        "GET, HEAD",
        b"only GET and HEAD are answered\n",
    )
    assert served.ask("/metrics", "X")[0] == 501


def test_unknown_path_is_not_found(served: Served) -> None:
    """A path that is none answers 404 and does not repeat the path."""
    status, _, body = served.ask("/%3Cscript%3E/../etc/passwd?x=<script>")
    assert (status, b"script" in body) == (404, False)


@pytest.mark.parametrize(
    ("path", "method"),
    [
        ("/", "GET"), ("/", "HEAD"), ("/metrics", "GET"), ("/api/v1/runs", "GET"), ("/no", "GET"),
        ("/", "POST"), ("/", "NONE"), ("/" + "x" * 70_000, "GET"),
    ],
    ids=lambda each: each[:20],
)  # fmt: skip
def test_security_headers_are_on_every_answer(served: Served, path: str, method: str) -> None:
    """No answer, an error among them, may be framed, guessed at, or kept."""
    _, headers, _ = served.ask(path, method)
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    directives = dict(d.split(maxsplit=1) for d in headers["content-security-policy"].split("; "))
    assert directives == {
        "default-src": "'none'",
        "style-src": "'self'",
        "script-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
    }
    assert "python" not in headers["server"].lower()


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:10836", 200), ("[::1]:10836", 200), ("localhost", 200), ("GPU1:80", 200),
        ("evil.example", 421), ("127.0.0.1.evil.example", 421), ("gpu1.evil.example:10836", 421),
        ("", 421),
    ],
)  # fmt: skip
def test_a_strangers_name_for_loopback_is_refused(served: Served, host: str, status: int) -> None:
    """A web page whose name is made to lead to 127.0.0.1 (DNS rebinding) reads nothing."""
    served.board.publish(snapshot())
    answered, _, body = served.ask("/metrics", headers={"Host": host})
    assert (answered, b"anomaly_findings_total" in body) == (status, status == 200)


def test_any_name_will_do_where_others_may_ask() -> None:
    """On an address of the network the names of the host are not ours to know."""
    with served_on("0.0.0.0:0", Guard(None, MemoryLog())) as everywhere:
        assert everywhere.ask("/-/ready", headers={"Host": "gpu1.example"})[0] == 200


def test_own_names() -> None:
    """The host's name and that of the external URL."""
    assert own_names(None) == {socket.gethostname()}
    assert own_names("https://Watch.example:8443/x") == {socket.gethostname(), "watch.example"}


def test_a_head_is_held_up_to_its_limit(served: Served) -> None:
    """Headers of any size are answered up to the limit of their sum, and refused beyond it."""
    served.board.publish(snapshot())
    most = {f"X-{n}": "x" * 60_000 for n in range(HEAD_BYTES_MAX // 60_100)}
    assert served.ask("/-/ready", headers=most)[0] == 200
    lines = (b"X-%d: %s\r\n" % (n, b"0" * 60_000) for n in range(90))
    request = b"".join([b"GET / HTTP/1.1\r\n", *lines, b"\r\n"])
    with connect(served) as client:
        said = b""
        with contextlib.suppress(OSError):  # It does not wait for the rest.
            client.sendall(request)
        with contextlib.suppress(OSError):
            said = client.recv(100)
    assert said[:12] in (b"HTTP/1.0 431", b"")
    assert served.ask("/-/ready")[0] == 200


def test_query_does_not_matter(served: Served) -> None:
    """A scrape with parameters is a scrape."""
    served.board.publish(snapshot())
    assert served.ask("/metrics?name[]=x")[0] == 200


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60))
@settings(deadline=None, max_examples=200)
def test_any_accept_header_gets_a_page(accept: str) -> None:
    """No Accept header can break a scrape."""
    board = Board()
    board.publish(snapshot())
    site = Site(
        board, make_registry(board, Exposed([], []), lambda: 0.0, lambda: 0.0), lambda: 0.0
    )
    assert site.answer("/metrics", accept).status == 200


def test_bug_in_a_page_is_a_500_without_its_text(served: Served) -> None:
    """A page that raises says so in one line, and shows nothing of the error."""
    served.board.publish(snapshot(run_view(), gauges={("watch_mode",): 1}))
    status, _, body = served.ask("/metrics")
    assert (status, body) == (500, b"internal error: IndexError\n")
    served.board.publish(snapshot())
    assert served.ask("/metrics")[0] == 200


# The page.


def test_names_from_files_are_escaped(served: Served) -> None:
    """A run that is called like markup is shown as text."""
    name = "<script>alert(1)</script>\"'&"
    found = standing()._replace(message="<img src=x onerror=alert(2)>")
    served.board.publish(snapshot(run_view(name, file=f"/{name}", standing=[found])))
    body = served.ask("/")[2].decode()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in body
    assert "&lt;img src=x" in body
    assert None is re.search(r"<script>alert|<img src=x", body)


def test_page_tells_a_person_what_stands(served: Served) -> None:
    """The page names each run and what is wrong with it."""
    served.board.publish(snapshot(run_view("exp7"), run_view("bad1", standing=[standing()])))
    status, headers, body = served.ask("/")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert all(text in body.decode() for text in ("exp7", "bad1", "critical", "loss is NaN"))


def test_page_before_the_state_is_restored(served: Served) -> None:
    """Somebody who looks too early gets a page or a reason, not a broken connection."""
    assert served.ask("/")[0] in (200, 503)


# The port.


def site() -> Site:
    board = Board()
    board.publish(snapshot())
    return Site(
        board, make_registry(board, Exposed([], []), lambda: 0.0, lambda: 0.0), lambda: 0.0
    )


def test_port_in_use_is_one_line(served: Served) -> None:
    """A taken port is the operator's business, said in one line with the address."""
    with pytest.raises(ConfigError, match="in use") as caught:
        WebServer(served.server.address, site(), OPEN)
    assert served.server.address in str(caught.value)
    assert "\n" not in str(caught.value)


def test_closed_server_frees_its_port(served: Served) -> None:
    """After close the same address can be taken at once, as a reload does."""
    first = WebServer("127.0.0.1:0", site(), OPEN)
    address = first.address
    first.close()
    again = WebServer(address, site(), OPEN)
    assert address == again.address
    again.close()


@pytest.mark.parametrize(
    "listen",
    ["127.0.0.1:65536", "127.0.0.1:99999999", "no.such.host.invalid:0", "a..b:0", "a\0b:0"],
)
def test_address_that_cannot_be_used_is_one_line(listen: str) -> None:
    """A host or port that does not exist ends in one line, never in a traceback."""
    with pytest.raises(ConfigError, match="cannot listen on") as caught:
        WebServer(listen, site(), OPEN)
    assert "\n" not in str(caught.value)


def test_address_of_version_six() -> None:
    """An IPv6 address in brackets is listened on, and shown with its brackets."""
    server = WebServer("[::1]:0", site(), OPEN)
    try:
        assert server.address.startswith("[::1]:")
        port = int(server.address.rpartition(":")[2])
        connection = http.client.HTTPConnection("::1", port, timeout=10)
        connection.request("GET", "/-/ready")
        assert connection.getresponse().status == 200
        connection.close()
    finally:
        server.close()


def test_loopback_only_when_asked_for_loopback(served: Served) -> None:
    """A server on 127.0.0.1 is on no other address of the host."""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", served.port), timeout=5)


# Clients.


def test_silent_clients_block_nobody(served: Served) -> None:
    """While many clients are connected and say nothing, or half a request, scrapes go on."""
    served.board.publish(snapshot())
    mute = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(40)]
    try:
        for each in mute[20:]:
            each.sendall(b"GET /metrics HTTP/1.1\r\nX-Half: ")
        for _ in range(5):
            assert served.ask("/metrics")[0] == 200
    finally:
        for each in mute:
            each.close()


def connect(served: Served, request: bytes = b"") -> socket.socket:
    client = socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE_S)
    client.sendall(request)
    return client


def test_idle_connections_take_no_threads(served: Served) -> None:
    """With 500 clients that say nothing there are 16 threads more, and others are answered."""
    served.board.beat(100.0)
    before, dropped = threading.active_count(), served.board.connections_dropped
    idle = [connect(served) for _ in range(500)]
    try:
        for _ in range(5):
            assert served.ask("/-/healthy")[0] == 200
            assert threading.active_count() <= before + CONNECTIONS_MAX
        assert served.board.connections_dropped - dropped >= 500 - CONNECTIONS_MAX
    finally:
        for each in idle:
            each.close()
    wait_until(_at_most(before), "the threads to end")


def test_a_slow_client_has_its_time_and_no_more(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that sends a byte now and then is cut off, though it is never silent for long."""
    monkeypatch.setattr(web, "REQUEST_TIMEOUT_S", 0.5)
    before, dropped = threading.active_count(), served.board.connections_dropped
    with connect(served, b"GET / HTTP/1.1\r\nX-Slow: ") as slow:
        slow.settimeout(0.05)

        def cut_off() -> bool:
            try:
                slow.sendall(b"x")
                return slow.recv(1) == b""
            except TimeoutError:
                return False
            except OSError:
                return True

        wait_until(cut_off, "the end of the connection")
    wait_until(_at_most(before), "the thread to end")
    assert served.board.connections_dropped == dropped + 1


def test_a_client_that_does_not_take_its_answer_is_cut_off(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that nobody fetches, and that no buffer of the system holds, is not kept for ever."""
    monkeypatch.setattr(web, "REQUEST_TIMEOUT_S", 0.5)
    page = Answer(200, "text/plain", bytes(64 << 20))
    monkeypatch.setattr(served.server._server.site, "answer", lambda path, accept: page)
    before, dropped = threading.active_count(), served.board.connections_dropped
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", served.port))
        client.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        wait_until(lambda: served.board.connections_dropped > dropped, "the connection to be cut")
        wait_until(_at_most(before), "the thread to end")


def test_who_is_being_answered_is_not_cut_off(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all threads at work one more is refused; those who were first get their answers."""
    monkeypatch.setattr(web, "SLOT_WAIT_S", 0.05)
    release, working = threading.Event(), threading.Semaphore(0)

    def answer(path: str, accept: str) -> Answer:
        working.release()
        release.wait(PATIENCE_S)
        return Answer(200, "text/plain", b"worth the wait")

    monkeypatch.setattr(served.server._server.site, "answer", answer)
    clients = [connect(served, b"GET / HTTP/1.0\r\n\r\n") for _ in range(CONNECTIONS_MAX)]
    try:
        for _ in clients:
            assert working.acquire(timeout=PATIENCE_S)
        dropped = served.board.connections_dropped
        with connect(served) as late:
            assert late.recv(1) == b""
        assert served.board.connections_dropped == dropped + 1
        release.set()
        for each in clients:
            said = b""
            while more := each.recv(65536):
                said += more
            assert said.endswith(b"worth the wait")
    finally:
        release.set()
        for each in clients:
            each.close()


def test_a_thread_that_cannot_start_costs_one_answer(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While no thread can be started nobody is answered; afterwards all are."""

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    served.board.beat(100.0)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        for _ in range(2 * CONNECTIONS_MAX):
            with connect(served) as client:
                assert client.recv(1) == b""
    assert served.ask("/-/healthy")[0] == 200


def test_one_page_of_metrics_is_made_at_a_time(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many scrape at a time, the memory is that of one page."""
    served.board.publish(snapshot())
    at_work, most = [0], [0]
    collect = SnapshotCollector.collect

    def counted(self: SnapshotCollector) -> Iterator[Metric]:
        at_work[0] += 1
        most[0] = max(most[0], at_work[0])
        yield from collect(self)
        time.sleep(0.01)  # Long enough for all the others to come.
        at_work[0] -= 1

    monkeypatch.setattr(SnapshotCollector, "collect", counted)
    clients = [connect(served, b"GET /metrics HTTP/1.0\r\n\r\n") for _ in range(8)]
    for each in clients:
        assert each.recv(15) == b"HTTP/1.0 200 OK"
        each.close()
    assert most == [1]


def test_client_that_leaves_in_the_middle_is_no_news(
    served: Served, capfd: pytest.CaptureFixture[str]
) -> None:
    """A client that resets its connection leaves no traceback and no broken server."""
    served.board.publish(snapshot(*(run_view(f"r{n}") for n in range(500))))
    for _ in range(5):
        rude = socket.create_connection(("127.0.0.1", served.port))
        rude.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        rude.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        rude.close()
    assert served.ask("/metrics")[0] == 200
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "junk",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"GET //[ HTTP/1.0\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n",
    ],
)
def test_junk_gets_an_error_and_no_more(
    served: Served, capfd: pytest.CaptureFixture[str], junk: bytes
) -> None:
    """What is no request is refused or dropped, quietly, and the next request is answered."""
    served.board.publish(snapshot())
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as client:
        client.sendall(junk)
        client.shutdown(socket.SHUT_WR)
        said = b""
        try:
            while more := client.recv(65536):
                said += more
        except ConnectionResetError:
            pass
    assert b" 200 " not in said[:20]
    assert b"Traceback" not in said
    assert served.ask("/-/ready")[0] == 200
    assert capfd.readouterr() == ("", "")


def test_many_scrapes_while_snapshots_change(served: Served) -> None:
    """Concurrent scrapes during publishing are all answered, whole."""
    over = threading.Event()

    def publish() -> None:
        n = 0
        while not over.is_set():
            n += 1
            served.board.publish(snapshot(*(run_view(f"r{n % 50}-{k}") for k in range(20))))

    served.board.publish(snapshot())
    answers: list[tuple[int, bool]] = []

    def scrape() -> None:
        for _ in range(5):
            status, headers, body = served.ask("/metrics")
            answers.append((status, int(headers["content-length"]) == len(body)))

    threads = [threading.Thread(target=scrape) for _ in range(8)]
    writer = threading.Thread(target=publish)
    for thread in [writer, *threads]:
        thread.start()
    for thread in threads:
        thread.join()
    over.set()
    writer.join()
    assert answers == [(200, True)] * 40


def test_threads_end_with_their_clients(served: Served) -> None:
    """A thread lives as long as its connection, so that scrapes leave none behind."""
    served.board.publish(snapshot())
    before = threading.active_count()
    for _ in range(10):
        served.ask("/metrics")
    wait_until(_at_most(before), "the threads to end")


def _at_most(number: int) -> Callable[[], bool]:
    return lambda: threading.active_count() <= number
