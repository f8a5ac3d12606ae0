"""What a row costs the core, with all checks, in counts."""

from __future__ import annotations

import json
import random
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from tailwatch.checks import CHECKS
from tailwatch.core.reader import RunReader
from tests.bench.throughput import nested, small, wide

from .counting import calls, instructions, most, no_collector
from .limits import held

Make = Callable[[int, random.Random], dict[str, Any]]
WARM = 500
"""So many rows come first: windows fill up, keys are learnt."""
COUNTED = 100
each_shape = pytest.mark.parametrize("make", [small, wide, nested], ids=lambda m: m.__name__)


def lines(make: Make, rows: int) -> list[bytes]:
    """The same lines each time."""
    noise = random.Random(1)
    return [(json.dumps(make(number, noise)) + "\n").encode() for number in range(rows)]


def feed(reader: RunReader, some: list[bytes]) -> None:
    """As they come from a trainer that flushes each row."""
    for line in some:
        reader.feed(line)


def warm(make: Make) -> tuple[RunReader, list[bytes]]:
    """A reader that has had some rows, and those to count."""
    reader, made = RunReader(CHECKS), lines(make, WARM + COUNTED)
    feed(reader, made[:WARM])
    return reader, made[WARM:]


@each_shape
def test_calls_for_a_row(make: Make) -> None:
    """A row takes no more calls, of Python and C functions, than it did."""
    reader, some = warm(make)
    counts = calls(lambda: feed(reader, some))

    assert reader.rows == WARM + COUNTED
    held(f"calls for a {make.__name__} row", counts.total() / COUNTED, most(counts, COUNTED))


@each_shape
def test_instructions_for_a_row(make: Make) -> None:
    """A row takes no more bytecode instructions than it did: loops count, which call nothing."""
    reader, some = warm(make)
    counts = instructions(lambda: feed(reader, some))

    assert reader.rows == WARM + COUNTED
    name = f"instructions for a {make.__name__} row"
    held(name, counts.total() / COUNTED, most(counts, COUNTED))


@each_shape
def test_bytes_in_flight_for_a_row(make: Make) -> None:
    """While a row is read no more memory is in use at once, beyond what is kept, than it was."""
    reader, some = warm(make)
    total = 0
    with no_collector():
        tracemalloc.start()
        try:
            for line in some:
                before, _ = tracemalloc.get_traced_memory()
                tracemalloc.reset_peak()
                reader.feed(line)
                total += tracemalloc.get_traced_memory()[1] - before
        finally:
            tracemalloc.stop()

    held(f"bytes in flight for a {make.__name__} row", total / COUNTED)


def test_a_row_costs_the_same_after_100_000() -> None:
    """Neither calls nor blocks of memory grow with the rows that came before."""
    reader, made = RunReader(CHECKS), lines(small, 101_000)
    chunks = [b"".join(made[n : n + 1000]) for n in range(0, 100_000, 1000)]
    reader.feed(chunks[0])
    early = calls(lambda: feed(reader, made[1000:2000]))
    for chunk in chunks[2:20]:
        reader.feed(chunk)
    with no_collector():
        blocks = sys.getallocatedblocks()
        for chunk in chunks[20:]:
            reader.feed(chunk)
        more = sys.getallocatedblocks() - blocks
    late = calls(lambda: feed(reader, made[100_000:]))

    assert reader.rows == 101_000
    ratio = late.total() / early.total()
    held("calls for a row after 100,000, to one after 1,000", ratio, most(late, 1000))
    held("blocks of memory kept for 1,000 rows", more / 80)
