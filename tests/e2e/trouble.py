"""Trouble for the end-to-end tests: daemons with limits or faults, and what a process uses."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.deploy.tools import debian_tool

from .daemon import Daemon, command, row, wait_for, write

SECOND_SWEEPS = 2
"""A sweep that runs already may be past a place; the next one is not."""


@contextlib.contextmanager
def troubled(
    directory: Path, *args: str, command: list[str], url: str | None = None, **env: str
) -> Iterator[Daemon]:
    """A daemon that *command*, up to the options of `run`, starts; gone afterwards."""
    made = Daemon(directory, *args, url=url, **env)
    made.command = [*command, *made.args]
    try:
        yield made.start()
    finally:
        if made.process is not None and made.process.poll() is None:
            made.kill()


# Limits.


def unshared(*flags: str, first: str) -> list[str]:
    """The daemon as root of its own user namespace, where *first*, a shell command, was run."""
    unshare = debian_tool("unshare", "util-linux")
    return [unshare, *flags, "sh", "-ec", f'{first}\nexec "$@"', "sh", *command("run")]


def limited(**limits: int) -> list[str]:
    """The daemon with other limits of /proc/sys/user than the host has."""
    first = "\n".join(f"echo {value} > /proc/sys/user/{name}" for name, value in limits.items())
    return unshared("-Ur", first=first)


# Faults: each is code that runs in the daemon's process before the daemon does.


def with_fault(code: str, *args: str | Path) -> list[str]:
    """The daemon behind *code*, which finds *args* in `given`."""
    main = f"""
import sys
given = sys.argv[1:{len(args) + 1}]
del sys.argv[1:{len(args) + 1}]
{code}
from tailwatch.cli import main
main(sys.argv[1:], prog_name="tailwatch")
"""
    return [sys.executable, "-c", main, *map(str, args), "run"]


SILENT_INOTIFY = """
# Every watch is accepted, and no event ever comes.
from watchdog.observers.inotify_c import InotifyFD
InotifyFD.handle_event = lambda self, event: None
"""

MORTAL_THREADS = """
# The thread of watchdog that comes upon a file name with "poison-" and its own name dies.
import threading
from watchdog.observers import api, inotify, inotify_c
threading.excepthook = lambda args: None

def mortal(owner, method, poison):
    original, doses = getattr(owner, method), [poison]
    def method_of_a_mortal(self, *args, **kwargs):
        got = original(self, *args, **kwargs)
        if doses and doses[0] in repr((args, got)):
            raise RuntimeError(doses.pop())
        return got
    setattr(owner, method, method_of_a_mortal)

mortal(inotify_c.InotifyFD, "handle_event", "poison-reader")
mortal(inotify.InotifyEmitter, "build_and_queue_event", "poison-emitter")
mortal(api.EventQueue, "get", "poison-dispatcher")
"""

NETWORK_FILES = """
# Files as a network file system shows them. `given[0]` is a directory; of the file `m.jsonl`
# there, `size` is what the client takes for its size, and `errno` is what reading it gives.
import os
from functools import partial
import tailwatch.app
from tailwatch.shell.follower import LocalFollower

tailwatch.app.LocalFollower = lambda *args, **kwargs: LocalFollower(remote=lambda path: True)

class Seen:
    def __init__(self, real, size):
        self._real, self.st_size = real, size
    def __getattr__(self, name):
        return getattr(self._real, name)

def said(name, inode):
    try:
        text = open(os.path.join(given[0], name)).read().split()
    except OSError:
        return None
    return int(text[1]) if text and int(text[0]) == inode else None

def shown(real):
    size = said("size", real.st_ino)
    return real if size is None else Seen(real, min(size, real.st_size))

real_stat, real_fstat, real_pread = os.stat, os.fstat, os.pread

def pread(descriptor, count, offset):
    real = real_fstat(descriptor)
    if (number := said("errno", real.st_ino)) is not None:
        raise OSError(number, os.strerror(number))
    end = shown(real).st_size
    return real_pread(descriptor, max(0, min(count, end - offset)), offset)

os.stat = lambda *args, **kwargs: shown(real_stat(*args, **kwargs))
os.fstat = lambda descriptor: shown(real_fstat(descriptor))
os.pread = pread
"""


class NetworkFiles:
    """What `NETWORK_FILES` shows of one file, under control of a test."""

    def __init__(self, directory: Path, path: Path) -> None:
        self.directory, self._path = directory, path
        directory.mkdir()

    def say(self, name: str, value: int | None) -> None:
        """From now on the file's *name* (size, errno) is *value*; None: what it really is."""
        if value is None:
            (self.directory / name).unlink()
            return
        new = self.directory / "new"
        new.write_text(f"{self._path.stat().st_ino} {value}")
        new.replace(self.directory / name)


# What the daemon says.


def rows(tw: Daemon) -> dict[str, float]:
    """Run -> rows evaluated."""
    start, end = 'tailwatch_run_rows_total{run="', '"}'
    metrics = tw.metrics().items()
    return {k[len(start) : -len(end)]: v for k, v in metrics if k.startswith(start)}


def wait_for_rows(
    tw: Daemon, expected: dict[str, int], limit_s: float = 15.0, every_s: float = 0.01
) -> None:
    """Wait until just these runs have just so many rows; look *every_s*, which costs processor."""

    def there() -> bool:
        if rows(tw) == expected:
            return True
        time.sleep(every_s)
        return False

    wait_for(there, limit_s, _Difference(tw, expected))


class _Difference:
    """Said lazily: what differs is only known when the waiting has ended."""

    def __init__(self, tw: Daemon, expected: dict[str, int]) -> None:
        self._tw, self._expected = tw, expected

    def __str__(self) -> str:
        got = rows(self._tw)
        names = sorted({*got, *self._expected})
        pairs = {n: (got.get(n), self._expected.get(n)) for n in names}
        wrong = {n: pair for n, pair in pairs.items() if pair[0] != pair[1]}
        return f"run: (rows, rows expected) = {dict(list(wrong.items())[:8])} of {len(wrong)}"


def counted(tw: Daemon, name: str, **labels: str) -> float:
    """A counter that must be there."""
    value = tw.metric(name, **labels)
    assert value is not None, f"no {name} {labels}"
    return value


def status(tw: Daemon, field: str) -> int:
    """A number of /proc/PID/status: KiB, or threads."""
    assert tw.process is not None
    text = Path(f"/proc/{tw.process.pid}/status").read_text()
    return int(text.split(f"{field}:")[1].split()[0])


def mode(tw: Daemon, root: Path | None = None) -> str | None:
    """How *root*, or the daemon's own root, is watched."""
    for each in ("events", "sweep", "missing"):
        if tw.metric("tailwatch_watch_mode", root=str(root or tw.runs), mode=each) == 1:
            return each
    return None


def let_sweep(tw: Daemon, times: int = SECOND_SWEEPS) -> None:
    """Wait until everything was looked at again: what was going to come has come."""
    name = "tailwatch_sweep_duration_seconds_count"
    before = counted(tw, name)
    # The count is published at the end of the sweep's turn, after its rows were kept.
    wait_for(lambda: (tw.metric(name) or 0) >= before + times, message=f"{times} sweeps")


def come_by_events(tw: Daemon, path: Path, steps: Iterator[int], within_s: float = 0.6) -> bool:
    """Append a row; whether it was read sooner than by a sweep, which must be rarer than that."""
    run = str(path.relative_to(tw.runs).with_suffix(""))
    before = rows(tw).get(run, 0)
    began = time.monotonic()
    write(path, row(next(steps), 2.0))
    wait_for(lambda: rows(tw).get(run, 0) > before, message=f"one more row of {run}")
    return time.monotonic() - began < within_s


# What a process uses.


def memory_bytes(tw: Daemon, what: str = "VmRSS") -> int:
    """Resident memory now (VmRSS) or at its highest (VmHWM)."""
    text = _proc(tw, "status").read_text()
    line = next(line for line in text.splitlines() if line.startswith(f"{what}:"))
    return int(line.split()[1]) * 1024


def cpu_s(tw: Daemon) -> float:
    """Processor seconds so far, of all threads."""
    fields = _proc(tw, "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def deleted_open(tw: Daemon, below: Path) -> list[str]:
    """Deleted files below a directory that the daemon still holds open."""
    found = []
    for each in _proc(tw, "fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(each))
    return [name for name in found if name.startswith(str(below)) and name.endswith("(deleted)")]


def _proc(tw: Daemon, name: str) -> Path:
    assert tw.process is not None
    return Path(f"/proc/{tw.process.pid}/{name}")


# What is done to files.


def flood(directory: Path, times: float = 1.5) -> None:
    """Make more events than the kernel keeps for one who does not read them."""
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    # Two events for each file: it is made, and it is written. A new directory would give one.
    for number in range(int(limit * times / 2)):
        flags = os.O_WRONLY | os.O_CREAT
        descriptor = os.open(f"{directory}/shard-{number}.bin", flags, 0o644)
        os.write(descriptor, b"x")
        os.close(descriptor)


def make_again(path: Path, text: str, cycles: int) -> None:
    """Delete *path* and write another, until the new one has the inode of the old one."""
    inode = path.stat().st_ino
    for cycle in range(cycles + 100):
        path.unlink()
        path.write_text(text)
        # Some file systems never use an inode again: nothing can be confused there.
        if cycle + 1 >= cycles and path.stat().st_ino == inode:
            break
