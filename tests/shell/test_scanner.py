"""Directories: which files are found, on a real file system with everything odd in it."""

from __future__ import annotations

import itertools
import os
import shutil
import stat
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core.globs import PathFilter
from tailwatch.messages import FoundFile
from tailwatch.shell import scanner as scanner_module
from tailwatch.shell.scanner import CALM_S, CALM_SWEEPS, QUIET_S, QUIET_SWEEPS, DirectoryScanner
from tests.shell.helpers import as_nobody

JSONL = PathFilter(["**/*.jsonl"])


def put(path: Path, text: str = "{}\n") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def scanner(*roots: Path | str, wanted: PathFilter = JSONL) -> DirectoryScanner:
    return DirectoryScanner([str(root) for root in roots], wanted)


def paths(found: object) -> list[str]:
    return sorted(f.path for f in found)  # type: ignore[attr-defined]


def test_matching_files_at_any_depth(tmp_path: Path) -> None:
    """Files that match are found however deep, the others are not."""
    expected = [put(tmp_path / "a.jsonl"), put(tmp_path / "x/y/z/b.jsonl")]
    put(tmp_path / "a.txt")
    put(tmp_path / "jsonl")
    assert expected == paths(scanner(tmp_path).sweep().values())


def test_exclude_wins(tmp_path: Path) -> None:
    """What is excluded is not found, even if it is included."""
    expected = [put(tmp_path / "exp/m.jsonl")]
    put(tmp_path / "exp/data/train.jsonl")
    wanted = PathFilter(["**/*.jsonl"], ["**/data/**"])
    assert expected == paths(scanner(tmp_path, wanted=wanted).sweep().values())


def test_found_file_is_as_the_system_says(tmp_path: Path) -> None:
    """Size, time and change mark of a found file are those of its stat."""
    path = put(tmp_path / "a.jsonl", "12345")
    info = os.stat(path)
    changed = (5, info.st_mtime_ns, info.st_ino)
    inode = (info.st_dev, info.st_ino)
    expected = FoundFile(path, str(tmp_path), 5, info.st_mtime, inode, changed)
    assert (
        [expected]
        == list(scanner(tmp_path).sweep().values())
        == list(scanner(tmp_path).find(path))
    )


def test_change_mark_changes_with_the_file(tmp_path: Path) -> None:
    """An append, a rewrite of the same size and a replacement each change the mark."""
    path = Path(put(tmp_path / "a.jsonl", "123"))

    def mark() -> tuple[int, int, int]:
        return next(iter(scanner(tmp_path).sweep().values())).changed

    marks = [mark()]
    path.write_text("1234")
    marks.append(mark())
    os.utime(path, ns=(1, 1))
    marks.append(mark())
    put(tmp_path / "new", "1234")
    os.utime(tmp_path / "new", ns=(1, 1))
    os.replace(tmp_path / "new", path)
    marks.append(mark())
    assert len(set(marks)) == 4


# Links.


def test_links_are_not_followed(tmp_path: Path) -> None:
    """A link to a file, to a directory, to nothing, or to itself brings nothing and ends."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    expected = [put(root / "real/a.jsonl")]
    secret = put(outside / "b.jsonl")
    (root / "file.jsonl").symlink_to(secret)
    (root / "dir").symlink_to(outside)
    (root / "loop").symlink_to(root)
    (root / "self.jsonl").symlink_to("self.jsonl")
    (root / "dead.jsonl").symlink_to("nowhere")
    (root / "real/up").symlink_to("..")
    found = scanner(root)
    assert expected == paths(found.sweep().values())
    for link in ("file.jsonl", "dir", "self.jsonl", "dead.jsonl"):
        assert list(found.find(str(root / link))) == []


def test_root_may_be_a_link(tmp_path: Path) -> None:
    """A root is what the operator says, a link among others."""
    put(tmp_path / "real/a.jsonl")
    (tmp_path / "root").symlink_to(tmp_path / "real")
    assert [str(tmp_path / "root/a.jsonl")] == paths(scanner(tmp_path / "root").sweep().values())


# Roots.


def test_missing_root_is_said_and_hurts_no_other(tmp_path: Path) -> None:
    """A root that is not there is named as missing, until it is there."""
    expected = [put(tmp_path / "there/a.jsonl")]
    absent = tmp_path / "absent"
    found = scanner(absent, tmp_path / "there")
    assert expected == paths(found.sweep().values())
    assert {str(absent)} == found.missing()
    expected.insert(0, put(absent / "b.jsonl"))
    assert expected == paths(found.sweep().values())
    assert set() == found.missing()


def test_named_file_is_found_whatever_its_name(tmp_path: Path) -> None:
    """A file that is a root itself needs to match nothing, and has no root."""
    path = put(tmp_path / "log.txt")
    found = scanner(path)
    assert [(path, None)] == [(f.path, f.root) for f in found.sweep().values()]
    assert [(path, None)] == [(f.path, f.root) for f in found.find(path)]


def test_missing_named_file_is_missing(tmp_path: Path) -> None:
    """A named file that is not there yet is a missing root."""
    found = scanner(tmp_path / "log.txt")
    assert ([], {str(tmp_path / "log.txt")}) == (list(found.sweep().values()), found.missing())


def test_each_file_once_under_nested_roots(tmp_path: Path) -> None:
    """A file under two roots, or under one root that was given twice, is found once."""
    expected = [put(tmp_path / "a.jsonl"), put(tmp_path / "in/b.jsonl")]
    found = scanner(tmp_path, tmp_path / "in", str(tmp_path) + "/", expected[1])
    assert expected == paths(found.sweep().values())
    assert {str(tmp_path)} == {f.root for f in found.sweep().values()}
    assert [str(tmp_path)] == [f.root for f in found.find(expected[1])]


def test_hint_finds_a_named_file_below_another_root(tmp_path: Path) -> None:
    """A file that does not match below one root is still found as the root that it is itself."""
    path = put(tmp_path / "log.txt")
    found = scanner(tmp_path, path)
    assert [(path, None)] == [(f.path, f.root) for f in found.sweep().values()]
    assert [(path, None)] == [(f.path, f.root) for f in found.find(path)]


def test_roots_are_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative root is meant from where the daemon was started, and stays so."""
    expected = [put(tmp_path / "runs/a.jsonl")]
    monkeypatch.chdir(tmp_path)
    found = scanner("runs", "./runs/../runs")
    monkeypatch.chdir("/")
    assert [str(tmp_path / "runs")] * 2 == found.roots()
    assert expected == paths(found.sweep().values())


def test_root_of_the_file_system(tmp_path: Path) -> None:
    """A hint below `/` is relative to it like any other."""
    path = put(tmp_path / "a.jsonl")
    assert [(path, "/")] == [(f.path, f.root) for f in scanner("/").find(path)]


# Hints.


def test_hint_of_a_directory_finds_what_is_below(tmp_path: Path) -> None:
    """A directory that was moved in is searched whole."""
    expected = [put(tmp_path / "new/a.jsonl"), put(tmp_path / "new/deep/b.jsonl")]
    put(tmp_path / "other.jsonl")
    assert expected == paths(scanner(tmp_path).find(str(tmp_path / "new")))


def test_hint_outside_of_every_root_finds_nothing(tmp_path: Path) -> None:
    """A path that only begins like a root is not below it."""
    path = put(tmp_path / "root2/a.jsonl")
    (tmp_path / "root").mkdir()
    found = scanner(tmp_path / "root")
    assert list(found.find(path)) == []
    assert list(found.find(str(tmp_path / "root/gone.jsonl"))) == []


# Odd entries.


def test_only_regular_files_are_found(tmp_path: Path) -> None:
    """A directory, a FIFO or a socket of a matching name is no file to follow."""
    expected = [put(tmp_path / "dir.jsonl/in.jsonl")]
    os.mkfifo(tmp_path / "fifo.jsonl")
    os.mknod(tmp_path / "socket.jsonl", stat.S_IFSOCK | 0o600)
    found = scanner(tmp_path)
    assert expected == paths(found.sweep().values())
    assert list(found.find(str(tmp_path / "fifo.jsonl"))) == []


def test_undecodable_names_are_found(tmp_path: Path) -> None:
    """A name that is no UTF-8 is found, and its path opens the file again."""
    raw = os.fsencode(tmp_path) + b"/caf\xff/m\xfe.jsonl"
    os.mkdir(os.path.dirname(raw))
    with open(raw, "wb") as file:
        file.write(b"{}\n")
    (found,) = scanner(tmp_path).sweep().values()
    assert raw == os.fsencode(found.path)
    assert [found] == list(scanner(tmp_path).find(found.path))


def test_unreadable_directory_beside_a_good_one(public_path: Path) -> None:
    """A directory that may not be read hides itself and nothing else; a root says it is missing."""
    root = public_path / "root"
    put(root / "aaa/hidden.jsonl")
    good = put(root / "bbb/good.jsonl")
    put(root / "ccc/listed.jsonl")
    closed = public_path / "closed"
    closed.mkdir()
    (root / "aaa").chmod(0o000)
    (root / "ccc").chmod(0o444)  # Names can be read there, files cannot be looked at.
    closed.chmod(0o000)
    code = """
import json, sys
from tailwatch.core.globs import PathFilter
from tailwatch.shell import scanner as scanner_module
from tailwatch.shell.scanner import CALM_S, CALM_SWEEPS, QUIET_S, QUIET_SWEEPS, DirectoryScanner
scanner = DirectoryScanner(sys.argv[1:], PathFilter(["**/*.jsonl"]))
print(json.dumps([[f.path for f in scanner.sweep().values()], sorted(scanner.missing())]))
"""
    try:
        result = as_nobody(code, str(root), str(closed))
    finally:
        for directory in (root / "aaa", root / "ccc", closed):
            directory.chmod(0o755)
    assert f'[["{good}"], ["{closed}"]]\n' == result.stdout, result.stderr


def test_directory_that_vanishes_meanwhile(tmp_path: Path) -> None:
    """A directory that is removed during a sweep ends nothing."""
    for name in "abc":
        put(tmp_path / name / "m.jsonl")

    def wanted(path: str) -> bool:
        shutil.rmtree(tmp_path / "b", ignore_errors=True)
        return True

    found = DirectoryScanner([str(tmp_path)], wanted).sweep()  # type: ignore[arg-type]

    assert [*found] == [str(tmp_path / name / "m.jsonl") for name in "ac"]


_NAMES = st.sampled_from(["a", "b.jsonl", "c.txt", "d.jsonl", "e"])
_TREES = st.lists(st.lists(_NAMES, min_size=1, max_size=4).map(tuple), max_size=12)


@given(_TREES)
@settings(deadline=None, max_examples=60)
def test_sweep_agrees_with_a_plain_walk(
    tmp_path_factory: pytest.TempPathFactory, tree: list[tuple[str, ...]]
) -> None:
    """On any tree the sweep finds what a walk with a plain test of the ending finds."""
    root = tmp_path_factory.mktemp("tree")
    for parts in tree:
        path = root.joinpath(*parts)
        if not path.exists() and not any(p.is_file() for p in path.parents if p != root):
            put(path)
    expected = [
        os.path.join(directory, name)
        for directory, _, names in os.walk(root)
        for name in names
        if name.endswith(".jsonl")
    ]
    found = scanner(root)
    assert sorted(expected) == paths(found.sweep().values()) == paths(found.find(str(root)))


def test_quiet_files_are_looked_at_less_often_and_not_never(tmp_path: Path) -> None:
    """An old file's append is seen by some sweep of six, a fresh file's by the next."""
    old, fresh = tmp_path / "old.jsonl", tmp_path / "fresh.jsonl"
    for path in (old, fresh):
        put(path, "1")
    hours_ago = time.time() - 2 * QUIET_S
    os.utime(old, (hours_ago, hours_ago))
    looks = scanner(tmp_path)
    list(looks.sweep().values())
    for path in (old, fresh):
        put(path, "12")
    os.utime(old, (hours_ago, hours_ago))
    sizes = [{f.path: f.size for f in looks.sweep().values()} for _ in range(QUIET_SWEEPS)]

    assert [seen[str(fresh)] for seen in sizes] == [2] * QUIET_SWEEPS
    assert sizes[-1][str(old)] == 2
    assert 1 in [seen[str(old)] for seen in sizes] or sizes[0][str(old)] == 2


def test_a_quiet_file_that_is_replaced_is_seen_at_once(tmp_path: Path) -> None:
    """Another file under an old one's name is no quiet file."""
    old, new = tmp_path / "old.jsonl", tmp_path / "new.tmp"
    hours_ago = time.time() - 2 * QUIET_S
    put(old, "1")
    os.utime(old, (hours_ago, hours_ago))
    looks = scanner(tmp_path)
    list(looks.sweep().values())
    put(new, "123")
    os.replace(new, old)

    assert [found.size for found in looks.sweep().values()] == [3]


# Directories in which nothing happens.


class LaterClock:
    """The time of day, moved on: nothing on disk can be made old by itself."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def time(self) -> float:
        return time.time() + self.ahead_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> LaterClock:
    made = LaterClock()
    monkeypatch.setattr(scanner_module, "time", made)
    return made


_PLACES = st.sampled_from(["a", "a/b", "a/b/c", "d", "d/b"])
_FILES = st.sampled_from(["m.jsonl", "n.jsonl", "o.txt"])
_DEEDS = st.one_of(
    st.tuples(st.sampled_from(["write", "unlink"]), _PLACES, _FILES),
    st.tuples(st.just("rmtree"), _PLACES, st.just("")),
    st.tuples(st.just("rename"), _PLACES, _PLACES),
)
_LATER_S = st.sampled_from([0.0, CALM_S + 10.0, QUIET_S + 10.0])


def do(root: Path, deed: tuple[str, str, str]) -> list[str]:
    """Change something below *root*; returns the paths of its events."""
    what, place, name = deed
    path = root / place / name
    if what == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write("{}\n")
        # Who makes directories is told of the first of them.
        return [str(path), *(str(each) for each in path.parents if each.is_relative_to(root))]
    if what == "unlink":
        path.unlink(missing_ok=True)
        return [str(path)]
    if what == "rmtree":
        shutil.rmtree(path, ignore_errors=True)
        return [str(path)]
    target = root / name
    if not (root / place).is_dir() or target.is_relative_to(root / place) or target.exists():
        return []
    target.parent.mkdir(parents=True, exist_ok=True)
    (root / place).rename(target)
    return [str(root / place), str(target), str(target.parent)]


@given(st.lists(st.tuples(_DEEDS, _LATER_S), max_size=20))
@settings(deadline=None, max_examples=150)
def test_changes_with_an_event_are_seen_by_the_next_sweep(
    tmp_path_factory: pytest.TempPathFactory, deeds: list[tuple[tuple[str, str, str], float]]
) -> None:
    """Whatever happened, and however calm it was: all is as a first look finds it."""
    root, clock = tmp_path_factory.mktemp("tree"), LaterClock()
    looks = scanner(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scanner_module, "time", clock)
        for deed, later_s in deeds:
            clock.ahead_s += later_s
            for path in do(root, deed):
                looks.stir(path)
            assert scanner(root).sweep() == looks.sweep({str(root)})
            inodes = {os.stat(path).st_ino for path, *_ in os.walk(root)}
            assert looks.directories() == {str(root): inodes}


@given(st.lists(_DEEDS, max_size=8), st.lists(_DEEDS, max_size=8))
@settings(deadline=None, max_examples=100)
def test_changes_without_an_event_are_seen_by_some_sweep_of_twelve(
    tmp_path_factory: pytest.TempPathFactory,
    before: list[tuple[str, str, str]],
    after: list[tuple[str, str, str]],
) -> None:
    """Events that never came hide a change for two minutes, not for ever."""
    root, clock = tmp_path_factory.mktemp("tree"), LaterClock()
    looks = scanner(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scanner_module, "time", clock)
        for deed in before:
            do(root, deed)
        looks.sweep()
        clock.ahead_s = QUIET_S + 10.0
        looks.sweep({str(root)})
        for deed in after:
            do(root, deed)
        # A directory is seen to be there first, and then what is in it, at once.
        for _ in range(CALM_SWEEPS):
            found = looks.sweep({str(root)})
        assert scanner(root).sweep() == found


def test_a_calm_directory_is_looked_at_in_one_sweep_of_twelve(
    tmp_path: Path, clock: LaterClock
) -> None:
    """Without an event an append waits for its directory's turn; with one it does not."""
    files = [put(tmp_path / str(n) / "m.jsonl") for n in range(CALM_SWEEPS - 1)]
    looks, root = scanner(tmp_path), {str(tmp_path)}
    first = looks.sweep()
    clock.ahead_s = CALM_S + 10.0
    for path in files:
        put(Path(path), "longer\n")
        os.utime(path, (1.0, 1.0))
    seen = []
    for _ in range(CALM_SWEEPS):
        found = looks.sweep(root)
        seen.append(sum(found[path] is not first[path] for path in files))

    assert seen[-1] == len(files)
    assert max(b - a for a, b in itertools.pairwise([0, *seen])) == 1
    put(Path(files[0]), "even longer\n")
    looks.stir(files[0])
    assert looks.sweep(root)[files[0]].size == 12


def test_without_trust_nothing_waits(tmp_path: Path, clock: LaterClock) -> None:
    """Where events do not come, or were lost, every directory is looked at."""
    path = put(tmp_path / "a/m.jsonl")
    looks = scanner(tmp_path)
    looks.sweep({str(tmp_path)})
    clock.ahead_s = CALM_S + 10.0
    put(Path(path), "longer\n")
    assert looks.sweep()[path].size == 7


def test_a_clock_that_stands_still_hides_no_file(tmp_path: Path) -> None:
    """A file that comes within a tick of the file system's clock leaves the directory's time."""
    one = put(tmp_path / "one.jsonl")
    looks, root = scanner(tmp_path), {str(tmp_path)}
    looks.sweep(root)
    before = os.stat(tmp_path)
    two = put(tmp_path / "two.jsonl")
    os.utime(tmp_path, ns=(before.st_atime_ns, before.st_mtime_ns))
    looks.stir(two)

    assert [*looks.sweep(root)] == [one, two]


def test_a_deep_tree_may_go_at_once(tmp_path: Path, clock: LaterClock) -> None:
    """A thousand directories in each other are forgotten as one is."""
    path = tmp_path / "x"
    looks, root = scanner(tmp_path), {str(tmp_path)}
    deepest = path
    for _ in range(1100):
        deepest.mkdir()
        deepest = deepest / "d"
    looks.sweep()
    subprocess.run(["rm", "-r", path], check=True)  # Python's own is recursive.
    looks.stir(str(path))
    looks.sweep(root)

    assert looks.directories() == {str(tmp_path): {os.stat(tmp_path).st_ino}}


def test_a_directory_without_a_time_is_read(tmp_path: Path) -> None:
    """Directories out of an image that was made without times have the time 0."""
    path = put(tmp_path / "a/m.jsonl")
    for each in (tmp_path / "a", tmp_path):
        os.utime(each, (0.0, 0.0))

    looks, root = scanner(tmp_path), {str(tmp_path)}

    assert [[*looks.sweep(root)] for _ in range(2)] == [[path]] * 2
