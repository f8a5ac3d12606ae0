"""How to ask a server that is not open to all."""

from __future__ import annotations

import base64
import shutil
import ssl
from pathlib import Path

import pytest

from tailwatch.client_config import ClientConfig, read_client_config
from tailwatch.errors import ConfigError
from tests.certificates import certificates


@pytest.fixture
def file(tmp_path: Path) -> Path:
    for each in certificates().iterdir():
        shutil.copy(each, tmp_path)
    (tmp_path / "password").write_text("s3cret\n")
    return tmp_path / "client.yml"


def read(file: Path, text: str) -> ClientConfig:
    file.write_text(text)
    return read_client_config(str(file))


def test_without_a_file_the_host_decides_whom_to_trust() -> None:
    """No name is given, and certificates are looked at."""
    made = read_client_config(None)
    assert made.headers == {}
    assert (made.tls.verify_mode, made.tls.check_hostname) == (ssl.CERT_REQUIRED, True)


def test_all_of_it(file: Path) -> None:
    """Names are relative to the file; the password may have one of its own."""
    made = read(
        file,
        "basic_auth: {username: ann, password_file: password}\n"
        "tls_config: {ca_file: ca.crt, cert_file: client.crt, key_file: client.key}\n",
    )
    assert made.headers == {"Authorization": "Basic " + base64.b64encode(b"ann:s3cret").decode()}
    assert len(made.tls.get_ca_certs()) == 1
    assert made.tls.verify_mode is ssl.CERT_REQUIRED
    inline = read(file, "basic_auth: {username: ann, password: 007}")
    assert inline.headers["Authorization"] == "Basic " + base64.b64encode(b"ann:007").decode()


def test_a_certificate_may_be_passed_over_when_told_so(file: Path) -> None:
    """By one word, and no other."""
    for word, mode in (("true", ssl.CERT_NONE), ("false", ssl.CERT_REQUIRED)):
        made = read(file, f"tls_config: {{insecure_skip_verify: {word}}}")
        assert made.tls.verify_mode is mode


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bearer_token: x", "bearer_token: unknown key; known keys: basic_auth, tls_config"),
        ("basic_auth: {user: x}", "basic_auth.user: unknown key; did you mean basic_auth.username?"),
        ("basic_auth: {password_file: no}", "basic_auth.password_file: {dir}/no: cannot be read"),
        ("tls_config: {ca_file: no}", "tls_config.ca_file: {dir}/no: expected a certificate in PEM: No such"),
        ("tls_config: {ca_file: password}", "tls_config.ca_file: {dir}/password: expected a certificate"),
        ("tls_config: {cert_file: client.crt, key_file: server.key}", "tls_config.cert_file: {dir}/client.crt: expected a certificate in PEM and, in key_file, its key: KEY_VALUES_MISMATCH"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(file: Path, text: str, said: str) -> None:
    """File, key, and what was expected."""
    with pytest.raises(ConfigError) as caught:
        read(file, text)
    message = str(caught.value)
    assert message.startswith(f"{file}: {said}".replace("{dir}", str(file.parent)))
    assert "\n" not in message
