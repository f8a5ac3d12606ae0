"""What the system may refuse: watches, events, descriptors, disk, time. No row is lost by it."""

from __future__ import annotations

import math
import os
import resource
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .daemon import Daemon, command, daemon, environment, receiver, row, wait_for, write
from .trouble import (
    counted,
    flood,
    let_sweep,
    limited,
    mode,
    rows,
    troubled,
    unshared,
    wait_for_rows,
)

NAN = math.nan
OFTEN = ("--sweep-interval", "0.5")


def many(first: int, number: int) -> str:
    """So many rows, from a step on."""
    return "".join(row(step, 2.0) for step in range(first, first + number))


def trees(root: Path, number: int) -> dict[str, Path]:
    """Run -> its file, each in a directory of its own."""
    return {f"d{each:03}/m": root / f"d{each:03}" / "m.jsonl" for each in range(number)}


def nan_findings(tw: Daemon, run: str) -> float:
    return counted(tw, "anomaly_findings_total", run=run, category="nan_loss")


# Events.


def test_too_few_watches(tmp_path: Path) -> None:
    """With 10 watches for 300 directories every row is read, and the mode says sweep."""
    files = trees(tmp_path / "runs", 300)
    for path in files.values():
        write(path, many(0, 2))
    with (
        receiver() as hook,
        troubled(tmp_path, command=limited(max_inotify_watches=10), url=hook.url) as tw,
    ):
        wait_for_rows(tw, dict.fromkeys(files, 2))
        wait_for(lambda: mode(tw) == "sweep", 5, "the mode is sweep")
        for path in files.values():
            write(path, many(2, 2))
        write(tw.runs / "new" / "m.jsonl", row(0, NAN))

        wait_for_rows(tw, {**dict.fromkeys(files, 4), "new/m": 1})
        wait_for(lambda: hook.posts)
        let_sweep(tw)
        assert mode(tw) == "sweep"
        assert [f["run"] for f in hook.findings()] == ["new/m"]
        assert counted(tw, "tailwatch_watch_overflows_total") == 0


def test_watches_that_run_out_later(tmp_path: Path) -> None:
    """A tree that outgrows the watches while it is watched goes on by sweep, and says so."""
    few = limited(max_inotify_watches=10)
    with troubled(tmp_path, *OFTEN, command=few) as tw:
        write(tw.runs / "first" / "m.jsonl", many(0, 2))
        wait_for_rows(tw, {"first/m": 2})
        assert mode(tw) == "events"
        files = trees(tw.runs, 60)
        for path in files.values():
            write(path, many(0, 2))
        wait_for_rows(tw, {**dict.fromkeys(files, 2), "first/m": 2})
        for path in files.values():
            write(path, many(2, 2))

        wait_for_rows(tw, {**dict.fromkeys(files, 4), "first/m": 2})
        wait_for(lambda: mode(tw) == "sweep", 5, "the mode is sweep")


def test_no_events_at_all(tmp_path: Path) -> None:
    """Without an inotify instance every row is read by the sweep, and the mode says so."""
    with (
        receiver() as hook,
        troubled(tmp_path, *OFTEN, command=limited(max_inotify_instances=0), url=hook.url) as tw,
    ):
        path = tw.runs / "a" / "m.jsonl"
        for step in range(4):
            write(path, row(step, 2.0))
            wait_for_rows(tw, {"a/m": step + 1})
        path.rename(path.with_name("m.jsonl.1"))
        write(path, row(4, NAN))
        wait_for_rows(tw, {"a/m": 5})
        path.write_text(many(5, 3))

        wait_for_rows(tw, {"a/m": 8})
        wait_for(lambda: hook.posts)
        assert mode(tw) == "sweep"
        assert [f["run"] for f in hook.findings()] == ["a/m"]


def test_overflowed_queue(tmp_path: Path) -> None:
    """20,000 files that are made while the daemon is stopped cost no row, and are counted once."""
    files = trees(tmp_path / "runs", 40)
    with receiver() as hook, daemon(tmp_path, url=hook.url) as tw:
        for path in files.values():
            write(path, many(0, 2))
        wait_for_rows(tw, dict.fromkeys(files, 2))
        tw.signal(signal.SIGSTOP)
        flood(tw.runs, times=2.5)
        for path in files.values():
            write(path, many(2, 2))
        write(tw.runs / "new" / "deep" / "m.jsonl", row(0, NAN))
        tw.signal(signal.SIGCONT)

        wait_for_rows(tw, {**dict.fromkeys(files, 4), "new/deep/m": 1})
        wait_for(lambda: hook.posts)
        wait_for(lambda: tw.metric("tailwatch_watch_overflows_total") == 1)
        write(tw.runs / "new" / "deep" / "m.jsonl", row(1, 2.0))
        wait_for_rows(tw, {**dict.fromkeys(files, 4), "new/deep/m": 2})
        let_sweep(tw)
        assert mode(tw) == "events"
        assert counted(tw, "tailwatch_watch_overflows_total") == 1
        assert [f["run"] for f in hook.findings()] == ["new/deep/m"]


# Descriptors.


def test_out_of_descriptors(tmp_path: Path) -> None:
    """With 64 descriptors for 300 files and as many directories all rows are read in the end."""
    files = trees(tmp_path / "runs", 300)
    few = ["sh", "-ec", 'ulimit -n 64\nexec "$@"', "sh", *command("run")]
    with receiver() as hook, troubled(tmp_path, command=few, url=hook.url) as tw:
        for path in files.values():
            write(path, many(0, 2))
        wait_for_rows(tw, dict.fromkeys(files, 2))
        for name, path in files.items():
            write(path, row(2, NAN if name == "d007/m" else 2.0))

        wait_for_rows(tw, dict.fromkeys(files, 3))
        wait_for(lambda: hook.posts)
        let_sweep(tw)
        assert rows(tw) == dict.fromkeys(files, 3)
        assert [f["run"] for f in hook.findings()] == ["d007/m"]
        restarts = [
            counted(tw, "tailwatch_restarts_total", reason=reason)
            for reason in ("truncated", "replaced")
        ]
        assert restarts == [0, 0]


def _lowest_free(pid: int) -> int:
    held = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
    return next(number for number in range(4096) if number not in held)


def test_descriptors_that_come_back(tmp_path: Path) -> None:
    """While not one descriptor is left the daemon lives, and afterwards it has every row."""
    with daemon(tmp_path) as tw:
        path = tw.runs / "m.jsonl"
        write(path, many(0, 2))
        wait_for_rows(tw, {"m": 2})
        assert tw.process is not None
        pid = tw.process.pid
        old = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        events = {"file_unreadable", "root_unreadable"}

        def starved() -> bool:
            """Take the lowest free one away, again and again: a scrape may give one back."""
            limit = min(_lowest_free(pid), resource.prlimit(pid, resource.RLIMIT_NOFILE)[0])
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, old[1]))
            return bool(events & {line["event"] for line in tw.log()})

        starved()
        try:
            files = trees(tw.runs, 20)
            for each in files.values():
                write(each, many(0, 3))
            write(path, many(2, 2))
            # It answers nobody now; what it says in its log needs no new descriptor.
            wait_for(starved, message="a word about it in the log")
            assert tw.process.poll() is None
        finally:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, old)

        wait_for_rows(tw, {**dict.fromkeys(files, 3), "m": 4})
        wait_for(lambda: mode(tw) == "events", message="the mode is events")


# The state.


@contextmanager
def errors_are_counted(tw: Daemon) -> Iterator[None]:
    """Within, the state cannot be written: that is counted, and the daemon answers and lives."""
    before = counted(tw, "tailwatch_state_errors_total")
    yield
    wait_for(lambda: counted(tw, "tailwatch_state_errors_total") > before)
    assert any(line["event"] == "state_not_written" for line in tw.log())
    assert tw.get("/-/healthy")[0] == 200


def test_disk_of_the_state_full(tmp_path: Path) -> None:
    """While the state's disk is full that is counted, nothing is told, and later no row is lost."""
    state = tmp_path / "state"
    state.mkdir()
    small = unshared("-Urm", first=f"mount -t tmpfs -o size=1m tmpfs {state}")
    with receiver() as hook, troubled(tmp_path, command=small, url=hook.url) as tw:
        files = trees(tw.runs, 20)
        for path in files.values():
            write(path, many(0, 2))
        wait_for_rows(tw, dict.fromkeys(files, 2))
        assert tw.process is not None
        # The file system is mounted for the daemon alone.
        ballast = Path(f"/proc/{tw.process.pid}/root{state}/ballast")
        with errors_are_counted(tw):
            with ballast.open("wb", buffering=0) as file:
                try:
                    while True:
                        file.write(b"x" * 4096)
                except OSError:
                    pass
            # Enough to outgrow what the log of the database has allocated.
            for round_ in range(30):
                for path in files.values():
                    write(path, row(2 + round_, 2.0))
                let_some_be_read(tw)
                if counted(tw, "tailwatch_state_errors_total"):
                    break
        written = 2 + round_ + 1
        posts = len(hook.posts)
        write(tw.runs / "last.jsonl", row(0, NAN))
        errors = counted(tw, "tailwatch_state_errors_total")
        wait_for(lambda: counted(tw, "tailwatch_state_errors_total") > errors)
        assert len(hook.posts) == posts
        ballast.unlink()

        wait_for_rows(tw, {**dict.fromkeys(files, written), "last": 1})
        wait_for(lambda: hook.posts)
        let_sweep(tw)
        assert [f["run"] for f in hook.findings()] == ["last"]
        assert nan_findings(tw, "last") == 1


def let_some_be_read(tw: Daemon) -> None:
    """Wait until the rows written before are either kept, or could not be kept."""
    commits = "tailwatch_commit_duration_seconds_count"
    before = counted(tw, commits)
    errors = counted(tw, "tailwatch_state_errors_total")
    write(tw.runs / "pace.jsonl.tmp", "x")
    wait_for(
        lambda: (
            counted(tw, commits) > before or counted(tw, "tailwatch_state_errors_total") > errors
        )
    )


def test_state_that_may_not_grow(tmp_path: Path) -> None:
    """Writes that fail in the middle lose no row, through a kill -9 and a new start neither."""
    with receiver() as hook, daemon(tmp_path, url=hook.url) as tw:
        files = trees(tw.runs, 20)
        for path in files.values():
            write(path, many(0, 2))
        wait_for_rows(tw, dict.fromkeys(files, 2))
        assert tw.process is not None
        pid = tw.process.pid
        old = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        logged = tw.log_path.stat().st_size
        # The log of the database is longer than this already; ours has 16 KiB left.
        with errors_are_counted(tw):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (logged + 16384, old[1]))
            for path in files.values():
                write(path, row(2, NAN))
        assert rows(tw) == dict.fromkeys(files, 2)
        assert not hook.posts
        tw.kill()
        tw.start()

        wait_for_rows(tw, dict.fromkeys(files, 3))
        wait_for(lambda: {f["run"] for f in hook.findings()} == set(files))
        let_sweep(tw)
        assert {name: nan_findings(tw, name) for name in files} == dict.fromkeys(files, 1)
        assert len({f["id"] for f in hook.findings()}) == len(files)


def test_state_that_is_read_only(tmp_path: Path) -> None:
    """A state that cannot be written is refused in one line; once it can be, no row is missing."""
    with daemon(tmp_path) as tw:
        write(tw.runs / "m.jsonl", many(0, 2))
        wait_for_rows(tw, {"m": 2})
        tw.stop()
        write(tw.runs / "m.jsonl", many(2, 2))
        state = tmp_path / "state"
        mount = f"mount --bind {state} {state}\nmount -o remount,bind,ro {state}"
        result = subprocess.run(
            [*unshared("-Urm", first=mount), *tw.args],
            env=environment(), capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip

        assert result.returncode == 78, result.stderr
        assert "Traceback" not in result.stderr
        assert "cannot be" in result.stderr.strip().splitlines()[-1]
        assert "Read-only file system" in result.stderr
        tw.start()
        wait_for_rows(tw, {"m": 4})


# Time.


def test_stopped_for_seconds(tmp_path: Path) -> None:
    """What is written while the daemon is stopped is read when it goes on, each row once."""
    files = trees(tmp_path / "runs", 10)
    with receiver() as hook, daemon(tmp_path, url=hook.url) as tw:
        for path in files.values():
            write(path, many(0, 2))
        wait_for_rows(tw, dict.fromkeys(files, 2))
        for round_ in range(2):
            tw.signal(signal.SIGSTOP)
            # Longer than two sweeps.
            for step in range(10):
                for path in files.values():
                    write(path, row(2 + 10 * round_ + step, 2.0))
                time.sleep(0.21)  # The pace of the trainers.
            tw.signal(signal.SIGCONT)
            wait_for_rows(tw, dict.fromkeys(files, 12 + 10 * round_))
        write(tw.runs / "d000" / "m.jsonl", row(22, NAN))

        wait_for(lambda: hook.posts)
        let_sweep(tw)
        assert rows(tw) == {**dict.fromkeys(files, 22), "d000/m": 23}
        assert tw.get("/-/healthy")[0] == 200
        assert [f["run"] for f in hook.findings()] == ["d000/m"]
