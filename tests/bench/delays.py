"""From a trainer's write to where it shows: a real daemon, real inotify, real HTTP."""

from __future__ import annotations

import json
import math
import multiprocessing
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

from tests.bench.measure_daemon import Say, followed, quantile, run_name
from tests.e2e.daemon import Daemon, receiver, row, wait_for, write

FILES, ROWS_PER_S = 1000, 10
LATENCY_S = 20.0
SCRAPED, STALL_S, STALL_ROWS_PER_S = 500, 12.0, 20
STALL_MS = 20


def latency(say: Say) -> None:
    """
    Over many files of which a few a second get a row.

    When a row is on /metrics is asked of the API, which shows the same snapshot and answers
    sooner than a page of so many runs; a scrape of all of them then proves it. What an answer
    takes is in the figure, and measured by itself, too. The scrape comes half a second after the
    row: a page of 1,000 runs at the same moment is what `stall` is about.
    """
    every_run = {"TAILWATCH_MAX_EXPORTED_RUNS": str(FILES)}
    with receiver() as hook, followed(FILES, url=hook.url, **every_run) as tw:
        files = sorted(tw.runs.rglob("*.jsonl"))
        written: dict[str, float] = {}
        shown_ms, answer_ms, began_s = [], [], time.monotonic()
        for number in range(int(LATENCY_S * ROWS_PER_S)):
            time.sleep(max(0.0, began_s + number / ROWS_PER_S - time.monotonic()))
            path = files[number % len(files)]
            name, at_s = run_name(tw, path), time.time()
            # One in ten goes NaN: a receiver takes one message a second.
            bad = number % ROWS_PER_S == 0
            if bad:
                written[name] = at_s
            write(path, row(100, math.nan if bad else 1.0))
            if bad:  # Nobody asks while it is told.
                continue
            while _rows(tw, name) < 31:
                assert time.time() - at_s < 30, f"{name} is not shown"
            shown_ms.append(1000 * (time.time() - at_s))
            asked_s = time.time()
            assert _rows(tw, name) == 31
            answer_ms.append(1000 * (time.time() - asked_s))
            if number % ROWS_PER_S == ROWS_PER_S // 2:
                series = f'tailwatch_run_rows_total{{run="{[*written][-1]}"}}'
                assert tw.metrics()[series] == 31
        wait_for(lambda: len(hook.findings()) == len(written), 30, "all are told")
        told_ms = [1000 * (p.at_s - written[f["run"]]) for p in hook.posts for f in p.findings()]
        what = f"{FILES:,} files, {ROWS_PER_S} rows a second"
        for to, ms in (("/metrics", shown_ms), ("webhook", told_ms)):
            say(f"write to {to}, {what}: p50", "under 10 ms", statistics.median(ms), "ms")
            say(f"write to {to}: p99 of {len(ms)}", "under 100 ms", quantile(ms, 0.99), "ms")
        say(
            "  an answer of the API, which is in the former",
            "",
            statistics.median(answer_ms),
            "ms",
        )


def _rows(tw: Daemon, name: str) -> int:
    status, text = tw.get(f"/api/v1/runs/{quote(name, safe='')}")
    return int(json.loads(text)["rows"]) if status == 200 else 0


def stall(say: Say) -> None:
    """
    What scrapes do to the engine: from a row to its finding in the log, which is written once
    the row is kept, by the engine's own thread; with and without scrapes all the time.
    """
    with followed(SCRAPED) as tw:
        files = sorted(tw.runs.rglob("*.jsonl"))
        half = len(files) // 2
        alone = _kept_ms(tw, files[:half])
        with _scraped(tw):
            beside = _kept_ms(tw, files[half:])
    usual = statistics.median(alone)
    for what, ms in (("no scrape", alone), ("scrapes all the time", beside)):
        say(f"write to kept, {SCRAPED} runs, {what}: p50", "", statistics.median(ms), "ms")
        say(f"  {what}: p99 of {len(ms)}", "", quantile(ms, 0.99), "ms")
        late = sum(each > usual + STALL_MS for each in ms)
        say(f"  {what}: later than the p50 without by {STALL_MS} ms", "", late, f"of {len(ms)}")
        say(f"  {what}: longest", "", max(ms), "ms")
    longer = quantile(beside, 0.99) - quantile(alone, 0.99)
    say("stall of the engine by scrapes: p99 with, less p99 without", "under 20 ms", longer, "ms")


def _kept_ms(tw: Daemon, files: list[Path]) -> list[float]:
    """A NaN in one file after the other; how long until each was kept."""
    count = int(STALL_S * STALL_ROWS_PER_S)
    assert count <= len(files)
    written, began_s = {}, time.monotonic()
    for number, path in enumerate(files[:count]):
        # At no fixed place within what a scrape takes.
        due_s = began_s + (number + (number * 0.618) % 1) / STALL_ROWS_PER_S
        time.sleep(max(0.0, due_s - time.monotonic()))
        written[run_name(tw, path)] = time.time()
        write(path, row(100, math.nan))

    def found() -> dict[str, float] | None:
        kept = {
            line["run"]: datetime.fromisoformat(line["timestamp"]).timestamp()
            for line in tw.log()
            if line["event"] == "finding_firing" and line["category"] == "nan_loss"
        }
        return kept if kept.keys() >= written.keys() else None

    kept = wait_for(found, 30, "every finding is in the log")
    return [1000 * (kept[name] - at_s) for name, at_s in written.items()]


@contextmanager
def _scraped(tw: Daemon) -> Iterator[None]:
    """Scrape again and again meanwhile, in a process: a thread here would delay the writes."""
    context = multiprocessing.get_context("spawn")
    scrapes = context.Value("q", 0)
    scraper = context.Process(target=_scrape, args=(tw.address, scrapes), daemon=True)
    scraper.start()
    try:
        wait_for(lambda: scrapes.value > 2, message="it scrapes")
        yield
    finally:
        scraper.kill()
        scraper.join()


def _scrape(address: str, scrapes: Synchronized[int]) -> None:
    while True:
        with urlopen(f"http://{address}/metrics") as page:
            page.read()
        scrapes.value += 1
