"""Templates: loaded late, escaping everything, with links that hold behind a proxy."""

from __future__ import annotations

import re

import pytest

from tailwatch.pages.rendering import age, page, static
from tests.pages import gallery
from tests.shell.helpers import run_python


def test_only_a_page_loads_the_templates() -> None:
    """`check` and the daemon itself do without jinja2; the first page brings it."""
    said = run_python(
        "import sys, tailwatch.cli, tailwatch.app;"
        "from tailwatch.pages.rendering import page;"
        "print('jinja2' in sys.modules);"
        "page('missing.html', '/', {'title': 't', 'text': 'x'});"
        "print('jinja2' in sys.modules)"
    )
    assert said.stdout == "False\nTrue\n", said.stderr


def test_everything_is_escaped() -> None:
    """In texts and in titles."""
    body = page("missing.html", "/", {"title": "<b>", "text": "\"'&<"}).body
    assert b"<b>" not in body
    assert b"<h1>&lt;b&gt;</h1>" in body


@pytest.mark.parametrize(
    ("place", "home"),
    [("/", "./"), ("/run/a", "../"), ("/run/a/b", "../../"), ("/run/a%2Fb", "../")],
)
def test_links_are_relative(place: str, home: str) -> None:
    """So that a proxy may serve us at any path of its own."""
    body = page("missing.html", place, {"title": "t", "text": "x"}).body.decode()
    assert f'href="{home}static/style.css"' in body
    assert re.findall(r'(?:href|src)="/', body) == []


def test_pages_are_for_a_strict_policy() -> None:
    """No style and no script within a page, and no address of another host."""
    world = gallery.everything()
    for path in ("/", *(f"/run/{name}" for name in world.views)):
        body = world.site().answer(path, "").body.decode()
        assert re.findall(r"\sstyle=|<style|\son\w+=|<script(?! src=)|javascript:", body) == []
        assert re.findall(r'(?:href|src|action)="(?:https?:)?//', body) == []


@pytest.mark.parametrize("name", ["style.css", "refresh.js", "icon.svg"])
def test_own_files_are_served(name: str) -> None:
    """Those that the pages name, with their types."""
    answer = static(name)
    assert answer is not None
    assert answer.status == 200
    assert answer.content_type.split(";")[0] in {"text/css", "text/javascript", "image/svg+xml"}
    assert gallery.World().site().answer(f"/static/{name}", "").body == answer.body


@pytest.mark.parametrize("name", ["", "nosuch", "../answer.py", "..%2fanswer.py", "/etc/passwd"])
def test_no_other_file_is(name: str) -> None:
    """Neither another of ours nor of the host."""
    assert static(name) is None
    assert gallery.World().site().answer(f"/static/{name}", "").status == 404


def test_ages_are_for_people() -> None:
    """Seconds to days; a clock that was set back gives none below zero."""
    assert [age(s) for s in (-1e9, 0.4, 3600.0, 1e5, 1e9)] == [
        "0 s",
        "0 s",
        "60 min",
        "28 h",
        "11,574 days",
    ]
