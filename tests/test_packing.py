"""Values to bytes and back."""

from __future__ import annotations

import math
import os
import random
import string
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.packing import Alike, pack, unpack
from tests.shell.helpers import run_python

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


def test_what_is_alike_is_small_together() -> None:
    """Each comes back, the first too; what it shares with the first takes no room."""
    alike, noise = Alike(), random.Random(1)
    names = ["".join(noise.choices(string.ascii_letters, k=12)) for _ in range(50)]
    states = [pack({name: noise.random() for name in names}) for _ in range(9)]
    small = [alike.compress(state) for state in states]

    assert [alike.expand(each) for each in small] == states
    assert max(map(len, small)) < 0.7 * min(len(zlib.compress(state)) for state in states)


_WITHOUT_MEMORY = """
import resource, sys
from pathlib import Path
from tailwatch.packing import pack, unpack
value = ["x" * (1 << 20)] * 64
packed = pack(value)
given = {"pack": (pack, value), "unpack": (unpack, packed)}[sys.argv[1]]
text = Path("/proc/self/status").read_text()
room = (int(text.split("VmData:")[1].split()[0]) + 8192) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (room, room))
try:
    given[0](given[1])
except MemoryError:
    print("out of memory")
"""


@pytest.mark.parametrize("what", ["pack", "unpack"])
def test_without_memory_it_says_so(what: str) -> None:
    """It raises what the daemon ends with by itself, and does not take the process down."""
    ran = run_python(_WITHOUT_MEMORY, what)
    assert (ran.returncode, ran.stdout) == (0, "out of memory\n"), ran.stderr
