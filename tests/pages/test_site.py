"""What each path answers: the API's paths, names in them, and errors as JSON."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.board import Board
from tailwatch.core.names import escape
from tailwatch.messages import Snapshot
from tailwatch.pages.site import Site
from tests.shell.helpers import metrics_of, run_view, snapshot, standing


def site(shown: Snapshot | None) -> Site:
    board = Board()
    if shown is not None:
        board.publish(shown)
    metrics = metrics_of(board).render
    return Site(board, metrics, lambda: 2000.0)


def ask(shown: Snapshot | None, path: str) -> tuple[int, Any]:
    """Status, and the document."""
    answer = site(shown).answer(path, "")
    assert answer.content_type == "application/json"
    return answer.status, json.loads(answer.body)


def test_the_api_has_its_documents() -> None:
    """Runs, one run, and findings, each with its version; a query changes nothing."""
    shown = snapshot(run_view("exp/metrics", standing=[standing()]))
    status, runs = ask(shown, "/api/v1/runs?x=1")
    assert (status, runs["version"], runs["runs"][0]["run"]) == (200, 1, "exp/metrics")
    status, run = ask(shown, "/api/v1/runs/exp/metrics")
    assert (status, run["version"], run["run"]) == (200, 1, "exp/metrics")
    status, found = ask(shown, "/api/v1/findings")
    assert (status, found["version"], found["findings"][0]["run"]) == (200, 1, "exp/metrics")


@given(st.text(min_size=1, max_size=60).map(escape))
@settings(deadline=None)
def test_any_name_is_found_by_its_quoted_path(name: str) -> None:
    """Slashes may stand as they are or quoted; everything else is percent-encoded."""
    shown = snapshot(run_view(name), run_view("other"))
    for path in (quote(name), quote(name, safe="")):
        assert ask(shown, f"/api/v1/runs/{path}")[1]["run"] == name


@pytest.mark.parametrize(
    "path",
    ["/api/v1/runs/nosuch", "/api/v1/runs/", "/api/v1/runs/%ff%00", "/api/v2/runs", "/api/"],
)
def test_what_is_not_there_is_404_in_json(path: str) -> None:
    """And the answer does not repeat what was asked for."""
    status, document = ask(snapshot(run_view()), path)
    assert status == 404
    assert list(document) == ["error"]
    assert "nosuch" not in document["error"]


def test_before_the_state_is_restored_the_api_waits() -> None:
    """503 as JSON, as a client of the API expects."""
    assert ask(None, "/api/v1/runs") == (503, {"error": "the state is being restored"})
