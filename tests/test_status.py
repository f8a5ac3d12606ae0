"""`tailwatch status`: whom it asks, what it takes for an answer, and what it shows."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from tailwatch.client_config import read_client_config
from tailwatch.config_file import WebSettings
from tailwatch.errors import ConfigError, NoDaemon
from tailwatch.pages.answer import Answer
from tailwatch.pages.api import runs_document
from tailwatch.shell.guard import Guard
from tailwatch.shell.web import WebServer
from tailwatch.status import ask, default_url
from tests.certificates import certificates
from tests.shell.helpers import MemoryLog, run_view, snapshot

NOBODY = read_client_config(None)


@pytest.mark.parametrize(
    ("listen", "url"),
    [
        ("127.0.0.1:10836", "http://127.0.0.1:10836"),
        ("0.0.0.0:1", "http://127.0.0.1:1"),
        (":1", "http://127.0.0.1:1"),
        ("[::]:1", "http://[::1]:1"),
        ("gpu1:1", "http://gpu1:1"),
    ],
)
def test_the_settings_say_where(listen: str, url: str) -> None:
    """A daemon that listens everywhere is asked on loopback."""
    assert default_url(WebSettings(listen=listen)) == url


def test_with_tls_it_is_asked_over_tls(tmp_path: Path) -> None:
    """By what the web configuration file says."""
    file = tmp_path / "web.yml"
    made = certificates()
    file.write_text(
        f"tls_server_config:\n  cert_file: {made}/server.crt\n  key_file: {made}/server.key\n"
    )
    assert default_url(WebSettings(listen=":1", config_file=str(file))) == "https://127.0.0.1:1"
    file.write_text("")
    assert default_url(WebSettings(listen=":1", config_file=str(file))) == "http://127.0.0.1:1"


@pytest.mark.parametrize(("listen", "said"), [("none", "no port"), (":0", "--url")])
def test_where_nobody_knows_it_is_said(listen: str, said: str) -> None:
    """Without a port, or with one that the system chose, there is nothing to guess."""
    with pytest.raises(ConfigError, match=said):
        default_url(WebSettings(listen=listen))


class Stub:
    """Answers by path, 404 otherwise."""

    def __init__(self, **answers: tuple[int, str]) -> None:
        self.answers = answers

    def answer(self, path: str, accept: str) -> Answer:
        status, body = self.answers.get(path.rpartition("/")[2], (404, "not found"))
        return Answer(status, "text/plain", body.encode())

    def connection_dropped(self) -> None:
        pass


def asked(stub: Any) -> dict[str, Any]:
    server = WebServer("127.0.0.1:0", stub, Guard(None, MemoryLog()))
    try:
        return ask(f"http://{server.address}", NOBODY)
    finally:
        server.close()


def test_the_document_is_that_of_the_api() -> None:
    """As it came."""
    document = json.loads(json.dumps(runs_document(snapshot(run_view("a")))))
    assert asked(Stub(healthy=(200, "OK"), runs=(200, json.dumps(document)))) == document


@pytest.mark.parametrize(
    ("stub", "said"),
    [
        (Stub(healthy=(503, "the engine has not turned for 70 s"), runs=(200, "{}")), "503: the engine has not turned for 70 s"),
        (Stub(healthy=(200, "OK"), runs=(503, '{"error": "restored"}')), "runs: 503:"),
        (Stub(healthy=(401, "")), "wants a password: --http.config.file"),
        (Stub(), "healthy: 404: not found"),
        (Stub(healthy=(500, "\x1b[31m")), r"500: \\x1b\[31m"),
        (Stub(healthy=(200, "OK"), runs=(200, "<html>")), "is no tailwatch that this one knows"),
        (Stub(healthy=(200, "OK"), runs=(200, "[]")), "is no tailwatch"),
        (Stub(healthy=(200, "OK"), runs=(200, '{"version": 2, "runs": []}')), "is no tailwatch"),
    ],
)  # fmt: skip
def test_what_is_no_good_answer_is_one_line(stub: Stub, said: str) -> None:
    """Sick, shut, or something else: each is told apart, and exits with 1."""
    with pytest.raises(NoDaemon, match=said) as caught:
        asked(stub)
    assert caught.value.exit_code == 1
    assert str(caught.value).isprintable()


def test_nobody_there() -> None:
    """Nor is one who answers in no words of HTTP."""
    with pytest.raises(
        NoDaemon, match=r"no daemon answers at http://127\.0\.0\.1:1: Connection refused"
    ):
        ask("http://127.0.0.1:1", NOBODY)


@pytest.mark.parametrize(
    ("scheme", "words", "said"),
    [("https", b"", ""), ("http", b"", ""), ("http", b"\x1b[31m\r\n", r"\\x1b\[31m")],
)
def test_who_does_not_speak_http(scheme: str, words: bytes, said: str) -> None:
    """Hangs up, or says something else: no daemon, and nothing that a terminal would obey."""
    with socket.create_server(("127.0.0.1", 0)) as rude:

        def hang_up() -> None:
            with rude.accept()[0] as client:
                client.sendall(words)

        thread = threading.Thread(target=hang_up)
        thread.start()
        with pytest.raises(NoDaemon, match=f"no daemon answers at .*: .*{said}") as caught:
            ask(f"{scheme}://127.0.0.1:{rude.getsockname()[1]}", NOBODY)
        thread.join()
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "url", ["127.0.0.1:1", "ftp://h", "http://", "http://u:p@h/", "http://h/?x", "http://h x"]
)
def test_what_is_no_url_is_refused(url: str) -> None:
    """A password does not belong where everybody sees it."""
    with pytest.raises(ConfigError, match="--url: expected an http or https URL"):
        ask(url, NOBODY)
