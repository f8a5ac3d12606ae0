"""Files: is it the one we knew, and what stands in the configuration beside it."""

from __future__ import annotations

import json
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core.check import RunConfig
from tailwatch.core.cursor import Cursor, Restart, Resume, decide
from tailwatch.messages import Unreadable
from tailwatch.run_configs import CONFIG_BYTES_MAX, read_run_config
from tailwatch.shell.follower import LocalFile, LocalFollower
from tests.shell.helpers import as_nobody

HEADER = b'{"config": "the same at every start of the trainer, and longer than a marker is"}\n'


@contextmanager
def opened(path: Path, cursor: Cursor) -> Iterator[LocalFile]:
    follower = LocalFollower()
    file = follower.open(str(path), cursor)
    assert isinstance(file, LocalFile), file
    try:
        yield file
    finally:
        file.close()
        follower.close()


def decision(path: Path, cursor: Cursor) -> Resume | Restart:
    """What to do with the file as it is now."""
    with opened(path, cursor) as file:
        return decide(cursor, file.seen)


def read_all(path: Path) -> Cursor:
    """The cursor of one who has read the file to its end."""
    cursor = Cursor()
    with opened(path, cursor) as file:
        cursor.identity = file.seen.stat.identity
        cursor.advance(file.read(0, 1 << 20))
    return cursor


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A metric file with two rows and a torn third."""
    made = tmp_path / "m.jsonl"
    made.write_bytes(HEADER + b'{"loss": 2.0}\n{"loss": 1.0}\n{"lo')
    return made


TORN = 4


# The same file.


def test_unchanged_file_goes_on_where_it_was(path: Path) -> None:
    """A file that did not change is read on at its end."""
    assert Resume(path.stat().st_size) == decision(path, read_all(path))


def test_appended_file_goes_on_where_it_was(path: Path) -> None:
    """Neither does an append change where the next byte is."""
    cursor, size = read_all(path), path.stat().st_size
    with path.open("ab") as file:
        file.write(b'ss": 0.5}\n')
    assert Resume(size) == decision(path, cursor)
    with opened(path, cursor) as file:
        assert file.read(size, 1 << 20) == b'ss": 0.5}\n'


def test_renamed_file_is_the_same(path: Path) -> None:
    """What a file is does not hang on its name."""
    cursor = read_all(path)
    moved = path.rename(path.with_name("other.jsonl"))
    assert Resume(cursor.received) == decision(moved, cursor)


def test_restored_cursor_goes_on_at_its_last_whole_line(path: Path) -> None:
    """After a restart of the daemon the torn line is read again, and nothing before it."""
    cursor = Cursor.from_state(read_all(path).to_state())
    assert Resume(path.stat().st_size - TORN) == decision(path, cursor)


def test_torn_line_that_was_rewritten_is_read_again(path: Path) -> None:
    """A trainer that cuts its torn line off and writes it anew starts no new file."""
    cursor = read_all(path)
    os.truncate(path, path.stat().st_size - TORN)
    assert Resume(cursor.offset, rewind=True) == decision(path, cursor)
    with path.open("ab") as file:
        file.write(b'{"step": 9, "loss": 3.0}\n')
    assert Resume(cursor.offset, rewind=True) == decision(path, cursor)


def test_torn_line_with_another_beginning_is_read_again(path: Path) -> None:
    """Of a torn line that was written anew the end may look the same, as in a hole it does."""
    whole = path.read_bytes()[:-TORN]
    path.write_bytes(whole + b'{"loss": 1' + bytes(100))
    cursor = read_all(path)
    with path.open("r+b") as file:
        file.seek(len(whole))
        file.write(b'{"loss": 2')
    assert Resume(cursor.offset, rewind=True) == decision(path, cursor)


# Another content.


def test_truncated_file_starts_over(path: Path) -> None:
    """A file that became shorter than what was evaluated is another content."""
    cursor = read_all(path)
    os.truncate(path, 0)
    assert Restart("truncated") == decision(path, cursor)
    os.truncate(path, 10)
    assert Restart("truncated") == decision(path, cursor)


def test_truncated_and_refilled_longer_starts_over(path: Path) -> None:
    """A restarted trainer that writes the same header and then more than before is noticed."""
    cursor = read_all(path)
    path.write_bytes(HEADER + b'{"loss": 9.0}\n' * 50)
    assert path.stat().st_size > cursor.received
    assert Restart("truncated") == decision(path, cursor)


def test_replaced_with_other_content_starts_over(path: Path, tmp_path: Path) -> None:
    """A new file under the old name, with the same header and longer, is another content."""
    cursor = read_all(path)
    (tmp_path / "new").write_bytes(HEADER + b'{"loss": 9.0}\n' * 50)
    os.replace(tmp_path / "new", path)
    assert Restart("replaced") == decision(path, cursor)


def test_replaced_with_other_middle_starts_over(path: Path, tmp_path: Path) -> None:
    """A replacement that differs only far before its end is another content all the same."""
    path.write_bytes(HEADER + b'{"loss": 2.0}\n' * 1000)
    cursor = read_all(path)
    copy = bytearray(path.read_bytes())
    copy[len(HEADER) + 9] = ord("3")
    (tmp_path / "new").write_bytes(copy)
    os.replace(tmp_path / "new", path)
    assert Restart("replaced") == decision(path, cursor)


def test_replaced_with_the_same_beginning_goes_on(path: Path, tmp_path: Path) -> None:
    """A copy with all that was read and more (rsync, an editor) is read on, not counted twice."""
    cursor = read_all(path)
    (tmp_path / "new").write_bytes(path.read_bytes() + b'ss": 0.5}\n')
    os.replace(tmp_path / "new", path)
    assert Resume(cursor.offset, rewind=True) == decision(path, cursor)


def test_deleted_and_made_anew_starts_over(path: Path) -> None:
    """Even if the file system gives the new file the inode of the old one."""
    cursor = read_all(path)
    inodes = set()
    for _ in range(20):
        inodes.add(path.stat().st_ino)
        path.unlink()
        path.write_bytes(HEADER + b'{"loss": 9.0}\n' * 50)
        step = decision(path, cursor)
        assert isinstance(step, Restart)


def test_open_file_is_the_one_that_was_looked_at(path: Path, tmp_path: Path) -> None:
    """A replacement between looking and reading does not mix two files."""
    content = path.read_bytes()
    with opened(path, Cursor()) as file:
        (tmp_path / "new").write_bytes(b"x" * 1000)
        os.replace(tmp_path / "new", path)
        assert content == file.read(0, 1 << 20)


def test_read_is_bounded_and_may_be_short(path: Path) -> None:
    """A read gives at most what was asked for, less at the end, nothing behind it."""
    with opened(path, Cursor()) as file:
        assert HEADER[3:10] == file.read(3, 7)
        assert file.read(path.stat().st_size - 2, 100) == b"lo"
        assert file.read(10_000_000, 100) == b""


_WRITES = st.lists(
    st.tuples(
        st.sampled_from(["append", "truncate", "rewrite", "replace", "copy"]), st.integers(0, 9)
    ),
    min_size=1,
    max_size=6,
)


@given(_WRITES)
@settings(deadline=None, max_examples=80)
def test_resume_means_that_the_beginning_is_the_same(writes: list[tuple[str, int]]) -> None:
    """Whatever was done to a file, reading goes on only behind bytes that are still those we read."""
    with tempfile.TemporaryDirectory() as directory:
        path, other = Path(directory, "m.jsonl"), Path(directory, "new")
        path.write_bytes(HEADER + b'{"loss": 1}\n')
        cursor, known = read_all(path), path.read_bytes()
        for what, n in writes:
            content = path.read_bytes()
            new = HEADER + b'{"loss": %d}\n' % n * (n + 1)
            if what == "append":
                path.write_bytes(content + b'{"loss": %d}\n{"' % n)
            elif what == "truncate":
                os.truncate(path, len(content) * n // 9)
            elif what == "rewrite":
                path.write_bytes(new)
            else:
                other.write_bytes(new if what == "replace" else content + b'{"x": 1}\n')
                os.replace(other, path)
        step, now = decision(path, cursor), path.read_bytes()
        if isinstance(step, Resume):
            assert known[: step.offset] == now[: step.offset]
        else:
            assert known[: cursor.offset] != now[: cursor.offset]


# What is no file.


def test_gone_file_is_said_to_be_gone(tmp_path: Path, path: Path) -> None:
    """A file that is not there, or below what is no directory now, is gone."""
    for absent in (tmp_path / "absent", path / "below", tmp_path / "no" / "dir"):
        assert Unreadable("not there", gone=True) == LocalFollower().open(str(absent), Cursor())


def test_directory_is_no_file(tmp_path: Path) -> None:
    """A directory of a matching name waits by itself."""
    assert Unreadable("not a regular file") == LocalFollower().open(str(tmp_path), Cursor())


def test_fifo_does_not_hang(tmp_path: Path) -> None:
    """A FIFO that nobody writes to is refused at once."""
    os.mkfifo(tmp_path / "m.jsonl")
    began_s = time.monotonic()
    assert Unreadable("not a regular file") == LocalFollower().open(
        str(tmp_path / "m.jsonl"), Cursor()
    )
    assert time.monotonic() - began_s < 1.0


def test_socket_is_not_opened(tmp_path: Path) -> None:
    """A socket is refused with the system's reason."""
    os.mknod(tmp_path / "m.jsonl", stat.S_IFSOCK | 0o600)
    answer = LocalFollower().open(str(tmp_path / "m.jsonl"), Cursor())
    assert isinstance(answer, Unreadable)
    assert not answer.gone


def test_loop_of_links_is_unreadable_and_not_gone(tmp_path: Path) -> None:
    """A link to itself is an error with a reason."""
    (tmp_path / "m.jsonl").symlink_to("m.jsonl")
    answer = LocalFollower().open(str(tmp_path / "m.jsonl"), Cursor())
    assert Unreadable("Too many levels of symbolic links") == answer


@pytest.mark.parametrize("swapped", ["m.jsonl", "exp"], ids=["the file", "its directory"])
def test_a_link_out_of_the_roots_is_not_followed(tmp_path: Path, swapped: str) -> None:
    """A file that was found, and that a link has taken the place of since, leads to nothing."""
    root, outside = tmp_path / "runs", tmp_path / "outside"
    path = root / "exp" / "m.jsonl"
    for directory in (path.parent, outside / "exp"):
        directory.mkdir(parents=True)
        (directory / "m.jsonl").write_text(f'{{"in": "{directory}"}}\n')
    follower = LocalFollower(roots=[str(root)])
    assert not isinstance(follower.open(str(path), Cursor()), Unreadable)
    place = path if swapped == "m.jsonl" else path.parent
    place.rename(place.with_name("away"))
    place.symlink_to(outside / "exp" / (swapped if swapped == "m.jsonl" else ""))
    answer = follower.open(str(path), Cursor())
    follower.close()

    assert isinstance(answer, Unreadable)
    assert answer.reason == "a symbolic link leads out of the watched directories"
    assert not answer.gone


@pytest.mark.parametrize("asked", ["a link among the roots", "a root is a link", "within a root"])
def test_a_link_that_was_asked_for_is_followed(tmp_path: Path, asked: str) -> None:
    """A named file and a root may be links, and a link within the roots leads to what is watched."""
    real = tmp_path / "real" / "m.jsonl"
    real.parent.mkdir()
    real.write_text("{}\n")
    link = tmp_path / "link.jsonl"
    if asked == "a link among the roots":
        link.symlink_to(real)
        roots, path = [str(link)], link
    elif asked == "a root is a link":
        (tmp_path / "root").symlink_to(real.parent)
        roots, path = [str(tmp_path / "root")], tmp_path / "root" / "m.jsonl"
    else:
        path = real.with_name("other.jsonl")
        path.symlink_to(real)
        roots = [str(real.parent)]
    follower = LocalFollower(roots=roots)
    opened = follower.open(str(path), Cursor())
    follower.close()

    assert not isinstance(opened, Unreadable)


def test_permission_denied_is_a_reason(public_path: Path) -> None:
    """A file that we may not read is unreadable, with the reason, and is not gone."""
    path = public_path / "m.jsonl"
    path.write_bytes(HEADER)
    path.chmod(0o000)
    code = """
import sys
from tailwatch.core.cursor import Cursor
from tailwatch.shell.follower import LocalFollower
print(LocalFollower().open(sys.argv[1], Cursor()))
"""
    result = as_nobody(code, str(path))
    assert (
        result.stdout == "Unreadable(reason='Permission denied', gone=False, unfinished=False)\n"
    ), result.stderr


def test_no_descriptor_is_left_open(path: Path, tmp_path: Path) -> None:
    """Looking at files, good and bad, leaves nothing open."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "config.yaml").write_text("{")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        decision(path, Cursor())
        follower = LocalFollower()
        follower.open(str(path), Cursor())
        follower.open(str(tmp_path / "fifo"), Cursor())
        follower.open(str(tmp_path), Cursor())
        follower.run_config(str(path))
        follower.close()
    assert before == len(os.listdir("/proc/self/fd"))


# The configuration.


def test_json_configuration_is_read(tmp_path: Path) -> None:
    """The learning rate beside the metric file is found, with the file that it came from."""
    source = tmp_path / "config.json"
    source.write_text(json.dumps({"training": {"learning_rate": 2e-4}}))
    assert RunConfig(2e-4, str(source)) == LocalFollower().run_config(str(tmp_path / "m.jsonl"))


@pytest.mark.parametrize("name", ["config.yaml", "config.yml"])
def test_yaml_configuration_is_read(tmp_path: Path, name: str) -> None:
    """YAML's own trap, a rate that is written 2e-4 and read as text, is a number here."""
    source = tmp_path / name
    source.write_text("training:\n  lr: 2e-4\n")
    assert RunConfig(2e-4, str(source)) == LocalFollower().run_config(str(tmp_path / "m.jsonl"))


def test_first_readable_configuration_wins(tmp_path: Path) -> None:
    """A broken config.json does not hide a good config.yaml, and wins over it once mended."""
    (tmp_path / "config.yaml").write_text("lr: 0.1")
    (tmp_path / "config.json").write_text('{"lr": 0.2')
    metric = str(tmp_path / "m.jsonl")
    assert RunConfig(0.1, str(tmp_path / "config.yaml")) == LocalFollower().run_config(metric)
    (tmp_path / "config.json").write_text('{"lr": 0.2}')
    assert RunConfig(0.2, str(tmp_path / "config.json")) == LocalFollower().run_config(metric)


def test_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    """A file from an editor on Windows is read like any other."""
    (tmp_path / "config.json").write_bytes(b'\xef\xbb\xbf{"lr": 0.5}')
    config = LocalFollower().run_config(str(tmp_path / "m.jsonl"))
    assert config is not None
    assert config.learning_rate == 0.5


def test_no_configuration_is_none(tmp_path: Path) -> None:
    """A run without a configuration has none."""
    assert None is LocalFollower().run_config(str(tmp_path / "m.jsonl"))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"\xff\xfe\x00",
        b"[1, 2]",
        b"just text",
        b"a: [1",
        b"!!python/object/apply:os.system [true]",
        b"a: !!int ''",
        b"a: !!float ''",
        b"a: !!bool maybe",
        b"a: !!timestamp soon",
        b"a: 2024-99-99",
        b"? {a: 1}\n: 2",
        b"? [a]\n: 2",
        b"[" * 200_000,
        b"- " * 100_000,
        b"{a: " * 50_000,
        b"a: &a [*a]\n" * 3 + b"b: *zzz",
        b"x: " + b"9" * 5_000,
    ],
)
@pytest.mark.parametrize("name", ["config.json", "config.yaml"])
def test_broken_configuration_is_none(tmp_path: Path, name: str, text: bytes) -> None:
    """Whatever stands in the file, reading it ends, and raises nothing."""
    (tmp_path / name).write_bytes(text)
    config = read_run_config(str(tmp_path / name))
    assert config is None or config.learning_rate is None


@given(st.binary(max_size=200) | st.text("a1:-[]{}&*!<>|?\n \"'#%@`", max_size=60).map(str.encode))
@settings(deadline=None, max_examples=300)
def test_any_bytes_are_a_configuration_or_none(text: bytes) -> None:
    """No content of a configuration can hurt the engine."""
    with tempfile.TemporaryDirectory() as directory:
        for name in ("config.json", "config.yaml"):
            path = Path(directory, name)
            path.write_bytes(text)
            assert isinstance(read_run_config(str(path)), RunConfig | None)


def test_no_memory_for_a_configuration_is_not_no_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the checks say must not depend on how much memory there was."""

    def no_memory(text: str) -> None:
        raise MemoryError

    (tmp_path / "config.json").write_text('{"lr": 1}')
    monkeypatch.setattr(json, "loads", no_memory)
    with pytest.raises(MemoryError):
        read_run_config(str(tmp_path / "config.json"))


def test_huge_configuration_is_not_read(tmp_path: Path) -> None:
    """A file larger than any configuration is left alone; one at the limit is read."""
    path = tmp_path / "config.json"
    text = b'{"lr": 0.5}'
    path.write_bytes(text + b" " * (CONFIG_BYTES_MAX - len(text)))
    assert RunConfig(0.5, str(path)) == read_run_config(str(path))
    path.write_bytes(text + b" " * (CONFIG_BYTES_MAX - len(text) + 1))
    assert None is read_run_config(str(path))


def test_fifo_is_no_configuration(tmp_path: Path) -> None:
    """A FIFO in the place of the configuration hangs nobody."""
    os.mkfifo(tmp_path / "config.json")
    (tmp_path / "config.yaml").mkdir()
    began_s = time.monotonic()
    assert None is LocalFollower().run_config(str(tmp_path / "m.jsonl"))
    assert time.monotonic() - began_s < 1.0
