"""Templates and what they need beside them. Nothing is loaded before the first page."""

from __future__ import annotations

import functools
import importlib.resources
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..core.names import run_path
from ..core.numbers import shown, spoken
from .answer import Answer, moment

if TYPE_CHECKING:
    import jinja2

_STATIC = {
    "style.css": "text/css; charset=utf-8",
    "refresh.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
AGE_DAYS_S = 172_800.0


def page(template: str, place: str, context: Mapping[str, Any], status: int = 200) -> Answer:
    """
    A page for a browser.

    Args:
        template: Its file.
        place: The path that was asked for: links are relative to it, so that they hold
            behind a proxy that serves us below a path of its own.
        context: What the template shows. Everything is escaped.
        status: Of HTTP.
    """
    home = "../" * (place.count("/") - 1) or "./"
    html = _templates().get_template(template).render(context, home=home, version=__version__)
    return Answer(status, "text/html; charset=utf-8", html.encode(errors="backslashreplace"))


def static(name: str) -> Answer | None:
    """A file that the pages need, if it is one of them."""
    kind = _STATIC.get(name)
    if kind is None:
        return None
    return Answer(200, kind, _read(f"static/{name}").encode())


@functools.cache
def _templates() -> jinja2.Environment:
    import jinja2

    templates = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: _read(f"templates/{name}")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    templates.filters |= {
        "shown": shown,
        "age": age,
        "moment": moment,
        "run_path": run_path,
        "count": "{:,}".format,
    }
    return templates


@functools.cache
def _read(name: str) -> str:
    return importlib.resources.files(__package__).joinpath(name).read_text("utf-8")


def age(seconds: float) -> str:
    """
    How long ago, for people.

    >>> age(-3.0), age(59.0), age(86400.0), age(864000.0)
    ('0 s', '59 s', '24 h', '10 days')
    """
    if seconds >= AGE_DAYS_S:
        return f"{seconds / 86400.0:,.0f} days"
    return spoken(max(0.0, seconds))
