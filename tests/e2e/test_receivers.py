"""A receiver that misbehaves: no finding is lost, nothing else waits, no secret is shown."""

from __future__ import annotations

import contextlib
import http.client
import socket
import sqlite3
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from .daemon import (
    MARKER,
    Receiver,
    daemon,
    environment,
    receiver,
    row,
    tailwatch,
    wait_for,
    write,
)

NAN = float("nan")
Answer = Callable[[BaseHTTPRequestHandler, int], int | None]


def status_once(status: int, **headers: str) -> Answer:
    """Answer *status* to the first attempt, 204 afterwards."""

    def answer(handler: BaseHTTPRequestHandler, attempt: int) -> int | None:
        if attempt > 1:
            return 204
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        return None

    return answer


def reset_once(handler: BaseHTTPRequestHandler, attempt: int) -> int | None:
    """Drop the connection in the middle of the first attempt."""
    if attempt > 1:
        return 204
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    handler.connection.close()
    return None


@pytest.mark.parametrize(
    "answer",
    [status_once(500), status_once(503), status_once(429, Retry_After="1"), reset_once],
    ids=["500", "503", "429", "reset"],
)
def test_a_passing_trouble_delays(tmp_path: Path, answer: Answer) -> None:
    """After an error that may pass, the same notice comes again under the same id."""
    with receiver() as hook, daemon(tmp_path, url=hook.url) as tw:
        hook.answer = answer
        write(tw.runs / "m.jsonl", row(1, NAN))
        wait_for(lambda: hook.posts)
        wait_for(lambda: tw.metric("tailwatch_outbox_pending") == 0)

        assert hook.attempts == 2
        assert tw.metric("tailwatch_deliveries_total", outcome="retried") == 1
        assert tw.metric("tailwatch_deliveries_total", outcome="delivered") == 1
        assert_no_secret(tw.all_output(), tw.get("/metrics")[1], tw.get("/")[1])


@pytest.mark.parametrize("status", [400, 404, 410, 301, 307])
def test_a_lasting_refusal_is_final(tmp_path: Path, status: int) -> None:
    """A refusal is counted, logged once, kept as undeliverable, and holds up nothing."""
    with receiver() as elsewhere, receiver() as hook, daemon(tmp_path, url=hook.url) as tw:
        hook.answer = status_once(status, Location=elsewhere.url)
        write(tw.runs / "a" / "m.jsonl", row(1, NAN))
        wait_for(lambda: tw.metric("tailwatch_deliveries_total", outcome="undeliverable") == 1)
        write(tw.runs / "b" / "m.jsonl", row(1, NAN))
        wait_for(lambda: hook.posts)

        assert [f["run"] for f in hook.findings()] == ["b/m"]
        assert elsewhere.attempts == 0
        assert len([x for x in tw.log() if x["event"] == "notice_undeliverable"]) == 1
        tw.stop()
        connection = sqlite3.connect(tmp_path / "state" / "tailwatch.db")
        with contextlib.closing(connection):
            kept = connection.execute(
                "SELECT count(*) FROM outbox WHERE state = 'undeliverable' AND data IS NOT NULL"
            ).fetchone()
        assert kept == (1,)
        assert_no_secret(tw.all_output())


def test_a_receiver_that_is_down_is_tried_again_after_a_restart(tmp_path: Path) -> None:
    """What could not be told is told by a later process, once, under one id."""
    hook = Receiver()
    url = hook.url
    port = int(url.split(":")[2].split("/")[0])
    hook.close()
    with daemon(tmp_path, url=url) as tw:
        write(tw.runs / "m.jsonl", row(1, NAN))
        wait_for(lambda: tw.metric("tailwatch_deliveries_total", outcome="retried"))
        assert tw.metric("tailwatch_outbox_pending") == 1
        assert_no_secret(tw.all_output(), tw.get("/metrics")[1])
        tw.kill()
        with socket.create_server(("127.0.0.1", port)) as server:
            tw.start(ready=False)
            server.settimeout(30)
            connection, _ = server.accept()
            with connection:
                request = connection.recv(65536)
                connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
        assert b"finding.firing" in request or b"webhook-id" in request.lower()
        wait_for(lambda: tw.metric("tailwatch_outbox_pending") == 0)


def test_a_hanging_receiver_delays_only_itself(tmp_path: Path) -> None:
    """While one receiver hangs, rows are counted at once and the other receiver is told."""
    settings = tmp_path / "tailwatch.toml"
    with receiver() as slow, receiver() as quick:

        def hang(handler: BaseHTTPRequestHandler, attempt: int) -> int | None:
            with contextlib.suppress(OSError):
                handler.connection.settimeout(15)
                handler.connection.recv(1)
            return None

        slow.answer = hang
        settings.write_text(
            f'[[receivers]]\nname = "slow"\nurl = "{slow.url}"\n'
            f'[[receivers]]\nname = "quick"\nurl = "{quick.url}"\n'
        )
        with daemon(tmp_path, "--config", str(settings)) as tw:
            worst_s = 0.0
            for number in range(5):
                path = tw.runs / f"r{number}" / "m.jsonl"
                began_s = time.monotonic()
                write(path, row(1, NAN))
                run = f"r{number}/m"
                wait_for(lambda run=run: tw.metric("anomaly_findings_total", run=run), 5)
                worst_s = max(worst_s, time.monotonic() - began_s)
            wait_for(lambda: len(quick.findings()) == 5)

            assert len(slow.posts) == 0
            assert worst_s < 5
            # That the quick one has answered is known a moment after it has been told.
            wait_for(lambda: tw.metric("tailwatch_outbox_pending") == 5)
            assert tw.stop() == 0
            assert_no_secret(tw.all_output())


def assert_no_secret(*texts: str) -> None:
    """The marker of the webhook's path is in none of them."""
    for text in texts:
        assert MARKER not in text


def test_the_secret_is_shown_by_no_command(tmp_path: Path) -> None:
    """`config`, `notify-test`, errors and debug logs do not hold the URL, however it fails."""
    bad = f"https://user:{MARKER}@example.invalid/{MARKER}"
    odd = f"http://127.0.0.1:1/{MARKER}/x y"
    good = f"http://127.0.0.1:1/{MARKER}"
    file = tmp_path / "tailwatch.toml"
    file.write_text(f'[[receivers]]\nurl = "{good}"\nsecret = "{MARKER}!"\n')
    outputs = []
    for url in (bad, odd, good, f"ftp://{MARKER}", f"http://[{MARKER}/"):
        env = environment(TAILWATCH_WEBHOOK_URL=url)
        for args in (
            ("config",), ("config", "--format", "json"), ("notify-test",),
            ("notify-test", "--format", "json"), ("run",), ("config", "--config", str(file)),
        ):  # fmt: skip
            result = tailwatch(*args, env=env)
            outputs += [result.stdout, result.stderr]

    assert_no_secret(*outputs)
    assert all("Traceback" not in text for text in outputs)


def test_debug_logs_hold_no_secret(tmp_path: Path) -> None:
    """With the log at debug and the receiver failing in every way, the URL is nowhere."""
    answers = iter([500, 429, 404, 301])

    def answer(handler: BaseHTTPRequestHandler, attempt: int) -> int | None:
        status = next(answers, None)
        if status is None:
            raise ConnectionResetError
        return status

    with receiver() as hook, daemon(tmp_path, "--log-level", "debug", url=hook.url) as tw:
        hook.answer = answer
        hook._server.handle_error = lambda *args: None  # type: ignore[method-assign]
        for number in range(4):
            write(tw.runs / f"r{number}" / "m.jsonl", row(1, NAN))
        wait_for(lambda: tw.metric("tailwatch_deliveries_total", outcome="undeliverable"))
        wait_for(lambda: hook.attempts >= 5)
        hook.close()
        wait_for(lambda: (tw.metric("tailwatch_deliveries_total", outcome="retried") or 0) >= 4)
        host, _, port = tw.address.rpartition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=5)
        connection.request("GET", f"/{MARKER}")
        assert connection.getresponse().status == 404
        connection.close()

        assert_no_secret(tw.all_output(), tw.get("/metrics")[1], tw.get("/")[1])


def test_notify_test_says_what_each_answered(tmp_path: Path) -> None:
    """`notify-test` exits 0 when all answered well, 1 when one did not, and names each."""
    with receiver() as good, receiver() as bad:
        bad.answer = lambda handler, attempt: 404
        file = tmp_path / "tailwatch.toml"
        text = f'[[receivers]]\nname = "good"\nurl = "{good.url}"\n'
        file.write_text(text)
        alone = tailwatch("notify-test", "--config", str(file))
        file.write_text(text + f'[[receivers]]\nname = "bad"\ntype = "slack"\nurl = "{bad.url}"\n')
        both = tailwatch("notify-test", "--config", str(file))

        assert (alone.returncode, alone.stdout) == (0, "good (generic): delivered, HTTP 204\n")
        assert (
            both.returncode,
            both.stdout.splitlines()[1],
        ) == (1, "bad (slack): failed, HTTP 404")
        assert [post.body["type"] for post in good.posts] == ["test", "test"]
        assert tailwatch("notify-test").returncode == 1
