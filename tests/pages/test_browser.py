"""The pages in a real browser: nothing runs that should not, nothing leaves, all can be used."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

from tailwatch.core.names import run_path
from tailwatch.pages.site import Site
from tests.pages import gallery
from tests.pages.browser import ENTER, TAB, Browser, browser
from tests.pages.kept import World, log, rows
from tests.shell.helpers import wait_until

LOOKS: list[dict[str, Any]] = [
    {},
    {"dark": True},
    {"width": 390, "height": 844},
    {"width": 390, "height": 844, "dark": True},
]

# Each text against what it stands on, as WCAG 2 counts: 4.5, or 3 for large text. A text in an
# SVG stands on the shape with its number, or else on its drawing's ground.
CONTRAST = """
const parse = c => (c.match(/[\\d.]+/g) || []).map(Number);
const solid = c => { const p = parse(c); return p.length === 3 || p[3] > 0 ? p : null; };
const over = (top, under) => {
  const a = top.length > 3 ? top[3] : 1;
  return [0, 1, 2].map(i => top[i] * a + under[i] * (1 - a));
};
const ground = e => {
  const layers = [];
  for (; e; e = e.parentElement) {
    const p = solid(getComputedStyle(e).backgroundColor);
    if (p) { layers.push(p); if (p.length === 3 || p[3] === 1) break; }
  }
  return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
};
const light = c => c.map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const wrong = [];
let seen = 0;
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const e = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !e.getClientRects().length) continue;
  if (e.closest("title, script, .hidden, .skip")) continue;
  const style = getComputedStyle(e), drawn = e instanceof SVGElement;
  let under = ground(drawn ? e.ownerSVGElement : e);
  if (drawn && e.classList.contains("flag"))
    under = parse(getComputedStyle(e.previousElementSibling).fill);
  const ink = over(parse(drawn ? style.fill : style.color), under);
  const [a, b] = [light(ink), light(under)].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05), size = parseFloat(style.fontSize);
  const least = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
  seen += 1;
  if (ratio < least)
    wrong.push(`${ratio.toFixed(2)} ${e.tagName}.${e.getAttribute("class")}: ${e.textContent.trim()}`);
}
return [seen, [...new Set(wrong)]];
"""

UNLABELLED = """
const told = e => e.tagName === "SELECT" ? "" : e.textContent;
const named = e => (e.getAttribute("aria-label") || told(e) || "").trim()
  || [...e.labels || []].some(l => l.firstChild.textContent.trim()) || e.getAttribute("aria-labelledby");
return [...document.querySelectorAll("a, button, input:not([type=hidden]), select, summary, [role=img], [role=region], section, nav")]
  .filter(e => !named(e)).map(e => e.outerHTML.slice(0, 200));
"""

FOCUSED = """
const e = document.activeElement, style = getComputedStyle(e), box = e.getBoundingClientRect();
return [e === document.body ? "" : (e.textContent || e.name || "").trim().slice(0, 60),
  style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2
  && box.width > 0 && box.right > 0];
"""


class Served:
    """A server whose world can be exchanged, and the browser."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.server = World().serve()

    def show(self, world: World, path: str = "/", **look: Any) -> None:
        """Open a page of *world*."""
        self.site = world.site()
        self.browser.look(**look)
        self.browser.open(f"http://{self.server.address}{path}")

    @property
    def site(self) -> Site:
        return self.server._server.site

    @site.setter
    def site(self, site: Site) -> None:
        self.server._server.site = site


@pytest.fixture(scope="module")
def serving() -> Iterator[Served]:
    with browser() as opened:
        served = Served(opened)
        yield served
        served.server.close()


@pytest.fixture
def served(serving: Served) -> Iterator[Served]:
    """After each test the console is empty, and nothing was asked of another host."""
    yield serving
    assert serving.browser.console() == []
    asked = serving.browser.requests()
    own = (f"http://{serving.server.address}/", "data:")
    assert [url for url in asked if not url.startswith(own)] == []
    assert asked


def all_pages(world: World) -> list[str]:
    return ["/", *(f"/run/{run_path(name)}" for name in world.views)]


@pytest.mark.parametrize("look", LOOKS, ids=["light", "dark", "phone", "phone, dark"])
def test_everything_can_be_read(served: Served, look: dict[str, Any]) -> None:
    """Every text has the contrast of AA, and no page is wider than the screen."""
    world = gallery.everything()
    for path in all_pages(world):
        served.show(world, path, **look)
        served.browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
        seen, wrong = served.browser.run(CONTRAST)
        assert wrong == [], path
        assert seen > 20
        assert served.browser.run("return document.documentElement.scrollWidth <= innerWidth"), (
            path
        )


def test_everything_has_a_name(served: Served) -> None:
    """Links, fields and drawings say what they are to those who do not see them."""
    world = gallery.everything()
    for path in all_pages(world):
        served.show(world, path)
        assert served.browser.run(UNLABELLED) == []
        assert served.browser.run("return document.querySelectorAll('h1').length") == 1
        ids = served.browser.run("return [...document.querySelectorAll('[id]')].map(e => e.id)")
        assert len(set(ids)) == len(ids)


def test_the_keyboard_reaches_everything(served: Served) -> None:
    """By Tab in the order of the page, seen where it is, and Enter opens the run."""
    served.show(gallery.everything())
    reached, visible = [], []
    for _ in range(40):
        served.browser.press(TAB)
        name, outlined = served.browser.run(FOCUSED)
        if not name:
            break
        reached.append(name)
        visible.append(outlined)
    assert all(visible)
    assert reached[:2] == ["Skip to the content", "tailwatch"]
    order = ["name", "Show", "Run", "Findings", "llama-7b/nan", "old/ended"]
    at = [reached.index(name) for name in order]
    assert at == sorted(at)
    assert reached[-1].startswith("Files and health")
    served.browser.run("document.querySelector('.name a').focus()")
    served.browser.press(ENTER)
    wait_until(lambda: served.browser.run("return location.pathname") == "/run/llama-7b/nan")
    assert served.browser.run("return document.querySelector('h1').textContent").startswith(
        "llama-7b/nan"
    )


def test_without_a_run_there_is_a_page(served: Served) -> None:
    """It says what a run would be."""
    served.show(World())
    assert "No run yet" in served.browser.run("return document.querySelector('main').textContent")


def test_a_thousand_runs_are_shown_a_hundred_at_a_time(served: Served) -> None:
    """Filter and pages work by links and a form, and say how many there are."""
    served.show(gallery.thousand())
    count = "return document.querySelectorAll('.runs tbody tr').length"
    assert served.browser.run(count) == 100
    served.browser.click("a[rel=next]")
    wait_until(lambda: served.browser.run("return location.search") == "?page=2")
    assert served.browser.run(count) == 100
    served.browser.run("document.querySelector('[name=name]').value = 'seed-0042'")
    served.browser.click(".filter button")
    wait_until(lambda: "seed-0042" in served.browser.run("return location.search"))
    assert served.browser.run(count) == 1


def test_nothing_of_a_log_is_ever_run(served: Served) -> None:
    """Names, messages and reasons made to break out are text; each name leads to its page."""
    world = World()
    gallery.hostile(world)
    served.show(world)
    names = "return [...document.querySelectorAll('.name a')].map(a => [a.textContent, a.href])"
    links = served.browser.run(names)
    assert sorted(name for name, _ in links) == sorted(gallery.HOSTILE)
    for name, link in links:
        served.browser.open(link)
        assert served.browser.run("return document.querySelector('h1 bdi').textContent") == name
        body = served.browser.run("return document.body.textContent")
        assert gallery.SAYING in body
        assert served.browser.run("return document.querySelectorAll('img, script').length") == 1
        assert served.browser.run("return document.title") == f"{name}, tailwatch"


def test_nan_is_seen_and_drawn_in_the_right_place(served: Served) -> None:
    """The rows that are not finite are marked from where they begin to where they end."""
    world = World()
    lines = [*rows(60), *rows(20, 61, loss=math.nan), *rows(20, 81)]
    world.run("a", log(lines))
    served.show(world, "/run/a")
    box = """
    const svg = document.querySelector(".chart.loss").getBoundingClientRect();
    const bad = document.querySelector(".chart.loss .bad").getBoundingClientRect();
    return [(bad.left - svg.left) / svg.width, (bad.right - svg.left) / svg.width];
    """
    left, right = served.browser.run(box)
    assert (left, right) == (pytest.approx(0.6, abs=0.01), pytest.approx(0.8, abs=0.01))
    label = served.browser.run("return document.querySelector('.chart.loss').ariaLabel")
    assert "20 rows not finite, from step 61" in label


def test_the_page_refreshes_itself_and_says_when_it_cannot(served: Served) -> None:
    """New content replaces the old one; without an answer the page says that it is old."""
    world = World()
    world.run("first", log(rows(5)))
    served.show(world)
    tick = "await refresh();"  # What the timer calls.
    world.run("second", log(rows(5)))
    served.site = world.site()
    served.browser.run(tick)
    text = served.browser.run("return document.querySelector('.runs').textContent")
    assert "second" in text
    stale = "return getComputedStyle(document.querySelector('.stale')).display"
    assert served.browser.run(stale) == "none"
    served.browser.run("document.querySelector('[name=name]').focus()")
    world.run("third", log(rows(5)))
    served.site = world.site()
    served.browser.run(tick)
    assert "third" not in served.browser.run("return document.querySelector('.runs').textContent")
    served.browser.run("document.activeElement.blur(); window.fetch = async () => { throw 1; };")
    served.browser.run(tick)
    assert served.browser.run(stale) == "block"
