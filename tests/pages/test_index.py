"""The status page: what is shown, in which order, and what a query string may ask."""

from __future__ import annotations

import html
import re
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core.findings import Severity
from tailwatch.messages import Skipped
from tailwatch.pages.detail import Nothing
from tailwatch.pages.index import Wish, index
from tests.pages import gallery
from tests.pages.kept import NOW_S, World
from tests.shell.helpers import run_view, snapshot, standing

WARNING = standing("loss_flat", Severity.WARNING)


def page(world: World, path: str = "/") -> str:
    """The page as a browser reads it."""
    answer = world.site().answer(path, "")
    assert (answer.status, answer.content_type) == (200, "text/html; charset=utf-8")
    return answer.body.decode()


def names(text: str) -> list[str]:
    """The runs of the table, in their order."""
    return [html.unescape(n) for n in re.findall(r'class="name">.*?<bdi>(.*?)</bdi>', text)]


@pytest.fixture
def some() -> World:
    world = World()
    for view in (
        run_view("b", standing=[WARNING], last_step=9, loss=float("nan"), last_row_s=NOW_S - 9),
        run_view("a", state="ended", last_step=None, loss=None, last_row_s=None),
        run_view("d", state="quiet", standing=[standing()], last_step=7, loss=0.5),
        run_view("c", standing=[standing(), WARNING], last_step=8, loss=2.0),
    ):
        world.views[view.name] = view
    return world


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", "cdba"),
        ("?sort=name", "abcd"),
        ("?sort=name&down=1", "dcba"),
        ("?sort=state", "bcda"),
        ("?sort=step", "dcba"),
        ("?sort=loss", "dcab"),
        ("?sort=age", "bcda"),
        ("?state=active", "cb"),
        ("?severity=critical", "cd"),
        ("?severity=warning", "cb"),
        ("?severity=none", "a"),
        ("?name=B", "b"),
        ("?state=active&severity=critical", "c"),
        ("?state=nosuch&severity=x&sort=y&page=-1&page=9999999999&down=x&z=1", "cdba"),
    ],
)
def test_the_query_chooses_and_orders(some: World, query: str, expected: str) -> None:
    """By state, name and severity; the worst first unless asked; nonsense asks for nothing."""
    assert names(page(some, f"/{query}")) == list(expected)


@given(st.text(max_size=300))
@settings(deadline=None)
def test_any_query_gets_a_page(text: str) -> None:
    """And what was asked comes back as text alone."""
    world = World()
    world.views["a"] = run_view("a")
    query = urlencode({"name": f"<script>{text}", "page": text, "sort": text})
    body = page(world, f"/?{query}")
    assert "<script>" not in body
    assert world.site().answer(f"/?{text}", "").status == 200


def test_a_query_of_very_many_fields_asks_for_nothing(some: World) -> None:
    """It is not even parsed."""
    assert names(page(some, "/?name=b" + "&name=b" * 100)) == list("cdba")


def test_pages_of_a_hundred() -> None:
    """A thousand runs are ten pages; beyond the last one there is the last one."""
    world = gallery.thousand()
    seen = [name for n in range(1, 11) for name in names(page(world, f"/?sort=name&page={n}"))]
    assert seen == sorted(world.views)
    last = page(world, "/?sort=name&page=99")
    assert names(last) == sorted(world.views)[900:]
    assert "901 to 1,000 of 1,000" in last
    assert 'rel="prev" href="?sort=name&amp;page=9"' in last
    assert 'rel="next"' not in last


def test_links_keep_what_was_asked(some: World) -> None:
    """The head of a column keeps the filter; a second time it turns the order around."""
    body = page(some, "/?state=active&sort=name")
    assert 'href="?state=active&amp;sort=name&amp;down=1"' in body
    assert 'href="?state=active&amp;sort=step"' in body
    assert 'aria-sort="ascending"' in body


def test_each_run_says_how_it_is(some: World) -> None:
    """State, step, age, loss and findings; a few of many findings."""
    some.views["c"] = some.views["c"]._replace(
        standing=[standing()] * 5, trouble="Permission denied"
    )
    body = page(some, "/?name=c")
    assert all(text in body for text in ("active", ">8<", "loss is NaN", "and 2 more"))
    assert "Permission denied" in body
    assert "9 s ago" in page(some, "/?name=b")
    assert 'class="number wrong" data-label="loss">NaN<' in page(some, "/?name=b")


def test_the_curve_is_that_of_the_whole_run_or_of_its_last_losses() -> None:
    """From what is kept; where that cannot be read, from the snapshot; a lone value has none."""
    world = World()
    gallery.nan(world)
    line = index(world.snapshot(), world, Wish(), NOW_S)["lines"][0]
    recent = index(world.snapshot(), Nothing(), Wish(), NOW_S)["lines"][0]
    assert (line.broken, recent.broken) == (True, False)
    assert len(line.line) > len(recent.line) > 0
    bare = snapshot(run_view("a", recent=[1.0]))
    assert index(bare, Nothing(), Wish(), NOW_S)["lines"][0].line == ""


def test_files_that_are_no_runs_and_health_are_told() -> None:
    """With the reason, and how each root is watched; open while there is no run yet."""
    world = gallery.everything()
    body = page(world)
    assert "/runs/secret/metrics.jsonl" in body
    assert "Permission denied" in body
    assert "file events do not come" in body
    assert '<details id="files">' in body
    empty = World()
    empty.skipped = [Skipped(f"/r/{n}", "no training fields") for n in range(300)]
    body = page(empty)
    assert '<details id="files" open>' in body
    assert "No run yet" in body
    assert "And 100 more" in body
    assert "300 files are no run" in body


def test_no_run_is_like_that(some: World) -> None:
    """A filter that fits none offers all."""
    assert "No run is like that" in page(some, "/?name=nosuch")


def test_before_the_first_sweep_the_page_says_so(some: World) -> None:
    """Runs may be missing then."""
    shown = some.snapshot()._replace(ready=False)
    assert not index(shown, Nothing(), Wish(), NOW_S)["ready"]
    some.snapshot = lambda: shown  # type: ignore[method-assign]
    assert "runs may be missing" in page(some)
