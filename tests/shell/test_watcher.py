"""watchdog's hints from real inotify, and what remains when there is none."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tailwatch.shell.watcher import DirectoryWatcher, _Canary
from tests.shell.helpers import child_environment, run_python, wait_until


class Hints:
    """Remembers what the watcher said."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.sweeps = 0

    def hint(self, path: str) -> None:
        self.paths.add(path)

    def sweep(self) -> None:
        self.sweeps += 1


@pytest.fixture
def hints() -> Hints:
    return Hints()


@pytest.fixture
def watch(hints: Hints) -> Iterator[Callable[..., DirectoryWatcher]]:
    """Makes watchers of roots, and ends them."""
    made: list[DirectoryWatcher] = []

    def make(*roots: Path) -> DirectoryWatcher:
        made.append(DirectoryWatcher([str(root) for root in roots], hints))
        return made[-1]

    yield make
    for each in made:
        each.close()


def comes(hints: Hints, path: Path, do: Callable[[], object]) -> None:
    """Do something to *path*, and wait for its hint."""
    hints.paths.clear()
    do()
    wait_until(lambda: str(path) in hints.paths, f"a hint of {path}")


def append(path: Path) -> None:
    with path.open("a") as file:
        file.write("{}\n")


# Hints.


def test_everything_that_matters_becomes_a_hint(
    tmp_path: Path, hints: Hints, watch: Callable[..., DirectoryWatcher]
) -> None:
    """Making, appending, moving in, replacing and deleting a file each give a hint of its path."""
    root, file = tmp_path / "root", tmp_path / "root/m.jsonl"
    root.mkdir()
    assert {str(root): "events"} == watch(root).tend(set())
    comes(hints, file, lambda: append(file))
    comes(hints, file, lambda: append(file))
    append(tmp_path / "outside")
    comes(hints, file, lambda: os.replace(tmp_path / "outside", file))
    comes(hints, root / "moved", lambda: os.replace(file, root / "moved"))
    comes(hints, root / "moved", lambda: os.truncate(root / "moved", 0))
    comes(hints, root / "moved", lambda: (root / "moved").unlink())


def test_file_in_a_new_directory_becomes_a_hint(
    tmp_path: Path, hints: Hints, watch: Callable[..., DirectoryWatcher]
) -> None:
    """A run directory that is made with its file in it is hinted at, and so are its appends."""
    watch(tmp_path).tend(set())
    file = tmp_path / "new/deep/m.jsonl"

    def make() -> None:
        file.parent.mkdir(parents=True)
        append(file)

    hints.paths.clear()
    make()
    # Either the file itself or a directory above it: a hint of it is a search below it.
    above = {str(file), str(file.parent), str(file.parent.parent)}
    wait_until(lambda: hints.paths & above, "a hint of the new directory")
    wait_until(lambda: _appended(hints, file), "a hint of an append below it")


def _appended(hints: Hints, file: Path) -> bool:
    append(file)
    return str(file) in hints.paths


def test_directory_that_is_moved_in_becomes_a_hint(
    tmp_path: Path, hints: Hints, watch: Callable[..., DirectoryWatcher]
) -> None:
    """A directory that comes whole is hinted at by its own name."""
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside").mkdir()
    append(tmp_path / "outside/m.jsonl")
    watch(root).tend(set())
    comes(hints, root / "in", lambda: os.replace(tmp_path / "outside", root / "in"))


def test_reading_is_no_hint(
    tmp_path: Path, hints: Hints, watch: Callable[..., DirectoryWatcher]
) -> None:
    """Our own reads do not wake us, or the engine would turn for ever."""
    file = tmp_path / "m.jsonl"
    append(file)
    watch(tmp_path).tend(set())
    hints.paths.clear()
    for _ in range(20):
        file.read_text()
        list(tmp_path.iterdir())
    # Events come in order: once this one is here, those of the reads would be.
    comes(hints, tmp_path / "last", lambda: append(tmp_path / "last"))
    assert {str(tmp_path / "last")} == {p for p in hints.paths if p != str(tmp_path)}


def test_undecodable_name_becomes_a_hint(
    tmp_path: Path, hints: Hints, watch: Callable[..., DirectoryWatcher]
) -> None:
    """A name that is no UTF-8 is hinted at by a path that opens the file."""
    watch(tmp_path).tend(set())
    path = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xff.jsonl")
    comes(hints, Path(path), lambda: append(Path(path)))


def test_named_file_is_watched_by_its_directory(
    tmp_path: Path, hints: Hints, watch: Callable[..., DirectoryWatcher]
) -> None:
    """A root that is a file gives hints, before it exists and after it was replaced."""
    file = tmp_path / "m.jsonl"
    watcher = watch(file)
    assert {str(file): "events"} == watcher.tend(set())
    comes(hints, file, lambda: append(file))
    append(tmp_path / "new")
    comes(hints, file, lambda: os.replace(tmp_path / "new", file))
    assert {str(file): "events"} == watcher.tend(set())
    comes(hints, file, lambda: append(file))


def test_roots_that_share_a_directory_all_give_hints(
    tmp_path: Path, hints: Hints, watch: Callable[..., DirectoryWatcher]
) -> None:
    """Two named files of one directory, and the directory itself, do not take each other's hints."""
    one, two = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    watcher = watch(one, two, tmp_path)
    assert {"events"} == set(watcher.tend(set()).values())
    comes(hints, one, lambda: append(one))
    comes(hints, two, lambda: append(two))
    comes(hints, tmp_path / "3", lambda: append(tmp_path / "3"))


# Roots come and go.


def test_new_watch_asks_for_a_sweep(
    tmp_path: Path, hints: Hints, watch: Callable[..., DirectoryWatcher]
) -> None:
    """What came before the watch stood made no event: each new watch asks for one sweep."""
    watcher = watch(tmp_path)
    watcher.tend(set())
    assert hints.sweeps == 1
    watcher.tend(set())
    assert hints.sweeps == 1


def test_missing_root_is_said(
    tmp_path: Path, hints: Hints, watch: Callable[..., DirectoryWatcher]
) -> None:
    """A root that the scanner misses is missing; when it comes it is watched."""
    root = tmp_path / "root"
    watcher = watch(root, tmp_path)
    assert {str(root): "missing", str(tmp_path): "events"} == watcher.tend({str(root)})
    root.mkdir()
    assert {str(root): "events", str(tmp_path): "events"} == watcher.tend(set())
    comes(hints, root / "m", lambda: append(root / "m"))


def test_root_that_was_made_anew_gives_hints_again(
    tmp_path: Path, hints: Hints, watch: Callable[..., DirectoryWatcher]
) -> None:
    """A root that is deleted and made again, several times, is watched again after `tend`."""
    root = tmp_path / "root"
    root.mkdir()
    watcher = watch(root)
    watcher.tend(set())
    for n in range(3):
        shutil.rmtree(root)
        root.mkdir()
        file, sweeps = root / f"{n}", hints.sweeps
        # As at every sweep: watchdog may not have noticed yet that its watch is dead.
        wait_until(
            lambda: {str(root): "events"} == watcher.tend(set()) and _appended(hints, file),  # noqa: B023
            "events again",
        )
        assert hints.sweeps > sweeps


def test_root_that_was_swapped_gives_hints_of_the_new_one(
    tmp_path: Path, hints: Hints, watch: Callable[..., DirectoryWatcher]
) -> None:
    """A root that was renamed away makes no event at all; its successor is watched all the same."""
    root = tmp_path / "root"
    root.mkdir()
    watcher = watch(root)
    watcher.tend(set())
    root.rename(tmp_path / "old")
    root.mkdir()
    assert {str(root): "events"} == watcher.tend(set())
    comes(hints, root / "m", lambda: append(root / "m"))


def test_dead_observer_is_replaced(
    tmp_path: Path, hints: Hints, watch: Callable[..., DirectoryWatcher]
) -> None:
    """If watchdog's thread has died, the next `tend` starts another."""
    watcher = watch(tmp_path)
    watcher.tend(set())
    assert watcher._observer is not None
    watcher._observer.stop()
    watcher._observer.join(timeout=10)
    assert {str(tmp_path): "events"} == watcher.tend(set())
    comes(hints, tmp_path / "m", lambda: append(tmp_path / "m"))


def test_close_ends_every_thread(tmp_path: Path, hints: Hints) -> None:
    """After close no thread, descriptor or log handler of ours is left."""
    threads = threading.active_count()
    library = logging.getLogger("watchdog.observers.inotify_c")
    handlers, descriptors = list(library.handlers), len(os.listdir("/proc/self/fd"))
    watcher = DirectoryWatcher([str(tmp_path)], hints)
    watcher.tend(set())
    watcher.close()
    wait_until(lambda: threading.active_count() <= threads, "threads to end")
    wait_until(lambda: len(os.listdir("/proc/self/fd")) <= descriptors, "descriptors to close")
    assert handlers == library.handlers
    watcher.close()


# Without events.

_WITHOUT = """
import json, sys
from tailwatch.shell.watcher import DirectoryWatcher
class Hints:
    def hint(self, path): pass
    def sweep(self): pass
watcher = DirectoryWatcher(sys.argv[1:], Hints())
print(json.dumps([dict(watcher.tend(set())) for _ in range(2)]))
watcher.close()
"""


def test_no_inotify_instance_means_sweep(tmp_path: Path) -> None:
    """Where the system gives no inotify instance, the mode says that only the sweep works."""
    limit = (
        "import os, resource; descriptors = len(os.listdir('/proc/self/fd')) - 1;"
        "import json, sys, watchdog.observers, tailwatch.shell.watcher;"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))"
    )
    result = run_python(f"{limit}\n{_WITHOUT}", str(tmp_path))
    assert [{str(tmp_path): "sweep"}] * 2 == json.loads(result.stdout or "null"), result.stderr


def _in_a_namespace(knob: str, value: int, root: Path, code: str = _WITHOUT) -> object:
    """What *code* says where a limit of inotify's is set for it alone."""
    if subprocess.run(["unshare", "-Ur", "true"], capture_output=True, check=False).returncode:
        message = "no user namespace may be made here"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    script = 'echo "$1" > "/proc/sys/user/$2" && shift 2 && exec "$@"'
    python = [sys.executable, "-c", code, str(root)]
    result = subprocess.run(
        ["unshare", "-Ur", "sh", "-c", script, "sh", str(value), knob, *python],
        cwd="/",
        env=child_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_limit_of_instances_means_sweep(tmp_path: Path) -> None:
    """With inotify's own limit of instances used up, the daemon goes on with the sweep."""
    modes = _in_a_namespace("max_inotify_instances", 0, tmp_path)
    assert [{str(tmp_path): "sweep"}] * 2 == modes


def test_limit_of_watches_means_sweep(tmp_path: Path) -> None:
    """With no watch left for a root, that root is swept."""
    modes = _in_a_namespace("max_inotify_watches", 0, tmp_path)
    assert [{str(tmp_path): "sweep"}] * 2 == modes


_AGAIN = """
import json, os, sys, threading
from tailwatch.shell.watcher import DirectoryWatcher
class Hints:
    def hint(self, path): pass
    def sweep(self): pass
watcher = DirectoryWatcher(sys.argv[1:], Hints(), own=sys.argv[1] + "/own")
held = []
for _ in range(6):
    watcher.tend(set())
    held.append([threading.active_count(), len(os.listdir("/proc/self/fd"))])
watcher.close()
print(json.dumps(held))
"""


def test_trying_again_for_a_watch_leaves_nothing(tmp_path: Path) -> None:
    """While not even our own file can be watched, no try leaves a thread or a descriptor."""
    held = _in_a_namespace("max_inotify_watches", 0, tmp_path, _AGAIN)
    assert held == [[1, 4]] * 6


def test_touching_our_own_file_is_one_event(
    tmp_path: Path, hints: Hints, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each sweep's touch is heard, as one event: each is some wake-ups of three threads."""
    heard = []
    monkeypatch.setattr(_Canary, "dispatch", lambda self, event: heard.append(event))
    (tmp_path / "root").mkdir()
    own = tmp_path / "state" / "watch"
    watcher = DirectoryWatcher([str(tmp_path / "root")], hints, own=str(own))
    try:
        for count in (1, 2, 3):
            watcher.tend(set())
            wait_until(lambda count=count: len(heard) >= count, "our own file to be heard")
        assert [str(own / "canary")] * 3 == [event.src_path for event in heard]
    finally:
        watcher.close()


# Lost events.


def test_overflow_asks_for_a_sweep_and_is_counted(
    tmp_path: Path, hints: Hints, watch: Callable[..., DirectoryWatcher]
) -> None:
    """watchdog's word on an overflow, which is only a log line, becomes a sweep and a count."""
    watcher = watch(tmp_path)
    watcher.tend(set())
    sweeps = hints.sweeps
    library = logging.getLogger("watchdog.observers.inotify_c")
    library.warning("Inotify queue overflow! Some events were lost")
    library.warning("something else")
    assert (sweeps + 1, 1) == (hints.sweeps, watcher.overflows())


_OVERFLOW = """
import os, signal, subprocess, sys, time
from tailwatch.shell.watcher import DirectoryWatcher
class Hints:
    sweeps = 0
    def hint(self, path): pass
    def sweep(self): self.sweeps += 1
root, hints = sys.argv[1], Hints()
watcher = DirectoryWatcher([root], hints)
watcher.tend(set())
before = hints.sweeps
writer = subprocess.Popen([sys.executable, "-c", sys.argv[2], root, str(os.getpid())])
os.kill(os.getpid(), signal.SIGSTOP)
end = time.monotonic() + 20
while watcher.overflows() == 0 and time.monotonic() < end:
    time.sleep(0.01)
print(watcher.overflows() > 0, hints.sweeps > before)
watcher.close()
writer.wait()
"""
_WRITER = """
import os, signal, sys, time
root, watcher = sys.argv[1], int(sys.argv[2])
while open(f"/proc/{watcher}/stat").read().rpartition(")")[2].split()[0] != "T":
    time.sleep(0.01)
limit = int(open("/proc/sys/fs/inotify/max_queued_events").read())
files = [os.open(f"{root}/{n}", os.O_CREAT | os.O_WRONLY) for n in range(2)]
for n in range(limit + 1000):  # Events of two files in turn, which are not merged.
    os.write(files[n % 2], b"x")
os.kill(watcher, signal.SIGCONT)
"""


def test_real_overflow_is_noticed(tmp_path: Path) -> None:
    """When the kernel's queue really overflows, it is counted and a sweep is asked for."""
    result = run_python(_OVERFLOW, str(tmp_path), _WRITER)
    assert result.stdout == "True True\n", result.stderr
