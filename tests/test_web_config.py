"""The web configuration file: what is taken, and what is refused in which words."""

from __future__ import annotations

import importlib.util
import shutil
import ssl
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tailwatch.errors import ConfigError
from tailwatch.web_config import WebConfig, read_web_config
from tests.certificates import certificates
from tests.deploy.tools import promtool, run

HASH = "$2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG"
TLS = "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The place of a configuration, with certificates beside it."""
    for each in certificates().iterdir():
        shutil.copy(each, tmp_path)
    return tmp_path / "web.yml"


def read(file: Path, text: str) -> WebConfig:
    file.write_text(text)
    return read_web_config(str(file))


def refused(file: Path, text: str) -> str:
    """The message of a mistake: one line that names the file, and no hash."""
    with pytest.raises(ConfigError) as caught:
        read(file, text)
    message = str(caught.value)
    assert message.startswith(f"{file}: ")
    assert "\n" not in message
    assert HASH not in message
    return message.removeprefix(f"{file}: ")


def test_nothing_is_plain_http_for_all(file: Path) -> None:
    """An empty file, or empty sections, ask for nothing."""
    for text in ("", "{}", "tls_server_config:\nbasic_auth_users: {}\nhttp_server_config:\n"):
        made = read(file, text)
        assert (made.tls, made.users, made.headers, made.files) == (None, {}, {}, (str(file),))


def test_tls(file: Path) -> None:
    """Names are relative to the file; the versions are 1.2 and 1.3 unless said otherwise."""
    made = read(file, TLS)
    assert made.tls is not None
    assert made.tls.verify_mode is ssl.CERT_NONE
    versions = (made.tls.minimum_version, made.tls.maximum_version)
    assert versions == (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
    assert made.files == tuple(
        str(file.with_name(n)) for n in ("web.yml", "server.crt", "server.key")
    )
    made = read(file, TLS + "  min_version: TLS13\n")
    assert made.tls is not None
    assert made.tls.minimum_version is ssl.TLSVersion.TLSv1_3
    made = read(file, TLS.replace("server.", f"{file.parent}/server.") + "  max_version: TLS12\n")
    assert made.tls is not None
    assert made.tls.maximum_version is ssl.TLSVersion.TLSv1_2


@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        ("RequireAndVerifyClientCert", ssl.CERT_REQUIRED),
        ("VerifyClientCertIfGiven", ssl.CERT_OPTIONAL),
    ],
)
def test_client_certificates(file: Path, kind: str, mode: ssl.VerifyMode) -> None:
    """They are asked for by name, and are those of one authority."""
    made = read(file, f"{TLS}  client_ca_file: ca.crt\n  client_auth_type: {kind}\n")
    assert made.tls is not None
    assert made.tls.verify_mode is mode
    assert [dict(sum(c["subject"], ())) for c in made.tls.get_ca_certs()] == [{"commonName": "ca"}]  # type: ignore[arg-type]
    assert str(file.with_name("ca.crt")) in made.files


def test_users_and_headers(file: Path) -> None:
    """Whatever a name looks like to YAML, it is a name."""
    made = read(
        file,
        f"basic_auth_users:\n  007: {HASH}\n  no: {HASH}\nhttp_server_config:\n  http2: false\n"
        "  headers:\n    Strict-Transport-Security: max-age=1\n    X-Frame-Options: sameorigin\n"
        "    X-XSS-Protection:\n",
    )
    assert made.users == {"007": HASH.encode(), "no": HASH.encode()}
    assert made.headers == {
        "Strict-Transport-Security": "max-age=1",
        "X-Frame-Options": "sameorigin",
    }


WRONG = [
    ("tls_server_config: 3", "tls_server_config: expected keys with values"),
    ("tls_server: {}", "tls_server: unknown key; did you mean tls_server_config?"),
    ("rate_limit: {}", "rate_limit: is not supported: leave it out, or put a proxy in front"),
    ('"a\\nb": x', "a\\nb: unknown key"),
    ("- a", "expected keys with values"),
    ("a: b: c", "is not valid YAML: line 1"),
    ("a: b\n c: d", "is not valid YAML: line 2"),
    ("a: \x00", "is not valid YAML"),
    (TLS.replace("key_file", "key_fil"), "tls_server_config.key_fil: unknown key; did you mean"),
    (TLS + "  cipher_suites: []", "tls_server_config.cipher_suites: is not supported: leave it"),
    (TLS + "  client_allowed_sans: [a]", "tls_server_config.client_allowed_sans: is not supported"),
    (TLS + "  cert: x", "tls_server_config.cert: is not supported: use cert_file"),
    ("tls_server_config:\n  key_file: server.key", "tls_server_config.cert_file: expected the path"),
    ("tls_server_config:\n  cert_file: server.crt", "tls_server_config.key_file: expected the path"),
    (TLS + "  cert_file: [a]", "tls_server_config.cert_file: expected the path of a file"),
    (TLS.replace("server.crt", "gone.crt"), "tls_server_config.cert_file: {dir}/gone.crt: cannot be read: No such file"),
    (TLS.replace("server.key", "client.key"), "tls_server_config.cert_file: {dir}/server.crt: expected a certificate in PEM and, in key_file, its key (KEY_VALUES_MISMATCH)"),
    (TLS.replace("server.crt", "web.yml"), "tls_server_config.cert_file: {dir}/web.yml: expected a certificate in PEM"),
    (TLS + "  min_version: TLS10", "tls_server_config.min_version: expected one of TLS12, TLS13, got 'TLS10'"),
    (TLS + "  min_version: TLS13\n  max_version: TLS12", "tls_server_config.max_version: expected at least min_version"),
    (TLS + "  client_auth_type: RequireAnyClientCert", "tls_server_config.client_auth_type: expected one of NoClientCert, VerifyClientCertIfGiven, RequireAndVerifyClientCert, got"),
    (TLS + "  client_auth_type: RequireAndVerifyClientCert", "tls_server_config.client_ca_file: expected the path"),
    (TLS + "  client_auth_type: VerifyClientCertIfGiven\n  client_ca_file: web.yml", "tls_server_config.client_ca_file: {dir}/web.yml: expected a certificate in PEM"),
    (TLS + "  client_ca_file: ca.crt", "tls_server_config.client_ca_file: expected client_auth_type beside it"),
    ("http_server_config: {http2: true}", "http_server_config.http2: expected false"),
    ("http_server_config: {headers: {Server: x}}", "http_server_config.headers.Server: unknown key"),
    ("http_server_config: {headers: {X-Frame-Options: yes}}", "http_server_config.headers.X-Frame-Options: expected deny or sameorigin"),
    ('http_server_config: {headers: {X-XSS-Protection: "a\\nb: c"}}', "http_server_config.headers.X-XSS-Protection: expected a line of text"),
    ("basic_auth_users: {u: secret}", "basic_auth_users.u: expected a bcrypt hash"),
    ("basic_auth_users: {u: [x]}", "basic_auth_users.u: expected a bcrypt hash"),
    ("basic_auth_users: [u]", "basic_auth_users: expected keys with values"),
    (f"basic_auth_users: {{'a:b': {HASH}}}", "basic_auth_users.a:b: expected the name of a user"),
    (f"basic_auth_users: {{u: {HASH.replace('10', '31', 1)}}}", "basic_auth_users.u: expected a cost of 4 to 16"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), WRONG, ids=[said[:50] for _, said in WRONG])
def test_a_mistake_is_one_line(file: Path, text: str, said: str) -> None:
    """File, key, and what was expected; nothing that is not understood is passed over."""
    assert refused(file, text).startswith(said.replace("{dir}", str(file.parent)))


def test_a_password_is_not_shown(file: Path) -> None:
    """Who writes the password where its hash belongs does not find it in the log."""
    assert "hunter2" not in refused(file, "basic_auth_users: {u: hunter2}")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """Neither a missing file nor a directory is a configuration."""
    for path, why in ((tmp_path / "no.yml", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(ConfigError, match=f"cannot be read: {why}"):
            read_web_config(str(path))


def test_an_encrypted_key_is_refused(file: Path) -> None:
    """Nobody is there to type its password, and nobody is asked for it."""
    key = str(file.with_name("server.key"))
    run("openssl", "ec", "-aes256", "-in", key, "-out", key, "-passout", "pass:x")
    message = refused(file, TLS)
    assert message.startswith("tls_server_config.key_file: ")
    assert message.endswith(": expected a key that is not encrypted")


def test_users_without_bcrypt(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra that is missing is named with the command that brings it."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert read(file, "basic_auth_users: {}").users == {}
    message = refused(file, f"basic_auth_users: {{u: {HASH}}}")
    assert message == "basic_auth_users: needs the package bcrypt: pip install 'tailwatch[auth]'"


@given(st.text(st.characters(max_codepoint=1000), max_size=200))
@settings(
    deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_text_is_taken_or_refused(tmp_path: Path, text: str) -> None:
    """Nothing that can stand in a file ends in a traceback."""
    file = tmp_path / "web.yml"
    file.write_text(text)
    try:
        read_web_config(str(file))
        message = ""
    except ConfigError as error:
        message = str(error)
    assert "\n" not in message


@pytest.mark.parametrize(
    "text",
    [
        TLS,
        f"basic_auth_users: {{u: {HASH}}}",
        TLS + "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.crt\n",
    ],
)
def test_what_is_taken_is_taken_by_prometheus_too(file: Path, text: str) -> None:
    """The format is that of exporter-toolkit, as promtool has it."""
    read(file, text)
    assert run(promtool(), "check", "web-config", str(file)).returncode == 0


def test_change_is_seen_in_each_file(file: Path) -> None:
    """A rename over the certificate is a change as much as a new line in the file."""
    made = read(file, TLS)
    assert not made.changed()
    file.with_name("again.crt").replace(file.with_name("server.crt"))
    assert made.changed()
    made = read(file, "basic_auth_users:")
    file.write_text("basic_auth_users: ")
    assert made.changed()
    file.unlink()
    assert made.changed()


def test_what_is_weaker(file: Path) -> None:
    """Less asked of clients is said; more, or the same, is not."""
    authority = "  client_ca_file: ca.crt\n  client_auth_type: "
    users = f"basic_auth_users: {{u: {HASH}}}\n"
    plain, tls, known = read(file, ""), read(file, TLS), read(file, users)
    mutual = read(file, f"{TLS}{authority}RequireAndVerifyClientCert\n{users}")
    perhaps = read(file, f"{TLS}{authority}VerifyClientCertIfGiven\n{users}")
    assert plain.weaker_than(tls) == "TLS"
    assert known.weaker_than(mutual) == "TLS"
    assert plain.weaker_than(known) == "passwords"
    assert tls.weaker_than(known) == "passwords"
    assert perhaps.weaker_than(mutual) == "client certificates"
    assert [mutual.weaker_than(each) for each in (plain, tls, known, perhaps, mutual)] == [
        None
    ] * 5
