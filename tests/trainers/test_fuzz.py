"""
Broken lines cost little, and break nothing.

20,000 of them each time; `TAILWATCH_FUZZ_LINES=1000000` for more.
"""

from __future__ import annotations

import ast
import json
import math
import os
import random
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from tailwatch.checks import CHECKS
from tailwatch.core import decoding
from tailwatch.core.decoding import decode, objects
from tailwatch.core.fields import FieldMap
from tailwatch.core.reader import RunReader
from tailwatch.core.rows import BAD_LINE_REASONS

from .mutations import mutated

LINES = int(os.environ.get("TAILWATCH_FUZZ_LINES", "20000"))
BATCH = 2000
# Against what the standard library takes to parse as many bytes of sound rows. Measured: about
# 15 for broken lines on their whole way, 20 for the worst long line; squared work is thousands.
TIMES_MAX = 150
STATE_BYTES_MAX = 64 * 1024


def standard(size: int) -> bytes:
    """Sound rows of so many bytes."""
    row = b'{"step": 10, "loss": 2.5, "grad_norm": 1.5, "lr": 0.0001},'
    return b"[" + row * (size // len(row) + 1) + b"0]"


def cpu_s(run: Callable[[], Any]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


def batches() -> Iterator[list[bytes]]:
    rng = random.Random(LINES)
    for _ in range(LINES // BATCH):
        yield [mutated(rng) for _ in range(BATCH)]


def test_broken_lines_on_their_whole_way() -> None:
    """No line raises, loses a check, makes a step without end, or is costly; state stays small."""
    fields = FieldMap()
    spent = allowed = 0.0
    rows = 0
    for batch in batches():
        reader = RunReader(CHECKS, fields=fields)
        reader.feed(b'{"step": 1, "loss": 2.5}\n')
        data = b"\n".join(batch) + b"\n"
        spent += cpu_s(lambda reader=reader, data=data: reader.feed(data))
        plain = standard(len(data))
        allowed += TIMES_MAX * cpu_s(lambda plain=plain: json.loads(plain))
        reader.rest()
        assert reader.monitor.take_errors() == []
        assert reader.bad_lines.keys() <= set(BAD_LINE_REASONS)
        assert reader.monitor.last is not None
        assert math.isfinite(reader.monitor.last.step)
        assert len(msgspec.msgpack.encode(reader.to_state())) < STATE_BYTES_MAX
        rows += reader.rows
    assert spent < allowed, (spent, allowed / TIMES_MAX)
    assert LINES / 4 < rows < LINES * 2


def test_our_parser_agrees_with_the_standard_library() -> None:
    """What the fast one accepts, the standard library accepts and reads as the same."""
    accepted = 0
    for line in (line for batch in batches() for part in batch for line in part.split(b"\n")):
        try:
            value = msgspec.json.decode(line)
        except (ValueError, RecursionError):
            continue
        accepted += 1
        assert repr(value) == repr(json.loads(line.decode()))
        assert repr(value) == repr(decode(line))
    assert accepted > LINES / 10


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Every look of a slow parser at a line: which, and at how many characters."""
    looks: list[tuple[str, int]] = []
    parse, lenient = ast.parse, decoding._lenient

    class Counted(json.JSONDecoder):
        def raw_decode(self, s: str, idx: int = 0) -> tuple[Any, int]:
            looks.append(("json", len(s) - idx))
            return lenient.raw_decode(s, idx)

    def counted(text: str, **more: Any) -> Any:
        looks.append(("python", len(text)))
        return parse(text, **more)

    monkeypatch.setattr(decoding, "_lenient", Counted())
    # Not in `ast` itself: who reports a failed test parses, too.
    monkeypatch.setattr(decoding, "ast", SimpleNamespace(**{**vars(ast), "parse": counted}))
    return looks


def test_a_line_is_looked_at_so_often_and_no_more(work: list[tuple[str, int]]) -> None:
    """A bounded number of tries for each line, and of what Python's parser is given."""
    for line in [*next(batches()), *LONG.values()]:
        work.clear()
        found, _ = objects(line)
        failed = len([1 for parser, _ in work if parser == "json"]) - len(found)
        assert failed <= decoding._TRIES_MAX + 1
        assert (
            sum(size for parser, size in work if parser == "python") <= decoding._PYTHON_CHARS_MAX
        )


SIZE = 256 * 1024
LONG: dict[str, bytes] = {
    "braces": b"{" * SIZE,
    "braces and commas": b"{," * (SIZE // 2),
    "braces and spaces": b"{ " * (SIZE // 2),
    "a brace and spaces": b"{" + b" " * SIZE + b"x",
    "braces after words": b"x{" * (SIZE // 2),
    "brackets": b"[" * SIZE,
    "nested objects": b'{"a":' * (SIZE // 5),
    "nested in python": b"{'a':" * (SIZE // 5),
    "torn objects": b'{"a": 1, ' * (SIZE // 9),
    "glued objects": b'{"a": 1}' * (SIZE // 8),
    "python that fails late": (b"{'a': [" + b"1," * 30_000 + b"f()]}\r") * (SIZE // 60_000 + 1),
    "python that fails at once": (b"{'a': [" + b"1," * 30_000 + b"x y]}\r") * (SIZE // 60_000 + 1),
    "python numbers": b"{'a':" + b"-" * 60_000 + b"1}",
    "carriage returns": b"\r{" * (SIZE // 2),
    "colours": b"\x1b[0;" * (SIZE // 4) + b"{",
    "a colour without end": b"{\x1b[" + b"0" * SIZE,
    "digits": b'{"loss": ' + b"9" * SIZE + b"}",
    "text": b'{"loss": "' + b"9" * SIZE + b'"}',
    "quotes": b"{" + b'"' * SIZE,
    "escapes": b'{"a": "' + b"\\" * SIZE,
    "wide": b"{" + b",".join(b'"k%d": 1' % n for n in range(SIZE // 12)) + b"}",
    "wide below data": b'{"data": {' + b",".join(b'"k%d": 1' % n for n in range(SIZE // 12)) + b"}}",
    "deep below data": (b'{"data": ' * 200 + b"1" + b"}" * 200),
    "evaluations": b"{" + b",".join(b'"eval_%d_loss": 1' % n for n in range(SIZE // 20)) + b"}",
    "latin": b'{"a": "' + b"\xff" * SIZE + b'"}',
}  # fmt: skip


@pytest.mark.parametrize("name", LONG)
def test_a_long_line_costs_its_length(name: str) -> None:
    """The worst long lines we could think of cost what as many sound bytes cost, times a constant."""
    line = LONG[name]
    plain = standard(max(len(line), SIZE))
    spent = min(cost(line) for _ in range(2))
    assert spent < TIMES_MAX * min(cpu_s(lambda: json.loads(plain)) for _ in range(3))


def cost(line: bytes) -> float:
    """Of one line in a log that is known to be one."""
    reader = RunReader(CHECKS)
    reader.feed(b'{"step": 1, "loss": 2.5}\n')
    spent = cpu_s(lambda: reader.feed(line + b"\n"))
    assert reader.rows + reader.bad_lines.total() > 1
    return spent


def test_memory_of_wide_rows_is_bounded() -> None:
    """Rows with thousands of keys, new ones in each, are forgotten."""
    fields = FieldMap()
    for n in range(12):
        fields.read({f"k{n}_{m}": 1 for m in range(5000)})
    assert sum(len(shape) for shape in fields._plans) <= 20_000
