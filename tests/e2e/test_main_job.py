"""The main job, with everything real: process, inotify, SQLite, HTTP."""

from __future__ import annotations

import math
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from .daemon import daemon, receiver, row, tailwatch, wait_for, write

NAN = math.nan


def test_a_nan_is_posted_and_counted_once(tmp_path: Path) -> None:
    """One NaN: one post, one count, and neither again after a restart or a kill."""
    with receiver() as hook, daemon(tmp_path, url=hook.url) as tw:
        metrics = tw.runs / "exp" / "metrics.jsonl"
        for step in range(10):
            write(metrics, row(step, 2.0 - step / 100))
        wait_for(lambda: tw.metric("tailwatch_run_rows_total", run="exp/metrics") == 10)
        zero = tw.metric("anomaly_findings_total", run="exp/metrics", category="nan_loss")
        write(metrics, row(10, NAN))
        post = wait_for(lambda: hook.posts)[0]

        assert zero == 0
        assert post.body["type"] == "finding.firing"
        data = post.body["data"]
        assert (
            data["run"], data["category"], data["severity"], data["step"], data["row"],
        ) == ("exp/metrics", "nan_loss", "critical", 10, 11)  # fmt: skip
        assert data["evidence"]["loss"] == "NaN"
        assert len(data["recent"]) == 10

        for end in (tw.stop, tw.kill, tw.stop):
            end()
            tw.start()
            counted = tw.metric("anomaly_findings_total", run="exp/metrics", category="nan_loss")
            assert counted == 1
        write(metrics, row(11, NAN))
        wait_for(lambda: tw.metric("tailwatch_run_rows_total", run="exp/metrics") == 12)
        write(tw.runs / "other" / "m.jsonl", row(1, NAN))
        wait_for(lambda: len(hook.posts) == 2)

        assert [post.body["data"]["run"] for post in hook.posts] == ["exp/metrics", "other/m"]


def test_fifty_runs_go_nan(tmp_path: Path) -> None:
    """50 NaN events in 50 runs: each is told exactly once."""
    with receiver() as hook, daemon(tmp_path, url=hook.url) as tw:
        paths = [tw.runs / f"run{number}" / "metrics.jsonl" for number in range(50)]
        for path in paths:
            write(path, "".join(row(step, 2.0) for step in range(5)))
        for path in paths:
            write(path, row(5, NAN))
            time.sleep(0.02)
        wait_for(lambda: len(hook.findings()) >= 50)
        time.sleep(1.5)  # Long enough for a second telling to come.

        told = Counter(finding["run"] for finding in hook.findings())
        assert {f"run{number}/metrics": 1 for number in range(50)} == told
        assert len({finding["id"] for finding in hook.findings()}) == 50
        assert (
            sum(
                value
                for series, value in tw.metrics().items()
                if series.startswith('anomaly_findings_total{category="nan_loss"')
            )
            == 50
        )


_WRITER = """
import json, random, sys, time
path, seed, rows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = random.Random(seed)
with open(path, "ab", buffering=0) as file:
    for step in range(1, rows + 1):
        loss = float("nan") if step == 200 else 2.0 - step / 1000
        data = (json.dumps({"step": step, "loss": loss, "grad_norm": 1.0}) + "\\n").encode()
        cut = rng.randrange(1, len(data))
        file.write(data[:cut])
        time.sleep(rng.random() * 0.04)
        file.write(data[cut:])
        time.sleep(rng.random() * 0.04)
"""


def test_sigkill_loses_no_row_and_tells_no_finding_twice(tmp_path: Path) -> None:
    """30 SIGKILLs while 8 writers append torn lines: every row once, every NaN under one id."""
    kills = int(os.environ.get("TAILWATCH_TEST_KILLS", "30"))
    rows, rng = 400 * kills // 30, random.Random(3)
    with receiver() as hook, daemon(tmp_path, url=hook.url) as tw:
        paths = [tw.runs / f"r{number}" / "log.jsonl" for number in range(8)]
        for path in paths:
            path.parent.mkdir()
        writers = [
            subprocess.Popen([sys.executable, "-c", _WRITER, str(path), str(number), str(rows)])
            for number, path in enumerate(paths)
        ]
        for _ in range(kills):
            time.sleep(rng.random() * 0.4)
            tw.kill()
            tw.start(ready=rng.random() < 0.5)
        for writer in writers:
            assert writer.wait(timeout=600) == 0
        names = {f"r{number}/log": rows for number in range(8)}

        def counted() -> dict[str, float | None]:
            return {n: tw.metric("tailwatch_run_rows_total", run=n) for n in names}

        wait_for(lambda: counted() == names, message=f"{counted()} equals what was written")
        wait_for(lambda: {f["run"] for f in hook.findings()} == set(names))
        metrics = tw.metrics()

        assert {1.0} == {
            value
            for series, value in metrics.items()
            if series.startswith('anomaly_findings_total{category="nan_loss"')
        }
        assert sum(v for k, v in metrics.items() if k.startswith("tailwatch_bad_lines")) == 0
        ids: dict[str, set[str]] = {}
        for finding in hook.findings():
            ids.setdefault(finding["run"], set()).add(finding["id"])
        assert dict.fromkeys(names, 1) == {name: len(keys) for name, keys in ids.items()}


def test_history_pages_nobody(tmp_path: Path) -> None:
    """A NaN from before the first start, in a run long quiet, is counted and told to nobody."""
    old = tmp_path / "runs" / "old" / "m.jsonl"
    write(old, row(1, 2.0) + row(2, NAN))
    day_ago = time.time() - 86_400
    os.utime(old, (day_ago, day_ago))
    with receiver() as hook, daemon(tmp_path, url=hook.url) as tw:
        wait_for(lambda: tw.metric("anomaly_findings_total", run="old/m", category="nan_loss"))
        stamp = tw.metric(
            "anomaly_last_finding_timestamp_seconds", run="old/m", category="nan_loss"
        )
        write(tw.runs / "new" / "m.jsonl", row(1, NAN))
        wait_for(lambda: hook.posts)

        assert [f["run"] for f in hook.findings()] == ["new/m"]
        assert stamp is not None
        assert abs(stamp - day_ago) < 1.0


def test_a_run_that_still_burns_is_told_at_the_first_start(tmp_path: Path) -> None:
    """A NaN that stands in a run being written to is told although it began before."""
    write(tmp_path / "runs" / "now" / "m.jsonl", row(1, 2.0) + row(2, NAN) + row(3, NAN))
    with receiver() as hook, daemon(tmp_path, url=hook.url):
        wait_for(lambda: hook.posts)

        assert [(f["run"], f["step"]) for f in hook.findings()] == [("now/m", 2)]


def test_sigterm_drains(tmp_path: Path) -> None:
    """A row written just before SIGTERM is read, kept and told, and the exit code is 0."""
    with receiver() as hook, daemon(tmp_path, "--sweep-interval", "1h", url=hook.url) as tw:
        path = tw.runs / "a" / "m.jsonl"
        write(path, row(1, 2.0))
        wait_for(lambda: tw.metric("tailwatch_run_rows_total", run="a/m") == 1)
        tw.signal(signal.SIGSTOP)
        write(path, row(2, NAN))
        tw.signal(signal.SIGTERM)
        tw.signal(signal.SIGCONT)

        assert tw.process is not None
        assert tw.process.wait(timeout=30) == 0
        assert [f["run"] for f in hook.findings()] == ["a/m"]
        tw.start()
        assert tw.metric("tailwatch_run_rows_total", run="a/m") == 2
        assert len(hook.posts) == 1


def test_replay_says_what_the_daemon_did(tmp_path: Path) -> None:
    """The transitions of `replay` are the findings that a live daemon logged."""
    import json

    with daemon(tmp_path) as tw:
        path = tw.runs / "a" / "m.jsonl"
        rng = random.Random(5)
        for step in range(120):
            write(path, row(step, NAN if step in (30, 99) else 2.0 + rng.random() / 100))
            if step % 40 == 0:
                # Seen in the metrics, so kept, and so in the log: a kill takes nothing back.
                seen = step + 1
                wait_for(lambda n=seen: tw.metric("tailwatch_run_rows_total", run="a/m") == n)
                tw.kill()
                tw.start()
        wait_for(lambda: tw.metric("tailwatch_run_rows_total", run="a/m") == 120)
        tw.stop()
        live = [
            (line["event"], line["category"], line["message"])
            for log in sorted(tmp_path.glob("log*"), key=lambda p: int(p.name[3:]))
            for line in map(json.loads, log.read_text().splitlines())
            if line["event"].startswith("finding_")
        ]
        replayed = tailwatch("replay", "--format", "json", str(path))
        batch = [
            (f"finding_{t['transition']}", t["category"], t["message"])
            for t in map(json.loads, replayed.stdout.splitlines())
        ]

        assert len(live) >= 4
        assert live == batch[: len(live)]


def test_two_writers_race_with_discovery(tmp_path: Path) -> None:
    """Files in directories made this moment are read whole, whichever event came first."""
    with daemon(tmp_path) as tw:

        def burst(number: int) -> None:
            for each in range(25):
                write(tw.runs / f"w{number}" / f"d{each}" / "m.jsonl", row(1, 2.0) + row(2, 2.0))

        threads = [threading.Thread(target=burst, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        def rows() -> float:
            return sum(v for k, v in tw.metrics().items() if k.startswith("tailwatch_run_rows"))

        wait_for(lambda: rows() == 200)
