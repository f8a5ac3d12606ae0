"""Whether the daemon would follow a file: against what its scanner finds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tailwatch.config import Settings, load_settings
from tailwatch.followed import followed, followed_root
from tailwatch.shell.scanner import DirectoryScanner


def settings_of(*paths: Path, **flags: object) -> Settings:
    """Settings with these paths."""
    return load_settings({"paths": [str(path) for path in paths], **flags}, {}, os.devnull)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Files of several names, one of them behind links."""
    for name in ("a/m.jsonl", "a/data/m.jsonl", "a/notes.md", "elsewhere/x.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "a" / "link.jsonl").symlink_to("m.jsonl")
    (tmp_path / "a" / "way").symlink_to("../elsewhere")
    return tmp_path


@pytest.mark.parametrize(
    "flags",
    [{}, {"exclude": ["data/**"]}, {"include": ["*.md"]}, {"include": ["data/*.jsonl"]}],
)
def test_it_says_what_the_scanner_does(root: Path, flags: dict[str, object]) -> None:
    """For every path below a followed directory the answer is whether a sweep finds it."""
    settings = settings_of(root / "a", **flags)
    found = {
        each.path for each in DirectoryScanner(settings.paths, settings.wanted).sweep().values()
    }
    names = ("m.jsonl", "data/m.jsonl", "notes.md", "link.jsonl", "way/x.jsonl")
    paths = [str(root / "a" / name) for name in names]

    assert found == {path for path in paths if followed(path, None, settings).yes}


def test_why_not(root: Path) -> None:
    """Which pattern, which link, or that it is below no path."""
    settings = settings_of(root / "a", exclude=["other", "data/**"])
    excluded = followed(str(root / "a/data/m.jsonl"), None, settings)
    linked = followed(str(root / "a/way/x.jsonl"), None, settings)
    outside = followed(str(root / "elsewhere/x.jsonl"), None, settings)

    assert (excluded.include, excluded.exclude) == ("**/*.jsonl", "data/**")
    assert linked.link == str(root / "a/way")
    assert outside.outside
    assert followed(str(root / "a/notes.md"), None, settings).include is None


def test_a_file_in_paths_is_followed_whatever_its_name(root: Path) -> None:
    """Its own name decides nothing, nor do links."""
    settings = settings_of(root / "a/notes.md", root / "a/link.jsonl")

    assert followed(str(root / "a/notes.md"), None, settings).yes
    assert followed(str(root / "a/link.jsonl"), None, settings).named


def test_without_paths_the_patterns_are_tried_from_above(root: Path) -> None:
    """They are tried from the directory searched or, for a named file, two levels up."""
    settings = settings_of(include=["a/*.jsonl"])
    path = str(root / "a/m.jsonl")

    assert followed(path, None, settings).yes
    assert followed(path, str(root), settings).relative == "a/m.jsonl"
    assert not followed(path, str(root / "a"), settings).yes


@pytest.mark.parametrize("path", ["/m.jsonl", "/x/m.jsonl", "/"])
def test_a_file_near_the_top(path: str) -> None:
    """A file at the top of everything has a root too."""
    assert followed(path, None, settings_of()).root == "/"
    assert followed(path, None, settings_of(Path("/"))).root == "/"


def test_the_root_is_a_directory_of_paths(root: Path) -> None:
    """A path that only begins alike is below none."""
    settings = settings_of(root / "a")

    assert followed_root(str(root / "a/m.jsonl"), settings) == str(root / "a")
    assert followed_root(str(root / "ab/m.jsonl"), settings) is None
