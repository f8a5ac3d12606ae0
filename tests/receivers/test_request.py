"""The bytes of a request are strict JSON in UTF-8."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.receivers.request import json_request

TYPE = "application/json; charset=utf-8"


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_nan_is_our_own_bug(bad: float) -> None:
    """What JSON cannot write never leaves: it raises, however deep it is."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_request({"data": {"recent": [1.0, bad]}})


def test_headers() -> None:
    """The content type is always there; own headers come beside it, or in its place."""
    assert json_request({}).headers == {"Content-Type": TYPE}
    assert json_request({}, {"webhook-id": "k"}).headers == {
        "Content-Type": TYPE,
        "webhook-id": "k",
    }
    assert json_request({}, {"Content-Type": "x"}).headers == {"Content-Type": "x"}


def test_headers_are_not_shared() -> None:
    """A header added to one request is in no other."""
    first = json_request({})
    first.headers["x"] = "y"
    assert json_request({}).headers == {"Content-Type": TYPE}


def test_text_is_written_as_it_is() -> None:
    """Other scripts are UTF-8, not escapes, and there are no needless blanks."""
    assert (
        json_request({"a": "é漢😀", "b": [1, None]}).body == '{"a":"é漢😀","b":[1,null]}'.encode()
    )


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    # Lone surrogates included: what os.fsdecode makes of undecodable bytes.
    | st.text()
    | st.text(st.sampled_from('a"é\ud800\udc80\udfff')),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, max_examples=200)
@given(values)
def test_any_value_reads_back(value: object) -> None:
    """Every JSON value is written as valid UTF-8 and reads back as itself."""
    # Two escaped halves of a pair are one character to a JSON reader.
    expected = json.loads(json.dumps(value))
    assert expected == json.loads(json_request(value).body.decode("utf-8"))
