"""Discord embeds: inside the limits, and nothing in them is markup of a log's making."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.receivers.discord import clip, escape, render
from tests.receivers.notices import notice

MARKUP = re.compile(r"[*_~`|<>\[\]()#@:-]")
HOSTILE = ["@everyone <@&1> <#2>", "[click](https://evil.example)", "```\n# big\n```", "\\" * 300]


def embed_of(*notices: Any) -> dict[str, Any]:
    body = json.loads(render("tw_0", notices, 0.0, None).body)
    assert body["allowed_mentions"] == {"parse": []}
    assert set(body) == {"embeds", "allowed_mentions"}
    (embed,) = body["embeds"]
    assert 0 < len(embed["title"]) <= 256
    assert 0 < len(embed["description"]) <= 4096
    assert len(embed["title"]) + len(embed["description"]) <= 6000
    return dict(embed)


def unmarked(text: str) -> str:
    """The text without our own bold names; fails if anything else in it is markup."""
    text = re.sub(r"\*\*(Where|Loss|Lasted|What to do):\*\*", "", text)
    text = re.sub(r"\\[\\*_~`|<>\[\]()#@:-]", "", text)
    text = re.sub(r"[█▁▂▃▄▅▆▇]+ \([-\d.e+]+ to [-\d.e+]+\)", "", text)  # The curve is ours.
    assert not MARKUP.search(text), text
    return text


def test_golden_body() -> None:
    """One finding is this embed."""
    assert embed_of(notice(url="https://tw.example/r/1")) == {
        "title": "CRITICAL\\: nan\\_loss in exp1/metrics",
        "description": "loss is NaN at step 120; the last finite loss was 2.5\n"
        "**Where:** run exp1/metrics, step 120, host node7\n"
        "**Loss:** █▄▁ (3 to 2.5)\n"
        "**What to do:** Stop the run.",
        "color": 0xC62828,
        "timestamp": "2026-01-01T00:00:00Z",
        "url": "https://tw.example/r/1",
    }


def test_resolved() -> None:
    """An end says how long it lasted, is green, and gives no advice."""
    embed = embed_of(notice(kind="finding.resolved", duration_s=700))
    assert "**Lasted:** 12 min" in embed["description"]
    assert "What to do" not in embed["description"]
    assert embed["color"] != embed_of(notice())["color"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text(text: str) -> None:
    """Mentions, links and code stay text, alone and in a digest."""
    fields = {"run": text, "host": text, "message": text * 50, "suggestion": text * 50}
    embed = embed_of(notice(**fields))
    assert unmarked(embed["title"]) or unmarked(embed["description"])
    digest = embed_of(*[notice(n, **fields) for n in range(50)])
    assert unmarked(digest["description"])


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet="\\*a[](", max_size=40), st.integers(1, 40))
def test_clipping_keeps_escapes_whole(text: str, chars_max: int) -> None:
    """What is cut ends in an ellipsis, and never in a backslash that escapes it."""
    clipped = clip(text, chars_max)
    assert len(clipped) <= chars_max
    if len(escape(text)) <= chars_max:
        assert clipped == escape(text)
    else:
        beginnings = [escape(text[:n]) + "…" for n in range(len(text) + 1)]
        assert clipped in beginnings
