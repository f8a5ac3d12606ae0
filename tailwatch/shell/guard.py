"""Who may ask: TLS and passwords of the web configuration file, which is read again on change."""

from __future__ import annotations

import base64
import binascii
import hmac
import os
import ssl
import threading
from collections.abc import Mapping

from ..errors import ConfigError
from ..ports import Log
from ..web_config import WebConfig, read_web_config

CACHED_MAX = 100
WAITING_MAX = 4
"""Passwords that are being looked at: each is a hash of some 60 ms, and one is made at a time."""
PASSWORD_BYTES_MAX = 72
"""More than that bcrypt never looked at; newer versions refuse it."""


class Guard:
    """
    Judges connections and requests by the configuration in force.

    A new one that is wrong, or that asks less of clients, is not taken: half of a file that is
    being written must open nothing. A reload or a new start takes the latter.

    Args:
        config: None if there is no file: then everybody may ask.
        log: For what is wrong with it, once.
    """

    def __init__(self, config: WebConfig | None, log: Log) -> None:
        self._config, self._log = config, log
        self._trouble: str | None = None
        self._reading, self._hashing = threading.Lock(), threading.Lock()
        self._places = threading.Semaphore(WAITING_MAX)
        self._secret = os.urandom(32)
        self._known: dict[bytes, None] = {}

    @property
    def ok(self) -> bool:
        """Whether what the file says is in force."""
        return self._trouble is None

    @property
    def headers(self) -> Mapping[str, str]:
        """What every answer shall have."""
        return self._config.headers if self._config else {}

    def context(self) -> ssl.SSLContext | None:
        """What a new connection is to be wrapped in, by the file as it is now."""
        if self._config is None:
            return None
        with self._reading:
            if self._trouble is not None or self._config.changed():
                self._config = self._read(self._config)
            return self._config.tls

    def _read(self, old: WebConfig) -> WebConfig:
        try:
            new = read_web_config(old.files[0])
            if lost := new.weaker_than(old):
                what = f"{lost} would no longer be asked for; SIGHUP or a new start takes that"
                raise ConfigError(f"{old.files[0]}: {what}")
        except ConfigError as error:
            if str(error) != self._trouble:
                self._trouble = str(error)
                self._log.error("web_config_not_reloaded", error=self._trouble)
            return old
        self._trouble = None
        self._log.info("web_config_reloaded", users=len(new.users), tls=new.tls is not None)
        return new

    def refusal(self, authorization: str) -> int | None:
        """The HTTP status to refuse a request with, by its header; None if it may ask."""
        users = self._config.users if self._config else {}
        if not users:
            return None
        given = _credentials(authorization)
        if given is None:
            return 401
        user, password = given
        # A name that is none costs as much time as one that is.
        hashed = users.get(user) or max(users.values(), key=lambda each: each[4:6])
        digest = hmac.digest(self._secret, _joined(user.encode(), hashed, password), "sha256")
        if digest in self._known and user in users:
            return None
        if not self._places.acquire(blocking=False):
            return 503  # Those who guess must not keep all threads busy.
        try:
            right = self._is_right(password, hashed) and user in users
        finally:
            self._places.release()
        if not right:
            return 401
        self._remember(digest)
        return None

    def _is_right(self, password: bytes, hashed: bytes) -> bool:
        import bcrypt  # The extra `auth`: only who has users needs it.

        with self._hashing:
            try:
                return bcrypt.checkpw(password[:PASSWORD_BYTES_MAX], hashed)
            except ValueError:
                return False

    def _remember(self, digest: bytes) -> None:
        with self._hashing:
            while len(self._known) >= CACHED_MAX:
                del self._known[next(iter(self._known))]
            self._known[digest] = None


def _credentials(authorization: str) -> tuple[str, bytes] | None:
    """
    User and password of a header.

    >>> _credentials("Basic dTpw")
    ('u', b'p')
    """
    scheme, _, coded = authorization.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        user, colon, password = base64.b64decode(coded.strip(), validate=True).partition(b":")
        return (user.decode(), password) if colon else None
    except (binascii.Error, ValueError):
        return None


def _joined(*parts: bytes) -> bytes:
    return b"".join(len(part).to_bytes(4) + part for part in parts)
