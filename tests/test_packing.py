"""Values to bytes and back."""

from __future__ import annotations

import math
import os

from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.packing import pack, unpack

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(plain)
@settings(deadline=None)
def test_what_is_packed_comes_back(value: object) -> None:
    """Plain values come back as they were."""
    assert value == unpack(pack(value))


def test_nan_and_undecodable_text_come_back() -> None:
    """So do NaN, and a path of any bytes."""
    path = os.fsdecode(b"caf\xff")
    number, text = unpack(pack([math.nan, {"paths": [path, "plain"]}]))

    assert math.isnan(number)
    assert {"paths": [path, "plain"]} == text
