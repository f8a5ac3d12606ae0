"""The generic receiver keeps to the Standard Webhooks specification."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from standardwebhooks import webhooks

from tailwatch.receivers.generic import render, sign, signing_key
from tests.receivers.notices import DATA, notice

KEY = bytes(range(24))
SECRET = "whsec_" + base64.b64encode(KEY).decode()
NOW_S = 1767225661.9


def test_golden_body() -> None:
    """One notice is this text, to the byte."""
    request = render("tw_0", [notice(url="https://tw.example/r/1")], NOW_S, None)
    expected = (
        '{"type":"finding.firing","timestamp":"2026-01-01T00:00:00Z","data":{'
        '"run":"exp1/metrics","segment":1,"category":"nan_loss","severity":"critical",'
        '"message":"loss is NaN at step 120; the last finite loss was 2.5",'
        '"suggestion":"Stop the run.","step":120,"row":121,"file":"/runs/exp1/metrics.jsonl",'
        '"host":"node7","first_seen":"2026-01-01T00:00:00Z","evidence":{"loss":"NaN"},'
        '"recent":[3.0,2.75,2.5],"url":"https://tw.example/r/1"}}'
    )
    assert expected == request.body.decode()
    assert request.headers == {
        "Content-Type": "application/json; charset=utf-8",
        "webhook-id": "tw_0",
        "webhook-timestamp": "1767225661",
    }


def test_digest() -> None:
    """Several notices are one message that holds each with its own id, type and time."""
    notices = [
        notice(n, step=n, kind="finding.resolved" if n else "finding.firing") for n in range(6)
    ]
    body = json.loads(render("twd_x", notices, NOW_S, None).body)
    assert body["type"] == "findings.digest"
    assert body["timestamp"] == "2026-01-01T00:00:05Z"
    assert body["data"]["count"] == 6
    for n, finding in enumerate(body["data"]["findings"]):
        kind = "finding.resolved" if n else "finding.firing"
        time = f"2026-01-01T00:00:0{n}Z"
        expected = DATA | {"step": n, "id": f"tw_{n}", "type": kind, "timestamp": time}
        assert expected == finding


def test_the_key_and_body_are_the_same_at_every_attempt() -> None:
    """A retry differs in its timestamp and signature only."""
    first = render("tw_0", [notice()], NOW_S, SECRET)
    again = render("tw_0", [notice()], NOW_S + 3600, SECRET)
    assert first.body == again.body
    differ = {name for name in first.headers if first.headers[name] != again.headers[name]}
    assert differ == {"webhook-timestamp", "webhook-signature"}


def test_unsigned_without_a_secret() -> None:
    """Without a secret there is no signature header."""
    assert "webhook-signature" not in render("k", [notice()], NOW_S, None).headers


@settings(deadline=None, max_examples=100)
@given(st.binary(min_size=1, max_size=64), st.text(max_size=50), st.floats(0, 4e9), st.booleans())
def test_signature(key: bytes, message: str, now_s: float, prefix: bool) -> None:
    """The signature is v1, and HMAC-SHA256 over id, timestamp and the very bytes of the body."""
    secret = ("whsec_" if prefix else "") + base64.b64encode(key).decode()
    request = render("tw_9", [notice(message=message)], now_s, secret)
    stamp = request.headers["webhook-timestamp"]
    assert str(int(now_s)) == stamp
    # HMAC by its definition (RFC 2104), not by the module that the code calls.
    block = key.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(b ^ 0x36 for b in block))
    inner.update(b"tw_9." + stamp.encode() + b"." + request.body)
    outer = hashlib.sha256(bytes(b ^ 0x5C for b in block) + inner.digest())
    expected = "v1," + base64.b64encode(outer.digest()).decode()
    assert expected == request.headers["webhook-signature"]


def test_the_specification_example() -> None:
    """The worked example of the Standard Webhooks documents gives the signature printed there."""
    signature = sign(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "1614265330",
        b'{"test": 2432232314}',
    )
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_the_reference_library_accepts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The specification's own library verifies our request, and refuses one that was changed."""

    class Clock(webhooks.datetime):  # type: ignore[misc,name-defined]
        @classmethod
        def now(cls, tz: object = None) -> object:
            return cls.fromtimestamp(NOW_S + 60, tz=tz)

    monkeypatch.setattr(webhooks, "datetime", Clock)
    request = render("tw_0", [notice(message="é <&> \u202e")], NOW_S, SECRET)
    verifier = webhooks.Webhook(SECRET)
    assert json.loads(request.body) == verifier.verify(request.body, request.headers)
    other = render("tw_0", [notice(message="changed")], NOW_S, SECRET)
    with pytest.raises(webhooks.WebhookVerificationError):
        verifier.verify(other.body, request.headers)


@pytest.mark.parametrize(
    "secret", ["whsec_%%%", "whsec_abc", "not base64!", "whsec_é", "whsec_ab\n"]
)
def test_a_bad_secret_is_not_shown(secret: str) -> None:
    """A secret that is no base64 is refused in words that do not hold it."""
    with pytest.raises(ValueError, match=r"^expected whsec_ and base64$") as raised:
        signing_key(secret)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__


def test_signing_key() -> None:
    """The prefix is no part of the key, and may be left out."""
    assert signing_key(SECRET) == signing_key(SECRET.removeprefix("whsec_")) == KEY
    assert re.fullmatch(r"v1,[A-Za-z0-9+/]{43}=", sign(SECRET, "k", "1", b"x"))
    assert hmac.compare_digest(sign(SECRET, "k", "1", b"x"), sign(SECRET, "k", "1", b"x"))
