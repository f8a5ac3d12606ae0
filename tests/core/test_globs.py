"""Globs over relative paths, against a matcher that walks instead of compiling."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core.globs import PathFilter


def in_set(body: str, char: str) -> bool:
    """Whether a character is in what stands between the brackets."""
    negated, inside, i = body[0] == "!", False, int(body[0] == "!")
    while i < len(body):
        if body[i + 1 : i + 2] == "-" and i + 2 < len(body):
            inside = inside or body[i] <= char <= body[i + 2]
            i += 3
        else:
            inside = inside or body[i] == char
            i += 1
    return inside is not negated


def oracle(pattern: str, path: str) -> bool:
    """Try every split of the path, by recursion, part by part of the pattern."""

    @cache
    def walk(p: int, s: int) -> bool:
        rest = pattern[p:]
        if not rest:
            return s == len(path)
        if rest.startswith("**/"):
            starts = [s] + [i + 1 for i in range(s, len(path)) if path[i] == "/" and i > s]
            names = [i for i in starts if "//" not in path[s:i] and not path[s:i].startswith("/")]
            return any(walk(p + 3, i) for i in names)
        if rest.startswith("**"):
            return any(walk(p + 2, i) for i in range(s, len(path) + 1))
        if rest[0] == "*":
            end = path.find("/", s)
            return any(walk(p + 1, i) for i in range(s, (len(path) if end < 0 else end) + 1))
        here = path[s : s + 1]
        if rest[0] == "?":
            return here not in ("", "/") and walk(p + 1, s + 1)
        if rest[0] == "[":
            end = rest.find("]", 3 if rest[1:2] == "!" else 2)
            if end > 0:
                member = here not in ("", "/") and in_set(rest[1:end], here)
                return member and walk(p + end + 1, s + 1)
        return here == rest[0] and walk(p + 1, s + 1)

    if "/" not in pattern:
        pattern = f"**/{pattern}"
    return walk(0, 0)


parts = st.sampled_from(
    [
        "*",
        "**",
        "?",
        "a",
        "b",
        "ab",
        ".",
        "[ab]",
        "[!a]",
        "[a-c]",
        "[c-a]",
        "[]a]",
        "[!]a]",
        "[!]",
        "[",
        "]",
        "[a^]",
        "[\\]",
        "[a&&b]",
        "[a||b]",
        "[--a]",
        "[a-]",
        "\\",
        "$",
        "(a",
        "+",
        "\n",
    ]
)
patterns = st.lists(st.lists(parts, max_size=4).map("".join), min_size=1, max_size=4).map("/".join)
names = st.text(alphabet="abc.]-&^\\[!\n$", max_size=4)
relative = st.lists(names, min_size=1, max_size=4).map("/".join)


@settings(deadline=None, max_examples=600)
@given(patterns, relative)
def test_globs_agree_with_walking(pattern: str, path: str) -> None:
    """Any pattern, well formed or not, matches what walking through it by hand matches."""
    assert oracle(pattern, path) == PathFilter([pattern])(path)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.jsonl", ["m.jsonl", "a/b/m.jsonl", ".jsonl"], ["m.json", "m.jsonl/x", "m.jsonl\n"]),
        ("**/*.jsonl", ["m.jsonl", "a/b/m.jsonl"], ["a/m.txt"]),
        ("logs/*.jsonl", ["logs/m.jsonl"], ["logs/deep/m.jsonl", "x/logs/m.jsonl", "logs"]),
        ("logs/**", ["logs/m", "logs/a/b"], ["logs", "xlogs/m"]),
        ("a/**/m", ["a/m", "a/b/m", "a/b/c/m"], ["a/bm", "b/a/m"]),
        ("**/data/**", ["data/x", "a/data/x/y"], ["a/mydata/x", "data"]),
        ("m?.jsonl", ["m1.jsonl", "a/mx.jsonl"], ["m.jsonl", "m12.jsonl"]),
        ("a?b", ["axb", "c/a.b"], ["a/b", "ab"]),
        ("run[0-9]", ["run5"], ["runx", "run"]),
        ("run[!0-9]", ["runx"], ["run5", "run", "run/x"]),
        ("a[!x]b/c", ["ayb/c"], ["a/b/c", "axb/c"]),
        ("m.jsonl", ["m.jsonl", "a/m.jsonl"], ["mxjsonl"]),
        ("exp é/*", ["exp é/m"], ["exp e/m"]),
    ],
)
def test_meanings(pattern: str, yes: list[str], no: list[str]) -> None:
    """`**` is any directories, `*`, `?` and sets stay in one name, a bare name is anywhere."""
    wanted = PathFilter([pattern])
    assert yes == [path for path in yes if wanted(path)]
    assert no == [path for path in no if not wanted(path)]


@pytest.mark.parametrize("pattern", ["x[!].jsonl", "[z-a]", "[a&&b]", "[a~~b]", "[[a]", "[]", "["])
def test_odd_sets_are_no_errors(pattern: str) -> None:
    """A set that regular expressions would refuse or warn of compiles, and matches no directory."""
    assert not PathFilter([pattern])("a/b/c")


def test_exclude_beats_include() -> None:
    """A path is wanted when some include pattern matches it and no exclude pattern does."""
    wanted = PathFilter(["*.jsonl", "logs/**"], ["data/**", "*eval*"])
    paths = ["m.jsonl", "logs/x", "data/m.jsonl", "logs/eval.txt", "a.txt", "a/data/m.jsonl"]
    assert [path for path in paths if wanted(path)] == ["m.jsonl", "logs/x", "a/data/m.jsonl"]


def test_nothing_included_is_nothing_wanted() -> None:
    """Without an include pattern no path is wanted."""
    assert not PathFilter([])("m.jsonl")
