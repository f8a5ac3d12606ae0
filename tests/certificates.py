"""Certificates for tests, made by openssl: an authority, a server, its clients."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.deploy.tools import debian_tool, run, said

_KEPT: list[TemporaryDirectory[str]] = []


@cache
def certificates() -> Path:
    """
    A directory with NAME.crt and NAME.key of each of these, made once.

    ca signed server (127.0.0.1), again (the same, renewed) and client; foreign signed stranger.
    """
    _KEPT.append(TemporaryDirectory())
    made = Path(_KEPT[-1].name)
    for authority, names in (("ca", ("server", "again", "client")), ("foreign", ("stranger",))):
        _make(made, authority)
        for name in names:
            _make(made, name, authority)
    return made


def _make(directory: Path, name: str, authority: str | None = None) -> None:
    signed = ["-CA", f"{authority}.crt", "-CAkey", f"{authority}.key"] if authority else []
    extensions = ["subjectAltName=IP:127.0.0.1", "basicConstraints=critical,CA:FALSE"]
    result = run(
        debian_tool("openssl", "openssl"), "req", "-x509", "-nodes", "-days", "2",
        "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", f"/CN={name}",
        "-keyout", f"{name}.key", "-out", f"{name}.crt", *signed,
        *(part for each in extensions for part in ("-addext", each) if signed),
        cwd=directory,
    )  # fmt: skip
    assert result.returncode == 0, said(result)
