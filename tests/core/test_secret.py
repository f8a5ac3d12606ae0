"""A secret is shown by no way of showing things."""

from __future__ import annotations

import copy
import json
import pickle
import pprint
import traceback
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tailwatch.core.secret import Secret

TEXT = "https://hooks.example/T000/B000/hushhush"


@dataclass
class Holder:
    url: Secret


SHOWN: dict[str, Callable[[Secret], str]] = {
    "repr": repr,
    "str": str,
    "format": format,
    "f-string": lambda s: f"{s} {s!r} {s!s} {s!a}",
    "percent": lambda s: "%s %r" % (s, s),  # noqa: UP031 - one way of showing is this.
    "str.format": lambda s: "{} {!r}".format(s, s),  # noqa: UP032
    "in a list": lambda s: str([s]),
    "in a dict": lambda s: repr({"url": s}),
    "in a dataclass": lambda s: repr(Holder(s)),
    "in an exception": lambda s: repr(ValueError(s)) + str(ValueError(s)),
    "pprint": lambda s: pprint.pformat({"url": s, "more": [s] * 30}),
    "json with default=str": lambda s: json.dumps({"url": s}, default=str),
    "ascii": ascii,
}


@pytest.mark.parametrize("way", SHOWN)
def test_no_way_of_formatting_shows_it(way: str) -> None:
    """Whatever turns a secret into text gives the mask and no part of the secret."""
    text = SHOWN[way](Secret(TEXT))
    assert "<secret>" in text
    assert "hush" not in text


@pytest.mark.parametrize("spec", [">40", "x", "10s", ".3"])
def test_format_specs_do_not_show_it(spec: str) -> None:
    """A format specification is refused, and the refusal does not show the secret either."""
    with pytest.raises(TypeError) as raised:
        format(Secret(TEXT), spec)
    assert "hush" not in str(raised.value)


@pytest.mark.parametrize(
    "take",
    [copy.copy, copy.deepcopy, *(lambda s, p=p: pickle.dumps(s, p) for p in range(6))],
)
def test_it_is_not_copied_or_pickled(take: Callable[[Secret], object]) -> None:
    """Copying and pickling are refused, so no secret leaves in a dump of what holds it."""
    with pytest.raises(TypeError, match="not to be pickled or copied") as raised:
        take(Secret(TEXT))
    assert "hush" not in str(raised.value)


def test_json_and_vars_do_not_find_it() -> None:
    """The plain JSON writer and `vars` raise instead of walking into a secret."""
    with pytest.raises(TypeError, match="not JSON serializable") as raised:
        json.dumps(Secret(TEXT))
    assert "hush" not in str(raised.value)
    with pytest.raises(TypeError):
        vars(Secret(TEXT))


def test_a_traceback_with_locals_does_not_show_it() -> None:
    """A traceback that prints local variables prints the mask."""

    def fails(url: Secret) -> None:
        raise RuntimeError(f"cannot post to {url}")

    try:
        fails(Secret("https://hooks.example/T000/B000/" + "hush" * 2))
    except RuntimeError as error:
        detail = traceback.TracebackException.from_exception(error, capture_locals=True)
        text = "".join(detail.format())
    assert "url = <secret>" in text
    assert "cannot post to <secret>" in text
    assert "hushhush" not in text


def test_it_is_given_to_who_asks() -> None:
    """`reveal` gives the text as it was put in."""
    assert Secret(TEXT).reveal() == TEXT


def test_equal_secrets_are_equal() -> None:
    """Two secrets are equal, and hash alike, when their texts are; a secret is never its text."""
    assert Secret("a") == Secret("a")
    assert hash(Secret("a")) == hash(Secret("a"))
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
