"""A daemon with many runs: memory, state on disk, idle cost, start, scrape."""

from __future__ import annotations

import statistics
import time

from tests.bench.measure_daemon import Say, cpu_s, followed, settle, state_bytes, wakeups
from tests.e2e.daemon import Daemon, row, write
from tests.e2e.trouble import memory_bytes

MANY = 10_000
SCRAPED, SCRAPES = 500, 4
CALM_S = 240
"""Until then new files are looked at more often, and their checks are ready for the next row."""
IDLE_S = 60.0
RESTARTS = 3


def many(say: Say) -> None:
    """RSS and state with 100 runs and with many; what those cost at rest, and at a start."""
    with followed(100) as tw:
        say("memory, 100 runs", "under 60 MB", memory_bytes(tw) / 1e6, "MB")
    with followed(MANY) as tw:
        say(f"memory, {MANY:,} runs", "under 150 MB", memory_bytes(tw) / 1e6, "MB")
        say("state on disk for a run", "under 10 KB", state_bytes(tw) / MANY / 1000, "KB")
        time.sleep(CALM_S)
        what = f"memory, {MANY:,} runs, {CALM_S // 60} minutes after their last row"
        say(what, "under 150 MB", memory_bytes(tw) / 1e6, "MB")
        _idle(tw, say)
        for _ in range(RESTARTS):
            assert tw.stop() == 0
            began_s = time.monotonic()
            tw.start()
            took_s = time.monotonic() - began_s
            say(f"restart with {MANY:,} runs, ready", "under 3 s", took_s, "s")
        settle(tw, MANY)
        say(
            f"memory, {MANY:,} runs, after a restart", "under 150 MB", memory_bytes(tw) / 1e6, "MB"
        )


def _idle(tw: Daemon, say: Say) -> None:
    """What a daemon costs of whose many files 100 get a row a minute: from their second one on."""
    files = sorted(tw.runs.rglob("*.jsonl"))[:100]

    def minute(step: int) -> None:
        for path in files:
            write(path, row(step, 1.0))
            time.sleep(IDLE_S / len(files))

    minute(10_000)
    cpu, woken, began_s = cpu_s(tw), wakeups(tw), time.monotonic()
    minute(10_001)
    seconds = time.monotonic() - began_s
    share = 100 * (cpu_s(tw) - cpu) / seconds
    say(f"idle: {MANY:,} files, 100 rows a minute, of a core", "under 0.5 %", share, "%")
    say("  waits a second, all threads", "no storm", (wakeups(tw) - woken) / seconds, "/s")


def scrape(say: Say) -> None:
    """CPU of a scrape of many exported runs, when none and when all of them have a new row."""
    with followed(SCRAPED) as tw:
        files = list(tw.runs.rglob("*.jsonl"))
        for name, fresh in (("nothing new", False), ("every run has a new row", True)):
            costs = []
            for number in range(6):
                for path in files if fresh else ():
                    write(path, row(100 + number, 1.0))
                time.sleep(1.5)
                before = cpu_s(tw)
                for _ in range(SCRAPES):
                    tw.get("/metrics")
                costs.append(1000 * (cpu_s(tw) - before) / SCRAPES)
            what = f"scrape of {SCRAPED} runs, CPU: {name}"
            say(what, "under 50 ms", statistics.median(costs[1:]), "ms")
