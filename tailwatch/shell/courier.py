"""HTTP out: one thread for one receiver, one request at a time."""

from __future__ import annotations

import contextlib
import email.utils
import http.client
import queue
import re
import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from typing import Any

from .. import __version__
from ..core.notices import Notice
from ..core.outbox import Outcome, judge
from ..core.secret import Secret
from ..messages import Settled

TIMEOUT_S = 10.0
ANSWER_BYTES_MAX = 4096

Render = Callable[[str, Sequence[Notice], float, str | None], Any]


class HttpCourier:
    """
    Sends to one receiver and says what came of it.

    Nothing of the URL, and no text of an error that might hold it, leaves here.

    Args:
        receiver: The receiver's name.
        url: Where to.
        secret: The signing key, if there is one.
        render: Makes the request of notices.
        settled: Called from the courier's thread with the outcome of each attempt.
        timeout_s: For one attempt in all: connecting, sending, and reading the answer.
    """

    def __init__(
        self,
        receiver: str,
        url: Secret,
        secret: Secret | None,
        render: Render,
        settled: Callable[[Settled], None],
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._receiver = receiver
        self._url, self._secret = url, secret
        self._render = render
        self._settled = settled
        self._timeout_s = timeout_s
        self._closed = False
        self._queue: queue.SimpleQueue[tuple[str, Sequence[Notice]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=f"courier-{receiver}", daemon=True)
        self._thread.start()

    def post(self, key: str, notices: Sequence[Notice]) -> None:
        """Begin one attempt; the outcome comes by `settled`."""
        self._queue.put((key, notices))

    def alive(self) -> bool:
        """Whether it can still send."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Send nothing more. An attempt under way is left to its time limit, unheard."""
        self._closed = True
        self._queue.put(None)

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            outcome = self.attempt(*item)
            # After a reload the next engine must not hear of what it did not send.
            if not self._closed:
                self._settled(Settled(self._receiver, outcome))

    def attempt(self, key: str, notices: Sequence[Notice]) -> Outcome:
        """Send once, now."""
        now_s = time.time()
        try:
            secret = self._secret.reveal() if self._secret else None
            headers, body = self._render(key, notices, now_s, secret)
        except MemoryError:  # Passes.
            return Outcome("retried", "out of memory")
        except Exception as error:  # Our own bug must not hold up what waits behind it.
            return Outcome("undeliverable", f"not rendered: {type(error).__name__}")
        try:
            return self._send(headers, body, now_s)
        except Exception as error:  # urllib raises a dozen kinds; each is "try again".
            return Outcome("retried", _reason(error))

    def _send(self, headers: dict[str, str], body: bytes, now_s: float) -> Outcome:
        with _Deadline(self._timeout_s) as deadline:
            request = urllib.request.Request(
                self._url.reveal(),
                data=body,
                headers=headers | {"User-Agent": f"tailwatch/{__version__}"},
                method="POST",
            )
            with _opener(deadline).open(request, timeout=self._timeout_s) as response:
                # To http.client headers that we cut off are whole; which of the two limits,
                # the socket's or ours, comes first must not decide what came of it.
                if deadline.is_over():
                    raise TimeoutError
                # The answer says nothing we need; reading some lets the peer finish.
                # A body that breaks off changes nothing: the status has settled it.
                with contextlib.suppress(Exception):
                    response.read(ANSWER_BYTES_MAX)
                after_s = _retry_after_s(response.headers.get("Retry-After"), now_s)
                return judge(response.status, after_s)


class _Deadline:
    """
    Ends a connection when its time is up.

    The timeout of a socket is for each single operation: a peer that sends a
    byte a second would hold us for ever.
    """

    def __init__(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True
        self._sockets: list[socket.socket] = []
        self._over = threading.Event()

    def is_over(self) -> bool:
        """Whether the time was up."""
        return self._over.is_set()

    def create_connection(self, *args: Any, **kwargs: Any) -> socket.socket:
        """Like `socket.create_connection`, and remembers the socket."""
        connection = socket.create_connection(*args, **kwargs)
        # TLS detaches the plain socket; a duplicate still reaches the connection.
        self._sockets.append(connection.dup())
        if self._over.is_set():  # Name look-up and connecting took all of the time.
            self._end()
        return connection

    def _end(self) -> None:
        self._over.set()
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> _Deadline:
        self._timer.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._timer.cancel()
        for each in self._sockets:
            each.close()


def _opener(deadline: _Deadline) -> urllib.request.OpenerDirector:
    """An opener that knows http, https and proxies, and follows no redirect."""

    def bounded(connection: Any) -> Callable[..., Any]:
        def make(host: str, **kwargs: Any) -> Any:
            made = connection(host, **kwargs)
            made._create_connection = deadline.create_connection
            return made

        return make

    class Http(urllib.request.HTTPHandler):
        def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
            return self.do_open(bounded(http.client.HTTPConnection), req)

    class Https(urllib.request.HTTPSHandler):
        def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
            made = bounded(http.client.HTTPSConnection)
            context = ssl.create_default_context()
            return self.do_open(made, req, context=context)

    opener = urllib.request.OpenerDirector()
    for handler in (urllib.request.ProxyHandler(), Http(), Https()):
        opener.add_handler(handler)
    return opener


def _retry_after_s(text: str | None, now_s: float) -> float:
    """Retry-After as seconds from now: a number, or an HTTP date."""
    if not text:
        return 0.0
    if re.fullmatch(r"[0-9]+", text.strip()):
        return float(text.strip()[:9])
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - now_s)
    except Exception:  # What a stranger wrote: its parser raises more kinds than it says.
        return 0.0


def _reason(error: BaseException) -> str:
    """What went wrong, in words that cannot hold the URL."""
    if isinstance(error, urllib.error.URLError) and isinstance(error.reason, BaseException):
        error = error.reason
    if isinstance(error, TimeoutError):
        return "timed out"
    if isinstance(error, ssl.SSLError):
        return f"TLS: {error.reason or 'failed'}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__
