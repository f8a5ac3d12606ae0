"""Slack messages are inside Slack's limits, and nothing in them is markup of a log's making."""

from __future__ import annotations

import contextlib
import json
import math
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core.names import escape as escape_name
from tailwatch.receivers.slack import clip, escape, escape_url, render
from tests.receivers.notices import notice

HEADER_MAX, SECTION_MAX, TEXT_MAX, BLOCKS_MAX = 150, 3000, 40_000, 50
HOSTILE = [
    "<!channel>" * 12,
    "<@U123|x>&lt;!here&gt;",
    "`" * 128,
    "*_~`<!everyone>`~_*",
    escape_name("\u202e" * 60)[:128],
    escape_name("a\nb\r\x00" * 20)[:128],
    "&" * 128,
    "<" * 128,
    "漢" * 42,
    "😀" * 32,
]


def body_of(*notices: Any) -> dict[str, Any]:
    request = render("tw_0", notices, 0.0, None)
    assert request.headers["webhook-id"] == "tw_0"
    body: dict[str, Any] = json.loads(request.body)
    return body


def texts(body: dict[str, Any]) -> list[str]:
    return [block["text"]["text"] for block in body["blocks"]]


def assert_limits(body: dict[str, Any], *, link: bool = False) -> None:
    """What Slack would refuse, or would read as a mention or a link."""
    assert set(body) == {"text", "mrkdwn", "blocks"}
    assert 0 < len(body["text"]) <= TEXT_MAX
    assert 0 < len(body["blocks"]) <= BLOCKS_MAX
    header, *sections = body["blocks"]
    assert header["type"] == "header"
    assert header["text"]["type"] == "plain_text"
    assert 0 < len(header["text"]["text"]) <= HEADER_MAX
    marked = [body["text"]]
    for section in sections:
        assert section["type"] == "section"
        assert (section["text"]["type"], section["text"]["verbatim"]) == ("mrkdwn", True)
        assert 0 < len(section["text"]["text"]) <= SECTION_MAX
        marked.append(section["text"]["text"])
    if link:
        assert re.fullmatch(r"<https://[^<>|]+\|Open the run's page>", marked.pop())
    for text in marked:
        assert "<" not in text
        assert ">" not in text
        assert re.sub(r"&(amp|lt|gt);", "", text).count("&") == 0


def test_one_finding() -> None:
    """What, which run and step, the curve, what to do and the link, in this order."""
    body = body_of(notice(url="https://tw.example/runs/exp1?a=1&b=<|>"))
    assert_limits(body, link=True)
    assert texts(body) == [
        "CRITICAL: nan_loss in exp1/metrics",
        "*What:* loss is NaN at step 120; the last finite loss was 2.5\n"
        "*Where:* run exp1/metrics, step 120, host node7\n"
        "*Loss:* █▄▁ (3 to 2.5)",
        "*What to do:* Stop the run.",
        "<https://tw.example/runs/exp1?a=1&amp;b=%3C%7C%3E|Open the run's page>",
    ]
    assert body["text"] == (
        "CRITICAL: nan_loss in exp1/metrics: loss is NaN at step 120; the last finite loss was 2.5"
    )
    assert body["mrkdwn"] is False


@pytest.mark.parametrize("length", [27, 28, 29, 30, 100])
def test_long_titles(length: int) -> None:
    """A title that would be too long for Slack's header is cut to exactly fit."""
    title = texts(body_of(notice(category="c" * length, run="r" * 109)))[0]
    full = f"CRITICAL: {'c' * length} in {'r' * 109}"
    assert title == (full if len(full) <= HEADER_MAX else full[: HEADER_MAX - 1] + "…")


def test_resolved() -> None:
    """A resolved finding says so, and gives no advice."""
    body = body_of(notice(kind="finding.resolved"))
    assert_limits(body)
    assert texts(body)[0] == "Resolved: nan_loss in exp1/metrics"
    assert "What to do" not in json.dumps(body)


def test_no_finite_loss_no_curve() -> None:
    """Without a finite loss before it there is no curve, and no URL gives no link."""
    body = body_of(notice(recent=[]))
    assert "Loss:" not in json.dumps(body)
    assert len(body["blocks"]) == 3


@pytest.mark.parametrize("severity", ["critical", "warning", "info"])
def test_every_severity_has_its_word(severity: str) -> None:
    """The first word is the severity."""
    assert texts(body_of(notice(severity=severity)))[0].lower().startswith(f"{severity}: ")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_and_messages(text: str) -> None:
    """A run, a host and a message that try to mention, link or overflow do none of it."""
    body = body_of(
        notice(run=text, host=text, message=text * 80, suggestion=text * 80, url="https://x/a")
    )
    assert_limits(body, link=True)
    assert_limits(body_of(*[notice(n, run=text, message=text * 80) for n in range(100)]))


@pytest.mark.parametrize("character", ["x", "&", "<", "😀", "\n"])
def test_ten_kilobytes_of_message(character: str) -> None:
    """A message of 10 KB is cut, and the rest of the notice is still there."""
    body = body_of(notice(message=character * 10_240))
    assert_limits(body)
    assert "…" in texts(body)[1]
    assert "*Where:* run exp1/metrics, step 120, host node7" in texts(body)[1]
    assert texts(body)[2] == "*What to do:* Stop the run."


def test_digest_of_a_hundred() -> None:
    """A digest counts findings and runs, shows the first twenty, and says how many more there are."""
    body = body_of(*[notice(n, run=f"exp{n % 7}", message=f"m{n}") for n in range(100)])
    assert_limits(body)
    title, text = texts(body)
    assert title == body["text"] == "100 findings in 7 runs"
    lines = text.split("\n")
    assert [f"• nan_loss in exp{n % 7}: m{n}" for n in range(20)] == lines[:-1]
    assert lines[-1] == "and 80 more"


def test_small_digest() -> None:
    """A digest of one run uses the singular, and one that fits leaves nothing out."""
    body = body_of(*[notice(n) for n in range(6)])
    assert texts(body)[0] == "6 findings in 1 run"
    assert len(texts(body)[1].split("\n")) == 6


@pytest.mark.parametrize("recent", [[1.0, math.nan], [math.inf, 1.0], [math.nan]])
def test_a_bare_nan_never_leaves(recent: list[float]) -> None:
    """A curve that holds a NaN is our own bug: it raises, or the NaN is text in strict JSON."""
    with contextlib.suppress(ValueError, OverflowError):
        body = render("tw_0", [notice(recent=recent)], 0.0, None).body
        assert isinstance(json.loads(body, parse_constant=pytest.fail), dict)


@pytest.mark.parametrize(
    "recent", [[0.0], [1e308, -1e308], [5e-324, 0.0], [1.0] * 30, [-1.7e308, 1.7e308] * 15]
)
def test_any_finite_curve(recent: list[float]) -> None:
    """A curve of extreme numbers is drawn, and the message stays inside the limits."""
    assert_limits(body_of(notice(recent=recent)))


@settings(deadline=None, max_examples=150)
@given(
    st.text(max_size=60),
    st.text(alphabet="<>&;amplt!@#|`*\n x", max_size=4000),
    st.integers(1, 12),
    st.sampled_from(["finding.firing", "finding.resolved"]),
)
def test_limits_hold_for_any_text(run: str, message: str, count: int, kind: str) -> None:
    """Whatever stands in a notice, single or in a digest, the message keeps to the limits."""
    assert_limits(
        body_of(*[notice(n, kind, run=run, message=message or "m") for n in range(count)])
    )


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet="<>&ab;…", max_size=40), st.integers(1, 40))
def test_clipping(text: str, chars_max: int) -> None:
    """Text that fits is left alone; else a beginning of it with whole escapes, and an ellipsis."""
    escaped = escape(text)
    clipped = clip(escaped, chars_max)
    assert len(clipped) <= chars_max
    if len(escaped) <= chars_max:
        assert escaped == clipped
    else:
        beginnings = [escape(text[:n]) + "…" for n in range(len(text) + 1)]
        assert clipped in beginnings
        longest = max((b for b in beginnings if len(b) <= chars_max), key=len)
        assert longest == clipped


def test_escaping() -> None:
    """The three characters that Slack asks to escape, and the one that splits a link."""
    assert escape("a<b>c&d&lt;") == "a&lt;b&gt;c&amp;d&amp;lt;"
    assert escape_url("https://x/?a=1&b=|<>") == "https://x/?a=1&amp;b=%7C%3C%3E"
