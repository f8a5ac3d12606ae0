"""Who may ask: passwords and certificates, over a real port, and files that change under it."""

from __future__ import annotations

import base64
import contextlib
import http.client
import shutil
import socket
import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path

import bcrypt
import pytest

from tailwatch.shell import guard as guard_module
from tailwatch.shell import web
from tailwatch.shell.guard import CACHED_MAX, WAITING_MAX, Guard
from tailwatch.web_config import read_web_config
from tests.certificates import certificates
from tests.shell.helpers import PATIENCE_S, MemoryLog, wait_until
from tests.shell.test_web import Served, served_on

TLS = "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n"
MUTUAL = TLS + "  client_ca_file: ca.crt\n  client_auth_type: RequireAndVerifyClientCert\n"


def hashed(password: str) -> str:
    """At the least cost that there is."""
    return bcrypt.hashpw(password.encode(), bcrypt.gensalt(4)).decode()


def users(**passwords: str) -> str:
    lines = [f"  {name}: {hashed(password)}" for name, password in passwords.items()]
    return "\n".join(["basic_auth_users:", *lines, ""])


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    for each in certificates().iterdir():
        shutil.copy(each, tmp_path)
    return tmp_path / "web.yml"


def guard_of(file: Path, text: str) -> tuple[Guard, MemoryLog]:
    file.write_text(text)
    log = MemoryLog()
    return Guard(read_web_config(str(file)), log), log


def ask(served: Served, name: str | None = None, path: str = "/-/ready", **headers: str) -> int:
    """The status of a request over TLS, with the certificate of *name*."""
    made = certificates()
    context = ssl.create_default_context(cafile=str(made / "ca.crt"))
    if name is not None:
        context.load_cert_chain(made / f"{name}.crt", made / f"{name}.key")
    connection = http.client.HTTPSConnection("127.0.0.1", served.port, timeout=10, context=context)
    with contextlib.closing(connection):
        connection.request("GET", path, headers=headers)
        return connection.getresponse().status


# Passwords.


def test_without_a_file_everybody_may_ask() -> None:
    """No file, no TLS, no password, and nothing to be wrong."""
    guard = Guard(None, MemoryLog())
    assert (guard.context(), guard.refusal(""), guard.headers, guard.ok) == (None, None, {}, True)


@pytest.mark.parametrize(
    ("authorization", "refusal"),
    [
        (basic("ann", "right"), None),
        (basic("bob", "päss:wörd"), None),
        (basic("ann", "right").replace("Basic", "bAsIc"), None),
        (basic("ann", "wrong"), 401),
        (basic("bob", "right"), 401),
        (basic("eve", "right"), 401),
        (basic("", ""), 401),
        (basic("ann", "right\0"), 401),
        (basic("ann", "x" * 5000), 401),
        ("", 401),
        ("Basic", 401),
        ("Basic ####", 401),
        ("Basic " + base64.b64encode(b"ann").decode(), 401),
        ("Basic " + base64.b64encode(b"\xff:right").decode(), 401),
        ("Bearer right", 401),
    ],
)
def test_who_may_ask(file: Path, authorization: str, refusal: int | None) -> None:
    """A known user with the right password, and nobody else, the second time too."""
    guard, _ = guard_of(file, users(ann="right", bob="päss:wörd"))
    assert guard.refusal(authorization) == refusal
    assert guard.refusal(authorization) == refusal


def test_a_long_password_counts_as_far_as_bcrypt_looks(file: Path) -> None:
    """As exporter-toolkit and htpasswd have it: 72 bytes."""
    guard, _ = guard_of(file, users(ann="x" * 72))
    assert guard.refusal(basic("ann", "x" * 80)) is None
    assert guard.refusal(basic("ann", "x" * 71)) == 401


@pytest.fixture
def hashes(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The passwords that were hashed."""
    seen: list[bytes] = []
    check = bcrypt.checkpw

    def counted(password: bytes, hashed: bytes) -> bool:
        seen.append(password)
        return check(password, hashed)

    monkeypatch.setattr(bcrypt, "checkpw", counted)
    return seen


def test_a_password_is_hashed_once(file: Path, hashes: list[bytes]) -> None:
    """A scrape costs a hash the first time only; what was refused is never remembered as right."""
    guard, _ = guard_of(file, users(ann="right"))
    assert [guard.refusal(basic("ann", "right")) for _ in range(5)] == [None] * 5
    assert hashes == [b"right"]
    assert [guard.refusal(basic("ann", "wrong")) for _ in range(2)] == [401, 401]
    assert hashes == [b"right", b"wrong", b"wrong"]
    assert b"right" not in b"".join(guard._known)


def test_unknown_names_cost_what_known_ones_do(file: Path, hashes: list[bytes]) -> None:
    """How long a refusal takes does not tell whether there is such a user."""
    guard, _ = guard_of(file, users(ann="right"))
    assert guard.refusal(basic("eve", "right")) == 401
    assert guard.refusal(basic("eve", "right")) == 401
    assert hashes == [b"right", b"right"]


def test_a_user_who_is_removed_is_not_remembered(file: Path) -> None:
    """Nor one whose password was changed, also where two have the same hash."""
    same = hashed("right")
    guard, _ = guard_of(file, f"basic_auth_users:\n  ann: {same}\n  bob: {same}\n")
    assert guard.refusal(basic("ann", "right")) is None
    assert guard.refusal(basic("bob", "right")) is None
    file.write_text(f"basic_auth_users:\n  bob: {same}\n")
    assert guard.context() is None
    assert guard.refusal(basic("ann", "right")) == 401
    file.write_text(users(bob="new"))
    assert guard.context() is None
    assert guard.refusal(basic("bob", "right")) == 401
    assert guard.refusal(basic("bob", "new")) is None


def test_what_is_remembered_is_bounded(file: Path) -> None:
    """However many changes of passwords there are."""
    guard, _ = guard_of(file, users(ann="right"))
    for n in range(CACHED_MAX + 5):
        guard._remember(n.to_bytes(4))
    assert guard.refusal(basic("ann", "right")) is None
    assert len(guard._known) == CACHED_MAX


def test_who_guesses_does_not_keep_others_out(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While as many passwords are looked at as may be, one more is put off; a known one is not."""
    guard, _ = guard_of(file, users(ann="right"))
    assert guard.refusal(basic("ann", "right")) is None
    over = threading.Event()

    def slow(password: bytes, hashed: bytes) -> bool:
        over.wait(PATIENCE_S)
        return False

    monkeypatch.setattr(bcrypt, "checkpw", slow)
    answers: list[int | None] = []

    def guess() -> None:
        answers.append(guard.refusal(basic("ann", "guess")))

    guesses = [threading.Thread(target=guess) for _ in range(WAITING_MAX)]
    for each in guesses:
        each.start()
    wait_until(
        lambda: guard.refusal(basic("ann", "other")) == 503 if _full(guard) else False, "503"
    )
    assert guard.refusal(basic("ann", "right")) is None
    over.set()
    for each in guesses:
        each.join()
    assert answers == [401] * WAITING_MAX
    assert guard.refusal(basic("ann", "other")) == 401


def _full(guard: Guard) -> bool:
    return guard._places._value == 0  # type: ignore[attr-defined,no-any-return]


@pytest.mark.parametrize(
    "path", ["/", "/metrics", "/api/v1/runs", "/-/healthy", "/-/ready", "/no"]
)
def test_every_path_wants_the_password(file: Path, path: str) -> None:
    """Health too, as in exporter-toolkit; the answer says what is wanted, and nothing else."""
    guard, _ = guard_of(file, users(ann="right"))
    with served_on("127.0.0.1:0", guard) as served:
        status, headers, body = served.ask(path)
        assert (status, body) == (401, b"Unauthorized\n")
        assert headers["www-authenticate"] == 'Basic realm="tailwatch"'
        assert headers["x-content-type-options"] == "nosniff"
        assert served.ask(path, "POST")[0] == 401
        known = served.ask(path, headers={"Authorization": basic("ann", "right")})
        assert known[0] != 401
        assert "www-authenticate" not in known[1]


def test_headers_of_the_file_are_on_every_answer(file: Path) -> None:
    """They take the place of ours of the same name."""
    text = "  headers: {Strict-Transport-Security: max-age=60, X-Frame-Options: sameorigin}\n"
    guard, _ = guard_of(file, "http_server_config:\n" + text)
    with served_on("127.0.0.1:0", guard) as served:
        for path in ("/-/ready", "/no"):
            headers = served.ask(path)[1]
            assert headers["strict-transport-security"] == "max-age=60"
            assert headers["x-frame-options"] == "sameorigin"
            assert headers["referrer-policy"] == "no-referrer"


# TLS.


def test_client_certificates_are_asked_for(file: Path) -> None:
    """A certificate of our authority is let in; none, and a stranger's, are not."""
    guard, _ = guard_of(file, MUTUAL)
    with served_on("127.0.0.1:0", guard) as served:
        assert ask(served, "client") == 200
        for name in (None, "stranger"):
            with pytest.raises((ssl.SSLError, ConnectionError)):
                ask(served, name)
        with pytest.raises((OSError, http.client.HTTPException)):
            served.ask("/-/ready")  # Without TLS at all.
        assert ask(served, "client") == 200


@pytest.mark.parametrize("hello", [b"", b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/1.0\r\n\r\n"])
def test_silent_clients_block_nobody(file: Path, hello: bytes) -> None:
    """More clients than threads that begin no handshake, or half of one: others are answered."""
    guard, _ = guard_of(file, TLS)
    with served_on("127.0.0.1:0", guard) as served:
        mute = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(20)]
        try:
            for each in mute:
                each.sendall(hello)
            began_s = time.monotonic()
            assert ask(served) == 200
            assert time.monotonic() - began_s < web.REQUEST_TIMEOUT_S / 2
        finally:
            for each in mute:
                each.close()


@pytest.mark.parametrize("shaken", [False, True], ids=["handshake", "request"])
def test_a_slow_client_is_cut_off(
    file: Path, monkeypatch: pytest.MonkeyPatch, shaken: bool
) -> None:
    """In the middle of its handshake as well as after it, though never silent for long."""
    monkeypatch.setattr(web, "REQUEST_TIMEOUT_S", 0.5)
    guard, _ = guard_of(file, TLS)
    with served_on("127.0.0.1:0", guard) as served:
        before = threading.active_count()
        client = socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE_S)
        if shaken:
            context = ssl.create_default_context(cafile=str(certificates() / "ca.crt"))
            client = context.wrap_socket(client, server_hostname="127.0.0.1")
            client.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
        else:
            client.sendall(b"\x16\x03\x01\x40\x00")  # A hello of 16 KiB begins.

        def cut_off() -> bool:
            with contextlib.suppress(OSError):
                client.sendall(b"\x01")
            return served.board.connections_dropped == 1

        with client:
            wait_until(cut_off, "the connection to be cut")
            wait_until(lambda: threading.active_count() <= before, "the thread to end")


# Files that change.


def subject(served: Served) -> str:
    """The name in the certificate that the server shows now."""
    context = ssl.create_default_context(cafile=str(certificates() / "ca.crt"))
    with (
        socket.create_connection(("127.0.0.1", served.port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as secure,
    ):
        shown = secure.getpeercert()
        assert shown is not None
        return str(shown["subject"][0][0][1])  # type: ignore[index]


def replace(file: Path, name: str, new: str) -> None:
    """As certbot does it: a new file in the place of the old one."""
    shutil.copy(file.with_name(new), file.with_name("new"))
    file.with_name("new").rename(file.with_name(name))


def test_certificates_rotate_without_a_restart(file: Path) -> None:
    """A certificate that does not fit its key yet is not taken; once it does, it is."""
    guard, log = guard_of(file, TLS)
    with served_on("127.0.0.1:0", guard) as served:
        assert subject(served) == "server"
        replace(file, "server.crt", "again.crt")
        assert [subject(served) for _ in range(3)] == ["server"] * 3
        assert guard.ok is False
        assert log.events() == ["web_config_not_reloaded"]
        replace(file, "server.key", "again.key")
        assert subject(served) == "again"
        assert guard.ok is True
        assert log.events() == ["web_config_not_reloaded", "web_config_reloaded"]


Change = Callable[[Path], object]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda file: file.write_text("a: b: c"), "is not valid YAML: line 1"),
        (lambda file: file.write_text(MUTUAL.replace("server.key", "gone.key")), "cannot be read"),
        (lambda file: file.unlink(), "cannot be read: No such file"),
        (lambda file: file.with_name("ca.crt").unlink(), "client_ca_file"),
        (lambda file: file.write_text(""), "TLS would no longer be asked for"),
        (lambda file: file.write_text(TLS), "client certificates would no longer be asked for"),
        (lambda file: file.write_text(MUTUAL), "passwords would no longer be asked for"),
    ],
    ids=["yaml", "key", "file", "ca", "empty", "no clients", "no users"],
)
def test_what_is_wrong_or_weaker_is_not_taken(file: Path, change: Change, said: str) -> None:
    """The old one stays in force, which is said once; what is right again is taken."""
    guard, log = guard_of(file, MUTUAL + users(ann="right"))
    with served_on("127.0.0.1:0", guard) as served:
        change(file)
        for _ in range(3):
            assert ask(served, "client", Authorization=basic("ann", "right")) == 200
            assert ask(served, "client") == 401
            with pytest.raises((ssl.SSLError, ConnectionError)):
                ask(served, Authorization=basic("ann", "right"))
        assert guard.ok is False
        ((level, event, facts),) = log.lines
        assert (level, event) == ("error", "web_config_not_reloaded")
        assert said in facts["error"]
        shutil.copy(certificates() / "ca.crt", file.with_name("ca.crt"))
        file.write_text(MUTUAL + users(bob="other"))
        assert ask(served, "client", Authorization=basic("bob", "other")) == 200
        assert guard.ok is True


def test_a_key_that_comes_later_is_found(file: Path) -> None:
    """While the new one cannot be taken, what it names is looked at again each time."""
    guard, _ = guard_of(file, TLS)
    with served_on("127.0.0.1:0", guard) as served:
        file.write_text(TLS.replace("server.", "late."))
        assert subject(served) == "server"
        for suffix in (".crt", ".key"):
            shutil.copy(file.with_name(f"again{suffix}"), file.with_name(f"late{suffix}"))
        assert subject(served) == "again"


def test_a_file_that_comes_back_is_right_again(file: Path) -> None:
    """Also when it is the very one that was read before it went away."""
    guard, log = guard_of(file, TLS)
    with served_on("127.0.0.1:0", guard) as served:
        file.rename(file.with_name("away.yml"))
        assert (subject(served), guard.ok) == ("server", False)
        file.with_name("away.yml").rename(file)
        assert (subject(served), guard.ok) == ("server", True)
    assert log.events() == ["web_config_not_reloaded", "web_config_reloaded"]


def test_tls_can_be_switched_on(file: Path) -> None:
    """More that is asked of clients is taken at once."""
    guard, _ = guard_of(file, "")
    with served_on("127.0.0.1:0", guard) as served:
        assert served.ask("/-/ready")[0] == 200
        file.write_text(MUTUAL)
        assert ask(served, "client") == 200
        with pytest.raises((OSError, http.client.HTTPException)):
            served.ask("/-/ready")


def test_a_file_that_does_not_change_is_read_once(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scrape does not cost the reading of a certificate."""
    guard, _ = guard_of(file, TLS)

    def never(path: str) -> None:
        raise AssertionError(path)

    monkeypatch.setattr(guard_module, "read_web_config", never)
    contexts = {id(guard.context()) for _ in range(10)}
    assert len(contexts) == 1
