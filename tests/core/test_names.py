"""Run names are printable, short, and tell runs apart."""

from __future__ import annotations

import os
import re
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core.names import (
    NAME_BYTES_MAX,
    distinct_name,
    escape,
    run_name,
    run_path,
    run_url,
)

raw_names = st.binary(min_size=1, max_size=60).filter(lambda raw: b"\0" not in raw)
paths = st.lists(raw_names.map(lambda raw: raw.replace(b"/", b"_")), min_size=1, max_size=8).map(
    lambda parts: os.fsdecode(b"/".join(parts))
)


@settings(deadline=None, max_examples=300)
@given(st.binary(max_size=80).map(os.fsdecode) | st.text(max_size=40))
def test_escaped_names_can_be_shown(text: str) -> None:
    """Any name, of any bytes, becomes printable text that UTF-8 can write."""
    shown = escape(text)
    assert shown.isprintable()
    assert shown == shown.encode().decode()
    if text.isprintable():
        assert text == shown


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"exp 1", "exp 1"),
        (b"exp\xff", "exp\\xff"),
        (b"a\nb\tc\rd\x1b[31m", "a\\nb\\tc\\rd\\x1b[31m"),
        ("é漢😀".encode(), "é漢😀"),
        ("\u202egpj".encode(), "\\u202egpj"),
        ("\u2028".encode(), "\\u2028"),
        (b"\xed\xa0\x80", "\\xed\\xa0\\x80"),
        (b"\x7f", "\\x7f"),
    ],
)
def test_what_is_escaped(raw: bytes, expected: str) -> None:
    """Controls, direction marks and undecodable bytes are spelt out; other scripts are kept."""
    assert expected == escape(os.fsdecode(raw))


@settings(deadline=None, max_examples=300)
@given(paths, st.booleans())
def test_names_are_bounded(path: str, named: bool) -> None:
    """A run's name is never longer than 128 bytes and never unprintable, whatever the path."""
    name = run_name(f"/r/{path}.jsonl", None if named else "/r")
    assert len(name.encode()) <= NAME_BYTES_MAX
    assert name.isprintable()


@pytest.mark.parametrize(
    ("path", "root", "expected"),
    [
        ("/data/runs/exp1/metrics.jsonl", "/data/runs", "exp1/metrics"),
        ("/data/runs/exp1/metrics.jsonl", "/data/runs/", "exp1/metrics"),
        ("/data/runs/a/b/m.jsonl", "/data/runs", "a/b/m"),
        ("/data/runs/m.jsonl", "/data/runs", "m"),
        ("/data/runs/v1.2/m.log.jsonl", "/data/runs", "v1.2/m.log"),
        ("/data/runs/exp1/metrics.jsonl", None, "exp1/metrics"),
        ("metrics.jsonl", None, "metrics"),
        ("/metrics.jsonl", None, "metrics"),
        ("/data/runs/.jsonl", "/data/runs", ".jsonl"),
    ],
)
def test_name_from_the_path(path: str, root: str | None, expected: str) -> None:
    """It is the path below the root without suffix, or parent and stem of a file given by name."""
    assert expected == run_name(path, root)


@settings(deadline=None, max_examples=100)
@given(st.sets(st.integers(0, 10**6), min_size=2, max_size=10), st.integers(0, 200))
def test_long_names_stay_distinct(numbers: set[int], length: int) -> None:
    """Runs whose long paths differ anywhere, first part or last, have different names."""
    front = {run_name(f"/r/{n}/{'x' * length}/m.jsonl", "/r") for n in numbers}
    back = {run_name(f"/r/{'x' * length}/{n}.jsonl", "/r") for n in numbers}
    assert len(numbers) == len(front) == len(back)


def test_a_long_name_keeps_its_end() -> None:
    """A name over the limit keeps its last characters whole, with a digest in front."""
    name = run_name("/r/" + "漢" * 100 + "/seed3.jsonl", "/r")
    assert name.endswith("漢/seed3")
    assert re.match(r"[0-9a-f]{8}~漢", name)
    assert NAME_BYTES_MAX - 3 <= len(name.encode()) <= NAME_BYTES_MAX
    assert run_name("/r/" + "x" * NAME_BYTES_MAX + ".jsonl", "/r") == "x" * NAME_BYTES_MAX


def test_pattern() -> None:
    """The group `run` of a pattern is the name; where it does not match, the path is."""
    pattern = re.compile(r"/(?P<run>exp\d*)/")
    assert run_name("/d/exp12/a/m.jsonl", "/d", pattern) == "exp12"
    assert run_name("/d/other/m.jsonl", "/d", pattern) == "other/m"
    optional = re.compile(r"/d/(?P<run>exp\d+)?")
    assert run_name("/d/other/m.jsonl", "/d", optional) == "other/m"
    hostile = re.compile(r"/(?P<run>[^/]*)/m")
    assert run_name("/d/\udcff\n/m.jsonl", "/d", hostile) == "\\xff\\n"
    assert len(run_name("/d/" + "y" * 200 + "/m.jsonl", "/d", hostile)) == NAME_BYTES_MAX


def test_two_roots_with_the_same_name() -> None:
    """The second run of a name gets its root's own name in front, and then a number."""
    taken: set[str] = set()
    for root, expected in [
        ("/x/old", "a/m"),
        ("/y/old", "old/a/m"),
        ("/z/old", "a/m~2"),
        ("/w/old", "a/m~3"),
    ]:
        name = distinct_name("a/m", f"{root}/a/m.jsonl", root, taken.__contains__)
        assert expected == name
        taken.add(name)
    assert distinct_name("a/m", "/q/a/m.jsonl", None, {"a/m"}.__contains__) == "a/a/m"


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(paths, st.sampled_from(["/x", "/y/x", "/", None])), max_size=12))
def test_distinct_names_are_distinct(found: list[tuple[str, str | None]]) -> None:
    """However many runs share a name, each gets one of its own, within the limit."""
    taken: set[str] = set()
    for path, root in found:
        for name in (run_name(path, root), "m" * NAME_BYTES_MAX):
            distinct = distinct_name(name, path, root, taken.__contains__)
            assert distinct not in taken
            assert len(distinct.encode()) <= NAME_BYTES_MAX
            assert distinct.isprintable()
            taken.add(distinct)


@given(st.text(min_size=1, max_size=60).map(escape))
@settings(deadline=None)
def test_the_path_of_a_run_comes_back_as_its_name(name: str) -> None:
    """Through quoting and a browser, which takes empty parts and dots out of a path."""
    path = run_path(name)
    assert unquote(path) == name
    assert re.fullmatch(r"[\w.~/%-]+", path, re.ASCII)
    assert {"", ".", ".."}.isdisjoint(path.split("/")) or "/" not in path


@pytest.mark.parametrize("base", ["https://h:8443", "https://h:8443/", "https://h:8443//"])
def test_the_address_of_a_run(base: str) -> None:
    """Below the external URL, whether that ends with a slash or not."""
    assert run_url(base, "exp 1/m?#%") == "https://h:8443/run/exp%201/m%3F%23%25"
