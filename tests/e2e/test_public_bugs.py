"""The most painful public bugs of programs that follow files: here each has its test."""

from __future__ import annotations

import errno
import math
import os
import shutil
import signal
import sqlite3
import threading
import time
from itertools import count
from pathlib import Path

from .daemon import Daemon, daemon, receiver, row, wait_for, write
from .trouble import (
    MORTAL_THREADS,
    NETWORK_FILES,
    SILENT_INOTIFY,
    NetworkFiles,
    come_by_events,
    counted,
    cpu_s,
    deleted_open,
    flood,
    let_sweep,
    limited,
    make_again,
    memory_bytes,
    mode,
    rows,
    troubled,
    wait_for_rows,
    with_fault,
)

NAN = math.nan
MIB = 1 << 20
NO_SWEEP = ("--sweep-interval", "1h")
"""What is found is found by events."""
RARE_SWEEP = ("--sweep-interval", "1.2")
"""So that `come_by_events` can tell."""
OFTEN_SWEEP = ("--sweep-interval", "0.3")


def many(first: int, number: int, loss: float = 2.0) -> str:
    """So many rows, from a step on."""
    return "".join(row(step, loss) for step in range(first, first + number))


def told(hook: object) -> list[tuple[str, str]]:
    """Run and category of everything that was told."""
    return [(f["run"], f["category"]) for f in hook.findings()]  # type: ignore[attr-defined]


def restarts(tw: Daemon) -> tuple[float, float]:
    """How many files were begun again: truncated, replaced."""
    name = "tailwatch_restarts_total"
    return counted(tw, name, reason="truncated"), counted(tw, name, reason="replaced")


def bad_lines(tw: Daemon) -> float:
    """Lines that were no row, whatever the reason."""
    metrics = tw.metrics()
    return sum(v for k, v in metrics.items() if k.startswith("tailwatch_bad_lines_total"))


# Events.


def test_overflow_loses_no_row(tmp_path: Path) -> None:
    """When the kernel's queue overflows, that is counted, and a run made meanwhile is found."""
    # gorakhargosh/watchdog#654
    with receiver() as hook, daemon(tmp_path, url=hook.url) as tw:
        write(tw.runs / "a" / "m.jsonl", many(0, 5))
        wait_for_rows(tw, {"a/m": 5})
        tw.signal(signal.SIGSTOP)
        flood(tw.runs)
        write(tw.runs / "new" / "m.jsonl", row(1, NAN))
        write(tw.runs / "a" / "m.jsonl", many(5, 5))
        tw.signal(signal.SIGCONT)

        wait_for_rows(tw, {"a/m": 10, "new/m": 1})
        wait_for(lambda: hook.posts)
        wait_for(lambda: tw.metric("tailwatch_watch_overflows_total") == 1, 10)
        let_sweep(tw)
        assert told(hook) == [("new/m", "nan_loss")]
        assert rows(tw) == {"a/m": 10, "new/m": 1}
        write(tw.runs / "new" / "m.jsonl", row(2, 2.0))
        wait_for_rows(tw, {"a/m": 10, "new/m": 2})


def test_dead_watcher_threads_are_replaced(tmp_path: Path) -> None:
    """Whichever thread of the watcher dies, no row is missed, and events come again by 10 s."""
    # gorakhargosh/watchdog#663
    steps = count()
    with troubled(
        tmp_path, *RARE_SWEEP, command=with_fault(MORTAL_THREADS)
    ) as tw:  # fmt: skip
        path = tw.runs / "m.jsonl"
        write(path, row(next(steps), 2.0))
        wait_for_rows(tw, {"m": 1})
        for thread in ("dispatcher", "emitter", "reader"):
            assert come_by_events(tw, path, steps)
            (tw.runs / f"poison-{thread}").touch()
            wait_for(lambda: come_by_events(tw, path, steps), 10, f"events without {thread}")
            wait_for(lambda: mode(tw) == "events", 30, "the mode to say events again")
        written = next(steps)
        wait_for_rows(tw, {"m": written})


def test_churn_of_directories_disturbs_no_run(tmp_path: Path) -> None:
    """Directories made, renamed and removed at speed cost no row of the run beside them."""
    # gorakhargosh/watchdog#600
    with daemon(tmp_path, *RARE_SWEEP) as tw:
        path = tw.runs / "run" / "m.jsonl"
        write(path, row(0, 2.0))
        wait_for_rows(tw, {"run/m": 1})
        end = time.monotonic() + 4

        def churn(top: Path) -> None:
            for number in count():
                if time.monotonic() > end:
                    return
                made, renamed = top / f"d{number % 7}", top / f"e{number % 5}"
                (made / "x" / "y").mkdir(parents=True, exist_ok=True)
                (made / "x" / "f.tmp").touch()
                shutil.rmtree(renamed, ignore_errors=True)
                made.rename(renamed)
                (renamed / "x" / "y").rename(top / "y")
                (top / "y").rmdir()

        threads = [threading.Thread(target=churn, args=(tw.runs / f"t{n}",)) for n in range(8)]
        for thread in threads:
            thread.start()
        steps = count(1)
        while any(thread.is_alive() for thread in threads):
            write(path, row(next(steps), 2.0))
            time.sleep(0.01)  # The pace of the trainer.
        for thread in threads:
            thread.join()

        written = next(steps)
        wait_for_rows(tw, {"run/m": written})
        wait_for(lambda: mode(tw) == "events", 30, "the mode to say events again")
        wait_for(lambda: come_by_events(tw, path, steps), 10, "events after the churn")


def test_directory_that_is_moved_in_is_followed(tmp_path: Path) -> None:
    """A directory that is moved into the tree is read, and so is what is written there later."""
    # gorakhargosh/watchdog#1094
    write(tmp_path / "outside" / "deep" / "m.jsonl", many(0, 3))
    with receiver() as hook, daemon(tmp_path, *NO_SWEEP, url=hook.url) as tw:
        (tmp_path / "outside").rename(tw.runs / "run")
        wait_for_rows(tw, {"run/deep/m": 3})
        write(tw.runs / "run" / "deep" / "m.jsonl", row(3, NAN))

        wait_for(lambda: hook.posts)
        wait_for_rows(tw, {"run/deep/m": 4})
        assert told(hook) == [("run/deep/m", "nan_loss")]


def test_new_directories_and_files_need_no_sweep(tmp_path: Path) -> None:
    """However few kinds of events are asked for, new directories and files are found by them."""
    # gorakhargosh/watchdog#990
    with daemon(tmp_path, *NO_SWEEP) as tw:
        write(tw.runs / "one" / "two" / "m.jsonl", many(0, 2))
        wait_for_rows(tw, {"one/two/m": 2})
        write(tw.runs / "one" / "two" / "m.jsonl", many(2, 2))
        write(tw.runs / "one" / "three" / "four" / "m.jsonl", many(0, 1))
        write(tw.runs / "n.jsonl", many(0, 1))
        write(tw.runs / "new.tmp", many(0, 6))
        (tw.runs / "new.tmp").rename(tw.runs / "o.jsonl")

        wait_for_rows(tw, {"one/two/m": 4, "one/three/four/m": 1, "n": 1, "o": 6})
        assert mode(tw) == "events"


def test_moves_do_not_grow_memory(tmp_path: Path) -> None:
    """Thousands of renames within, into and out of the tree leave nothing in memory."""
    # gorakhargosh/watchdog#1041
    with daemon(tmp_path, *OFTEN_SWEEP) as tw:
        steps = count(1)

        def move(times: int) -> int:
            inside, renamed = tw.runs / "a.tmp", tw.runs / "a.bin"
            outside = tmp_path / "a.out"
            outside.touch()
            for _ in range(times):
                outside.rename(inside)
                inside.rename(renamed)
                renamed.rename(outside)
            step = next(steps)
            write(tw.runs / "m.jsonl", row(step, 2.0))
            wait_for_rows(tw, {"m": step})
            let_sweep(tw)
            return memory_bytes(tw)

        move(1000)
        before = move(700)
        grown = move(4000) - before
        assert grown < 1 * MIB, f"{grown} bytes for 12,000 renames"


def test_own_reads_wake_nobody(tmp_path: Path) -> None:
    """1,000 open files to which nothing is written cost less than 1 % of a processor."""
    # gorakhargosh/watchdog#949
    runs = tmp_path / "runs"
    for number in range(1000):
        write(runs / f"d{number % 50}" / f"{number}.jsonl", row(1, 2.0))
    with daemon(tmp_path, *NO_SWEEP, TAILWATCH_MAX_EXPORTED_RUNS="2000") as tw:
        wait_for(lambda: len(rows(tw)) == 1000)
        write(runs / "d1" / "last.jsonl", row(1, 2.0))
        wait_for(lambda: len(rows(tw)) == 1001)
        used, began = cpu_s(tw), time.monotonic()
        time.sleep(3)  # What is measured.
        used, took = cpu_s(tw) - used, time.monotonic() - began

        assert used / took < 0.01, f"{used} s of processor in {took} s"


def test_many_files_by_sweep_alone(tmp_path: Path) -> None:
    """3,000 files without any event: soon read, in little memory, and cheap while idle."""
    # gorakhargosh/watchdog#878
    runs = tmp_path / "runs"
    for number in range(3000):
        path = runs / f"d{number % 100}" / f"{number}.jsonl"
        write(path, row(1, 2.0) if number % 10 == 0 else '{"prompt": "x"}\n')
    began = time.monotonic()
    with troubled(
        tmp_path, "--sweep-interval", "2", command=limited(max_inotify_instances=0)
    ) as tw:  # fmt: skip
        wait_for(lambda: len(rows(tw)) == 300)
        assert time.monotonic() - began < 10
        assert mode(tw) == "sweep"
        let_sweep(tw, 1)
        used, started = cpu_s(tw), time.monotonic()
        time.sleep(4)  # What is measured: asking for metrics would cost more than a sweep.
        used, took = cpu_s(tw) - used, time.monotonic() - started
        assert used / took < 0.05, f"{used} s of processor in {took} s"
        assert memory_bytes(tw, "VmHWM") < 150 * MIB


def test_silent_watcher_is_made_up_for_by_the_sweep(tmp_path: Path) -> None:
    """Where every watch is accepted and no event comes, all rows are read, and the mode says so."""
    # gorakhargosh/watchdog#409
    with troubled(tmp_path, command=with_fault(SILENT_INOTIFY)) as tw:
        for number in range(5):
            write(tw.runs / f"r{number}" / "m.jsonl", many(0, 3))
        wait_for_rows(tw, {f"r{number}/m": 3 for number in range(5)})
        write(tw.runs / "r0" / "m.jsonl", many(3, 3))
        wait_for_rows(tw, {f"r{number}/m": 3 if number else 6 for number in range(5)})

        wait_for(lambda: mode(tw) == "sweep", 10, "the mode is sweep")


def test_root_that_is_made_again_is_watched_again(tmp_path: Path) -> None:
    """A root that was removed, or renamed away, and made again is watched as it was."""
    # gorakhargosh/watchdog#419
    steps = count(100)
    with receiver() as hook, daemon(tmp_path, *RARE_SWEEP, url=hook.url) as tw:
        write(tw.runs / "a" / "m.jsonl", many(0, 3))
        wait_for_rows(tw, {"a/m": 3})
        assert mode(tw) == "events"

        shutil.rmtree(tw.runs)
        wait_for(lambda: mode(tw) == "missing", message="missing")
        write(tw.runs / "b" / "m.jsonl", row(1, NAN))
        wait_for_rows(tw, {"a/m": 3, "b/m": 1})
        wait_for(lambda: mode(tw) == "events", message="events")
        wait_for(lambda: come_by_events(tw, tw.runs / "b" / "m.jsonl", steps), message="events")
        known = rows(tw)

        tw.runs.rename(tmp_path / "away")
        write(tw.runs / "c" / "m.jsonl", row(1, NAN))
        wait_for_rows(tw, {**known, "c/m": 1})
        wait_for(lambda: come_by_events(tw, tw.runs / "c" / "m.jsonl", steps), message="events")
        wait_for(lambda: len(hook.findings()) >= 2)
        let_sweep(tw)
        assert sorted(told(hook)) == [("b/m", "nan_loss"), ("c/m", "nan_loss")]


# Identity.


def test_files_with_equal_headers_are_two_files(tmp_path: Path) -> None:
    """Two runs with the same first 2 KiB are both read; a new file in an old inode is read anew."""
    # vectordotdev/vector#25079
    header = '{"config": "' + "x" * 2048 + '"}\n'
    with daemon(tmp_path) as tw:
        for number in range(2):
            write(tw.runs / f"r{number}.jsonl", header + many(number * 10, 5 + number))
        wait_for_rows(tw, {"r0": 6, "r1": 7})
        tw.stop()
        make_again(tw.runs / "r0.jsonl", header + many(100, 20), 1)
        tw.start()

        wait_for_rows(tw, {"r0": 6 + 21, "r1": 7})
        assert restarts(tw) == (0, 1)


def test_truncation_and_quick_rewrite_count_each_row_once(tmp_path: Path) -> None:
    """10 rows, a truncation, and 100 rows at once are 110 rows."""
    # vectordotdev/vector#23619
    with daemon(tmp_path) as tw:
        path = tw.runs / "m.jsonl"
        write(path, many(0, 10))
        wait_for_rows(tw, {"m": 10})
        with path.open("w") as file:
            for step in range(10, 110):
                file.write(row(step, 2.0))
                file.flush()

        wait_for_rows(tw, {"m": 110})
        let_sweep(tw)
        assert rows(tw) == {"m": 110}
        assert restarts(tw) == (1, 0)


def test_one_short_row_is_enough(tmp_path: Path) -> None:
    """A new file of one row of 13 bytes is evaluated, and told, within a second."""
    # vectordotdev/vector#11537
    with receiver() as hook, daemon(tmp_path, *NO_SWEEP, url=hook.url) as tw:
        began = time.time()
        write(tw.runs / "m.jsonl", '{"loss":NaN}\n')
        post = wait_for(lambda: hook.posts)[0]

        assert post.at_s - began < 1.0
        wait_for_rows(tw, {"m": 1})
        assert told(hook) == [("m", "nan_loss")]


def test_old_run_is_not_read_again(tmp_path: Path) -> None:
    """Rows of a run that is older than every limit of age are evaluated once all the same."""
    # vectordotdev/vector#17208
    path = tmp_path / "runs" / "m.jsonl"
    write(path, many(0, 10) + row(10, NAN))
    ages = {"TAILWATCH_RUN_RETENTION": "1s", "TAILWATCH_BACKFILL_PAGE_MAX_AGE": "1s"}
    month_ago = time.time() - 30 * 86_400
    with receiver() as hook, daemon(tmp_path, *OFTEN_SWEEP, url=hook.url, **ages) as tw:
        os.utime(path, (month_ago, month_ago))
        wait_for_rows(tw, {"m": 11})
        found = len(hook.findings())
        for _ in range(2):
            tw.stop()
            os.utime(path, (month_ago, month_ago))
            tw.start()
            let_sweep(tw)
        write(path, row(11, 2.0))

        wait_for_rows(tw, {"m": 12})
        let_sweep(tw)
        assert rows(tw) == {"m": 12}
        assert restarts(tw) == (0, 0)
        assert counted(tw, "anomaly_findings_total", run="m", category="nan_loss") == 1
        assert len(hook.findings()) == found


def test_rotation_during_an_overflow_loses_no_row(tmp_path: Path) -> None:
    """30 files that are rotated while the queue overflows: each row of both files, once."""
    # fluent/fluent-bit#1108
    with daemon(tmp_path) as tw:
        paths = [tw.runs / f"r{number}" / "m.jsonl" for number in range(30)]
        for path in paths:
            write(path, many(0, 5))
        wait_for_rows(tw, {f"r{number}/m": 5 for number in range(30)})
        tw.signal(signal.SIGSTOP)
        flood(tw.runs)
        for path in paths:
            write(path, many(5, 3))
            path.rename(path.with_name("m.jsonl.1"))
            write(path, many(8, 4))
        tw.signal(signal.SIGCONT)

        expected = {f"r{number}/m": 12 for number in range(30)}
        wait_for_rows(tw, expected)
        let_sweep(tw)
        assert rows(tw) == expected
        assert counted(tw, "tailwatch_watch_overflows_total") >= 1
        assert restarts(tw) == (0, 30)


def test_reused_inode_with_old_state_is_a_new_file(tmp_path: Path) -> None:
    """After many deletions and creations while down, no file is read from another's place."""
    # fluent/fluent-bit#8025
    with daemon(tmp_path) as tw:
        same, left = tw.runs / "same.jsonl", tw.runs / "left.jsonl"
        write(same, many(0, 10))
        write(left, many(0, 10, 3.0))
        wait_for_rows(tw, {"same": 10, "left": 10})
        tw.stop()
        make_again(same, many(50, 40, 1.0), 1000)
        # The inode of the one under the name of another.
        make_again(left, many(50, 30, 1.5), 1)
        left.rename(tw.runs / "right.jsonl")
        tw.start()

        wait_for_rows(tw, {"same": 50, "left": 10, "right": 30})
        assert restarts(tw) == (0, 1)


# Content.


def test_a_line_of_100_mb_costs_one_line(tmp_path: Path) -> None:
    """A line of 100 MB between two rows: both rows, one bad line, and no memory for it."""
    # fluent/fluent-bit#370
    with receiver() as hook, daemon(tmp_path, url=hook.url) as tw:
        path = tw.runs / "m.jsonl"
        write(path, row(1, NAN))
        wait_for_rows(tw, {"m": 1})
        before = memory_bytes(tw, "VmHWM")
        with path.open("ab") as file:
            file.write(b'{"pad": "')
            for _ in range(100):
                file.write(b"x" * 1_000_000)
            file.write(b'"}\n' + row(2, NAN, grad_norm=NAN).encode())

        wait_for_rows(tw, {"m": 2})
        assert counted(tw, "tailwatch_bad_lines_total", reason="too_long") == 1
        assert bad_lines(tw) == 1
        assert counted(tw, "tailwatch_run_last_step", run="m") == 2
        assert memory_bytes(tw, "VmHWM") - before < 21 * MIB
        assert told(hook)[0] == ("m", "nan_loss")


def test_hole_before_rows_is_passed(tmp_path: Path) -> None:
    """The 1 GiB of NULs that copytruncate leaves to a writer at its old place costs 2 s at most."""
    # fluent/fluent-bit#3117
    with daemon(tmp_path) as tw:
        path = tw.runs / "m.jsonl"
        write(tw.runs / "beside.jsonl", many(0, 1))
        with path.open("wb", buffering=0) as file:
            file.write(many(0, 10).encode())
            wait_for_rows(tw, {"beside": 1, "m": 10})
            used = cpu_s(tw)
            shutil.copy(path, path.with_name("m.jsonl.1"))
            os.truncate(path, 0)
            file.seek(1 << 30)
            file.write(many(10, 5).encode())
            write(tw.runs / "beside.jsonl", many(1, 1))

            wait_for_rows(tw, {"beside": 2, "m": 15}, every_s=0.2)
            assert cpu_s(tw) - used < 2.0
            file.write(many(15, 5).encode())
            wait_for_rows(tw, {"beside": 2, "m": 20})
        assert bad_lines(tw) == 0


# State.


def test_locked_state_is_said_and_loses_nothing(tmp_path: Path) -> None:
    """While the state is locked that is counted, nothing is told, and afterwards nothing is lost."""
    # fluent/fluent-bit#11416
    with receiver() as hook, daemon(tmp_path, url=hook.url) as tw:
        path = tw.runs / "m.jsonl"
        write(path, many(0, 5))
        wait_for_rows(tw, {"m": 5})
        assert counted(tw, "tailwatch_state_errors_total") == 0
        lock = sqlite3.connect(tmp_path / "state" / "tailwatch.db", isolation_level=None)
        try:
            lock.execute("BEGIN EXCLUSIVE")
            write(path, row(5, NAN))
            wait_for(lambda: counted(tw, "tailwatch_state_errors_total") >= 1)
            write(path, many(6, 4))
            assert rows(tw) == {"m": 5}
            assert not hook.posts
            assert any(line["event"] == "state_not_written" for line in tw.log())
        finally:
            lock.close()

        wait_for_rows(tw, {"m": 10})
        wait_for(lambda: hook.posts)
        tw.kill()
        tw.start()
        let_sweep(tw)
        assert rows(tw) == {"m": 10}
        assert len({finding["id"] for finding in hook.findings()}) == 1
        assert counted(tw, "anomaly_findings_total", run="m", category="nan_loss") == 1


def test_truncation_while_down_is_noticed_once(tmp_path: Path) -> None:
    """A file truncated while nobody looked is read anew once, not at every start."""
    # elastic/beats#38070
    with daemon(tmp_path) as tw:
        path = tw.runs / "m.jsonl"
        write(path, many(0, 10))
        wait_for_rows(tw, {"m": 10})
        tw.stop()
        path.write_text(many(10, 4))
        for _ in range(3):
            tw.start()
            wait_for_rows(tw, {"m": 14})
            let_sweep(tw, 1)
            assert rows(tw) == {"m": 14}
            assert restarts(tw) == (1, 0)
            tw.kill()
        assert '"replaced"' not in tw.all_output()


def test_broken_state_does_not_stop_the_start(tmp_path: Path) -> None:
    """With NULs, nothing, or a part of the state, all is read again and nobody is paged twice."""
    # elastic/beats#4733
    with receiver() as hook, daemon(tmp_path, url=hook.url) as tw:
        write(tw.runs / "m.jsonl", row(0, 2.0) + row(1, NAN) + many(2, 37))
        wait_for_rows(tw, {"m": 39})
        wait_for(lambda: hook.posts)
        tw.stop()
        state = tmp_path / "state" / "tailwatch.db"
        whole = state.read_bytes()
        parts = [whole[:size] for size in (1, 100, 4096, len(whole) // 2, len(whole) - 1)]
        for broken in (b"\0" * len(whole), b"", *parts):
            state.write_bytes(broken)
            tw.start()
            wait_for_rows(tw, {"m": 39})
            found = counted(tw, "anomaly_findings_total", run="m", category="nan_loss")
            assert found == 1, f"{found} findings with {len(broken)} bytes"
            tw.stop()
        assert len({finding["id"] for finding in hook.findings()}) == 1
        kept = list((tmp_path / "state").glob("tailwatch.db.broken-*"))
        # To SQLite less than a page is an empty database: there is nothing to set aside.
        assert len([path for path in kept if not path.name.endswith(("-wal", "-shm"))]) == 4


def test_hanging_receiver_keeps_no_deleted_file_open(tmp_path: Path) -> None:
    """While a receiver hangs, reading goes on, and deleted files are let go within 10 s."""
    # elastic/beats#2395
    release = threading.Event()
    with receiver() as hook, daemon(tmp_path, url=hook.url) as tw:
        hook.answer = lambda handler, number: release.wait() and None  # type: ignore[func-returns-value]
        try:
            paths = [tw.runs / f"r{number:03}" / "m.jsonl" for number in range(150)]
            for path in paths:
                write(path, row(1, NAN))
            wait_for_rows(tw, {f"r{number:03}/m": 1 for number in range(150)})
            wait_for(lambda: hook.attempts)
            for number, path in enumerate(paths):
                rotated = path.rename(path.with_name("m.jsonl.1"))
                if number % 2:
                    write(path, row(2, NAN))
                rotated.unlink()
            expected = {f"r{number:03}/m": 1 + number % 2 for number in range(150)}
            wait_for_rows(tw, expected)

            end = time.monotonic() + 10
            while (left := deleted_open(tw, tw.runs)) and time.monotonic() < end:
                time.sleep(0.1)
            assert not left, f"{len(left)} deleted files held open, {left[:3]}"
            write(tw.runs / "new.jsonl", many(0, 3))
            wait_for_rows(tw, {**expected, "new": 3})
        finally:
            release.set()


def test_copytruncate_with_an_equal_header_is_noticed(tmp_path: Path) -> None:
    """A file that begins with the same 1,000 bytes, shorter, as long or longer, is read anew."""
    # open-telemetry/opentelemetry-collector-contrib#43693
    header = '{"config": "' + "x" * 1500 + '"}\n'
    refills = {"shorter": 4, "equal": 10, "longer": 20}
    with daemon(tmp_path) as tw:
        for name in refills:
            write(tw.runs / name / "m.jsonl", header + many(10, 10))
        wait_for_rows(tw, {f"{name}/m": 11 for name in refills})
        for name, number in refills.items():
            path = tw.runs / name / "m.jsonl"
            shutil.copy(path, path.with_name("m.jsonl.1"))
            with path.open("w") as file:
                file.write(header + many(20, number))

        expected = {f"{name}/m": 11 + 1 + number for name, number in refills.items()}
        wait_for_rows(tw, expected)
        let_sweep(tw)
        assert rows(tw) == expected
        assert restarts(tw) == (3, 0)


def test_half_a_row_is_no_row(tmp_path: Path) -> None:
    """A row that comes byte by byte, with kill -9 at any of them, is evaluated once, and whole."""
    # open-telemetry/opentelemetry-collector-contrib#21893
    line = '{"step": 2, "loss": NaN}\n'
    with receiver() as hook, daemon(tmp_path, url=hook.url) as tw:
        marker, marked = tw.runs / "marker.jsonl", count(1)
        # Of as many files as the row has bytes each has come to another byte.
        paths = [tw.runs / f"r{number:02}.jsonl" for number in range(len(line))]
        expected = {path.stem: 1 for path in paths}
        for path in paths:
            write(path, row(1, 2.0))
        for _ in range(len(line)):
            for number, path in enumerate(paths):
                done = path.stat().st_size - len(row(1, 2.0))
                if done < number:
                    write(path, line[done])
            write(marker, row(next(marked), 2.0))
        wait_for_rows(tw, {**expected, "marker": len(line)})
        tw.kill()
        for number, path in enumerate(paths):
            write(path, line[number])
        tw.start()
        write(marker, row(next(marked), 2.0))
        expected[paths[-1].stem] = 2
        wait_for_rows(tw, {**expected, "marker": len(line) + 1})
        tw.kill()
        tw.start()
        for number, path in enumerate(paths):
            write(path, line[number + 1 :])

        expected = {path.stem: 2 for path in paths}
        wait_for_rows(tw, {**expected, "marker": len(line) + 1})
        wait_for(lambda: {f["run"] for f in hook.findings()} == set(expected))
        let_sweep(tw)
        assert bad_lines(tw) == 0
        assert restarts(tw) == (0, 0)
        assert len({finding["id"] for finding in hook.findings()}) == len(paths)


# Network file systems, as a shim shows them.


def test_size_that_lags_behind_is_no_truncation(tmp_path: Path) -> None:
    """A network file system's old size is waited out: nothing is evaluated twice, or begun again."""
    # fluent/fluent-bit#10276
    command = with_fault(NETWORK_FILES, tmp_path / "nfs")
    with troubled(tmp_path, *OFTEN_SWEEP, command=command) as tw:
        path = tw.runs / "m.jsonl"
        write(path, many(0, 20))
        size, written = path.stat().st_size, 20
        shim = NetworkFiles(tmp_path / "nfs", path)
        wait_for_rows(tw, {"m": 20})
        for seen in (size - 1, size // 2, 0):
            shim.say("size", seen)
            write(path, many(written, 2))
            let_sweep(tw)
            assert rows(tw) == {"m": written}
            shim.say("size", None)
            write(path, many(written + 2, 1))
            written += 3
            wait_for_rows(tw, {"m": written})
        let_sweep(tw)
        assert rows(tw) == {"m": written}
        assert restarts(tw) == (0, 0)
        assert bad_lines(tw) == 0


def test_zeroes_that_become_data_are_read_once(tmp_path: Path) -> None:
    """Zeroes that a network file system shows before the data are no data, and no hole."""
    # EmbarkStudios/emote#138
    command = with_fault(NETWORK_FILES, tmp_path / "nfs")
    with receiver() as hook, troubled(tmp_path, *OFTEN_SWEEP, command=command, url=hook.url) as tw:
        path = tw.runs / "m.jsonl"
        write(path, many(0, 5))
        NetworkFiles(tmp_path / "nfs", path)
        wait_for_rows(tw, {"m": 5})
        late, start = (many(5, 4) + row(9, NAN)).encode(), path.stat().st_size
        with path.open("r+b", buffering=0) as file:
            file.truncate(start + len(late))
            let_sweep(tw)
            assert rows(tw) == {"m": 5}
            # The page with the end of the data comes before the one with its beginning.
            file.seek(start + 60)
            file.write(late[60:])
            let_sweep(tw)
            file.seek(start)
            file.write(late[:60])

        wait_for_rows(tw, {"m": 10})
        wait_for(lambda: hook.posts)
        let_sweep(tw)
        assert rows(tw) == {"m": 10}
        assert bad_lines(tw) == 0
        assert restarts(tw) == (0, 0)
        assert told(hook) == [("m", "nan_loss")]


def test_stale_handles_hurt_nobody_else(tmp_path: Path) -> None:
    """A file that cannot be read is named once and tried again; the others are read meanwhile."""
    # google/mtail#505
    command = with_fault(NETWORK_FILES, tmp_path / "nfs")
    with troubled(tmp_path, *OFTEN_SWEEP, command=command) as tw:
        path, written = tw.runs / "m.jsonl", 3
        write(path, many(0, 3))
        wait_for_rows(tw, {"m": 3})
        shim = NetworkFiles(tmp_path / "nfs", path)
        for trouble in (errno.ESTALE, errno.EIO):
            shim.say("errno", trouble)
            write(path, many(written, 2))
            written += 2
            wait_for(
                lambda: any(line["event"] == "file_unreadable" for line in tw.log()),
                message="file_unreadable in the log",
            )
            other = f"other{trouble}"
            write(tw.runs / f"{other}.jsonl", many(0, 1))
            wait_for(lambda name=other: rows(tw).get(name) == 1)
            let_sweep(tw)
            assert rows(tw)["m"] == written - 2
            shim.say("errno", None)
            wait_for(lambda number=written: rows(tw)["m"] == number)
        complaints = [line["reason"] for line in tw.log() if line["event"] == "file_unreadable"]
        assert complaints == [os.strerror(errno.ESTALE), os.strerror(errno.EIO)]
        assert restarts(tw) == (0, 0)
