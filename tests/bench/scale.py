"""
A daemon with many runs: memory, state on disk, idle cost, start, scrape, latency.

Prints one table. Figures are of processes of their own, by /proc; CPU is user and system time.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.e2e.daemon import Daemon, daemon, receiver, row, wait_for, write

TICKS = os.sysconf("SC_CLK_TCK")
MANY = 10_000
SCRAPED = 500
IDLE_S = 60.0
LATENCY_FILES = 1000
LATENCY_ROWS_PER_S = 10
LATENCY_S = 30.0


def cpu_s(tw: Daemon) -> float:
    """CPU seconds of the daemon so far."""
    assert tw.process is not None
    fields = Path(f"/proc/{tw.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def wakeups(tw: Daemon) -> int:
    """How often any of its threads gave up the processor to wait."""
    assert tw.process is not None
    tasks = Path(f"/proc/{tw.process.pid}/task")
    found = 0
    for task in tasks.iterdir():
        for line in (task / "status").read_text().splitlines():
            if line.startswith("voluntary_ctxt"):
                found += int(line.split()[1])
    return found


def rss_mb(tw: Daemon) -> float:
    """Resident memory, MB."""
    assert tw.process is not None
    status = Path(f"/proc/{tw.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1000


def make_runs(directory: Path, runs: int, rows: int = 30) -> None:
    """So many runs that are being written."""
    for number in range(runs):
        text = "".join(row(n, 2.0 - n / 1000, grad_norm=1.5, lr=1e-4) for n in range(rows))
        write(directory / f"group{number % 100}" / f"run{number}" / "metrics.jsonl", text)


@contextmanager
def followed(runs: int, *, rows: int = 30, url: str | None = None) -> Iterator[Daemon]:
    """A daemon that has read so many runs."""
    with tempfile.TemporaryDirectory() as directory:
        made = Path(directory)
        (made / "runs").mkdir()
        make_runs(made / "runs", runs, rows)
        with daemon(made, "--sweep-interval", "10s", url=url) as tw:
            known = lambda: tw.metric("tailwatch_runs", state="active") == runs  # noqa: E731
            wait_for(known, 300, f"{runs} runs are known")
            lag = lambda: "tailwatch_run_lag_bytes" in tw.get("/metrics")[1]  # noqa: E731
            wait_for(lag, 300, "they are read")
            time.sleep(3)
            yield tw


def memory(say: Callable[[str, str, str], None]) -> None:
    """RSS and state with 100 runs and with many."""
    with followed(100) as tw:
        say("memory, 100 runs", f"{rss_mb(tw):.0f} MB", "60 MB")
    with followed(MANY) as tw:
        say(f"memory, {MANY:,} runs", f"{rss_mb(tw):.0f} MB", "150 MB")
        state = sum(f.stat().st_size for f in (tw.directory / "state").glob("*.db"))
        say("state on disk for a run", f"{state / MANY / 1000:.1f} KB", "10 KB")
        idle(tw, say)
        assert tw.stop() == 0
        began_s = time.monotonic()
        tw.start()
        say(f"restart with {MANY:,} runs, ready", f"{time.monotonic() - began_s:.1f} s", "3 s")


def idle(tw: Daemon, say: Callable[[str, str, str], None]) -> None:
    """What a daemon costs of whose many files 100 get a row a minute."""
    files = sorted(tw.runs.rglob("*.jsonl"))[:100]
    cpu, woken, began_s = cpu_s(tw), wakeups(tw), time.monotonic()
    for path in files:
        write(path, row(10_000, 1.0))
        time.sleep(IDLE_S / len(files))
    seconds = time.monotonic() - began_s
    say(
        f"idle: {MANY:,} files, 100 rows a minute",
        f"{100 * (cpu_s(tw) - cpu) / seconds:.2f}% of a core",
        "0.5%",
    )
    say("  waits a second, all threads", f"{(wakeups(tw) - woken) / seconds:.1f}", "")


def scrape(say: Callable[[str, str, str], None]) -> None:
    """CPU of a scrape of many exported runs, when none and when all of them have a new row."""
    with followed(SCRAPED) as tw:
        files = list(tw.runs.rglob("*.jsonl"))
        for name, fresh in (("nothing new", False), ("every run has a new row", True)):
            costs, sizes = [], []
            for number in range(7):
                for path in files if fresh else ():
                    write(path, row(100 + number, 1.0))
                time.sleep(2.5)
                before = cpu_s(tw)
                for _ in range(4):
                    sizes.append(len(tw.get("/metrics")[1]))
                costs.append((cpu_s(tw) - before) / 4)
            ms = f"{1000 * statistics.median(costs[1:]):.0f} ms, {sizes[-1] / 1e6:.1f} MB"
            say(f"scrape of {SCRAPED} runs, CPU: {name}", ms, "50 ms")


def latency(say: Callable[[str, str, str], None]) -> None:
    """From the write to /metrics, over many files of which a few a second get a row."""
    with receiver() as hook, followed(LATENCY_FILES, url=hook.url) as tw:
        files = sorted(tw.runs.rglob("*.jsonl"))
        written: dict[str, float] = {}
        told: list[float] = []
        stop = threading.Event()

        def train() -> None:
            number = 0
            while not stop.is_set():
                path = files[number % len(files)]
                # One in ten goes NaN: a receiver takes one message a second.
                bad = number % LATENCY_ROWS_PER_S == 0
                if bad:
                    written[str(path.relative_to(tw.runs).with_suffix(""))] = time.time()
                write(path, row(100, float("nan") if bad else 1.0))
                number += 1
                time.sleep(1 / LATENCY_ROWS_PER_S)

        thread = threading.Thread(target=train)
        thread.start()
        time.sleep(LATENCY_S)
        stop.set()
        thread.join()
        wait_for(lambda: len(hook.findings()) == len(written), 30, "all are told")
        for post in hook.posts:
            told += [1000 * (post.at_s - written[f["run"]]) for f in post.findings()]
        told.sort()
        say(
            f"write to webhook, {LATENCY_FILES:,} files, {LATENCY_ROWS_PER_S} rows a second",
            f"p50 {statistics.median(told):.1f} ms, worst of {len(told)} {told[-1]:.0f} ms",
            "p50 10 ms, p99 100 ms",
        )


PARTS = {"memory": memory, "scrape": scrape, "latency": latency}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", choices=[*PARTS, []], help="only these")
    chosen = parser.parse_args().part or list(PARTS)

    def say(what: str, got: str, aim: str) -> None:
        print(f"| {what} | {got} | {aim} |", flush=True)

    print("| what | reached | aim |\n|---|---|---|")
    for part in chosen:
        PARTS[part](say)


if __name__ == "__main__":
    main()
