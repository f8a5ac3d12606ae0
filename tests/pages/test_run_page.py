"""The page of a run: what stands and stood, where, and how each check is doing."""

from __future__ import annotations

import html
import re
from urllib.parse import quote

import pytest

from tailwatch.checks import CHECKS
from tailwatch.core.names import run_path
from tailwatch.pages.detail import Nothing
from tailwatch.pages.run_page import FLAGS_MAX, run_page
from tests.pages import gallery
from tests.pages.kept import NOW_S, World
from tests.pages.test_detail import edge
from tests.shell.helpers import run_view, standing


def page(world: World, name: str, query: str = "") -> str:
    answer = world.site().answer(f"/run/{run_path(name)}{query}", "")
    assert (answer.status, answer.content_type) == (200, "text/html; charset=utf-8")
    return answer.body.decode()


def test_what_stands_is_marked_where_it_began() -> None:
    """The finding has a number, in the list and in the drawing, and says what to do."""
    world = World()
    gallery.diverged(world)
    (name,) = world.views
    content = run_page(world.views[name], world, CHECKS, "", NOW_S)
    first = content["standing"][0]
    assert (first.number, first.category, first.row) == (1, "loss_diverged", 187)
    assert first.at == pytest.approx(100 * 186.5 / 210, abs=1)
    assert content["age_s"] == 5000.0
    body = page(world, name)
    assert first.message in body
    assert "Go back to a saved model" in body
    assert re.search(r'<circle class="flag critical" cx="8[89]\.\d+%"', body)


def test_numbers_that_are_near_do_not_cover_each_other() -> None:
    """Those at the same place stand below each other."""
    world = World()
    gallery.diverged(world)
    (name,) = world.views
    told = run_page(world.views[name], world, CHECKS, "", NOW_S)["told"]
    spots = [(each.at, each.down) for each in told if each.at is not None]
    assert len(spots) == 4
    assert any(down for _, down in spots)
    assert len(set(spots)) == len(spots)


def test_earlier_findings_resumes_and_segments() -> None:
    """What fired and resolved has its end; the starts of the trainer are named."""
    world = World()
    gallery.resumed(world)
    body = page(world, "mistral/resumed")
    assert "Nothing stands." in body
    assert "resolved at step 56" in body
    assert "resumed at step 150" in body
    assert "new segment at step 1" in body
    assert 'class="mark segment"' in body


def test_each_check_has_its_row() -> None:
    """Armed, warming up with how many of how many, off and why; value and threshold."""
    world = World()
    gallery.healthy(world)
    world.views["young"] = world.views["llama-7b/healthy"]._replace(name="young")
    body = page(world, "llama-7b/healthy")
    for check in CHECKS:
        assert f'<th scope="row">{check.category}</th>' in body
    assert "off: no row has" in body
    assert "smoothed loss" in body
    assert "of 20,000 planned" in body
    assert "is not kept just now" in page(world, "young")


def test_checks_are_sorted_by_how_near_they_are() -> None:
    """What fires comes first, then what comes near its threshold, last what is off."""
    world = World()
    gallery.diverged(world)
    (name,) = world.views
    checks = run_page(world.views[name], world, CHECKS, "", NOW_S)["checks"]
    findings = [each["finding"] for each in checks]
    assert findings == sorted(findings, key=["firing", "pending", "inactive"].index)
    armed = [each["share"] for each in checks if each["finding"] == "inactive"]
    assert armed == sorted(armed, reverse=True)
    assert {each["state"] for each in checks[-6:]} == {"off"}
    assert checks[0]["percent"] == 100


def test_scale_as_it_is_asked_for() -> None:
    """The loss says which scale it has, and links to the other one."""
    world = World()
    gallery.healthy(world)
    name = "llama-7b/healthy"
    assert 'linear scale, <a href="?scale=log">' in page(world, name)
    assert 'log scale, <a href="?scale=linear">' in page(world, name, "?scale=log")
    assert 'linear scale, <a href="?scale=log">' in page(world, name, "?scale=nonsense")


def test_only_some_findings_have_a_place_in_the_drawing() -> None:
    """A hundred of them would cover it; the list is bounded, too."""
    world = World()
    gallery.healthy(world)
    (name,) = world.views
    world.told[name] = [
        each
        for n in range(1, 200)
        for each in (edge(f"c{n}", "firing", n), edge(f"c{n}", "resolved", n + 1))
    ]
    told = run_page(world.views[name], world, CHECKS, "", NOW_S)["told"]
    assert len(told) == 50
    assert sum(each.at is not None for each in told) == FLAGS_MAX
    assert told[0].category == "c199"


def test_a_run_of_which_nothing_is_kept_has_its_page() -> None:
    """What the snapshot says is shown; of the rest it is said that it is missing."""
    view = run_view("a", state="ended", last_row_s=None, last_step=None, loss=None)
    world = World()
    world.views["a"] = view._replace(standing=[standing()._replace(since_s=None, row=0)])
    body = page(world, "a")
    assert "No curve is kept" in body
    assert "loss is NaN" in body
    assert run_page(view, Nothing(), CHECKS, "", NOW_S)["checks"] == []


@pytest.mark.parametrize("name", gallery.HOSTILE)
def test_a_hostile_name_has_its_page(name: str) -> None:
    """Under any quoting; and all that came from a log is text."""
    world = World()
    gallery.hostile(world)
    for path in (run_path(name), quote(name, safe="")):
        body = world.site().answer(f"/run/{path}", "").body.decode()
        assert "<script>alert" not in body
        assert "<img" not in body
        assert f"<bdi>{html.escape(name, quote=False)}</bdi>" in body.replace(
            "&#34;", '"'
        ).replace("&#39;", "'")
        assert "&lt;img src=x onerror=&#34;" in body


def test_no_such_run_is_a_page_that_says_so() -> None:
    """404, with a way back, and without the name that was asked for."""
    answer = World().site().answer("/run/no%3Cscript%3E/such", "")
    assert answer.status == 404
    assert b"script%3E" not in answer.body
    assert b'href="../../"' in answer.body
