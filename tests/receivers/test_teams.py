"""Cards for Microsoft Teams: text runs only, and under 28 KB."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tailwatch.receivers.teams import render
from tests.receivers.notices import notice


def card_of(*notices: Any) -> dict[str, Any]:
    request = render("tw_0", notices, 0.0, None)
    assert len(request.body) <= 28 * 1024
    body = json.loads(request.body)
    assert set(body) == {"type", "attachments"}
    (attachment,) = body["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    return dict(attachment["content"])


def texts(card: dict[str, Any]) -> list[str]:
    """The lines of a card; fails if one of them could be read as Markdown."""
    lines = []
    for block in card["body"]:
        assert block["type"] == "RichTextBlock"
        assert {run["type"] for run in block["inlines"]} == {"TextRun"}
        lines.append("".join(run["text"] for run in block["inlines"]))
    return lines


def test_one_finding() -> None:
    """What, where, the losses, what to do, and a button for the page."""
    card = card_of(notice(url="https://tw.example/r/1"))
    assert (card["type"], card["version"]) == ("AdaptiveCard", "1.4")
    assert texts(card) == [
        "CRITICAL: nan_loss in exp1/metrics",
        "loss is NaN at step 120; the last finite loss was 2.5",
        "Where: run exp1/metrics, step 120, host node7",
        "Loss: █▄▁ (3 to 2.5)",
        "What to do: Stop the run.",
    ]
    assert card["actions"] == [
        {"type": "Action.OpenUrl", "title": "Open the run's page", "url": "https://tw.example/r/1"}
    ]


def test_resolved() -> None:
    """An end says how long it lasted, and gives no advice; without a page there is no button."""
    card = card_of(notice(kind="finding.resolved", duration_s=700, recent=[]))
    assert texts(card)[0] == "Resolved: nan_loss in exp1/metrics"
    assert texts(card)[-1] == "Lasted: 12 min"
    assert "actions" not in card


@pytest.mark.parametrize("character", ["x", "😀", "\x01", '"'])
def test_limits(character: str) -> None:
    """Ten kilobytes of anything fit, alone and in a digest."""
    text = character * 10_240
    card_of(notice(run=text[:128], host=text[:64], message=text, suggestion=text))
    lines = texts(card_of(*[notice(n, run=text[:128], message=text) for n in range(500)]))
    assert lines[-1] == "and 480 more"
