"""
From a trainer's write to the webhook, and to /metrics: a real daemon, real inotify, real HTTP.

50 runs go NaN one after the other, a little more than a second apart, since a
receiver is sent one message a second and no more. Prints milliseconds.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.e2e.daemon import daemon, receiver, row, write

RUNS = 50
SPACING_S = 1.1


def main() -> None:
    """Measure and print."""
    with (
        tempfile.TemporaryDirectory() as directory,
        receiver() as hook,
        daemon(Path(directory), url=hook.url) as tw,
    ):
        paths = [tw.runs / f"run{number}" / "metrics.jsonl" for number in range(RUNS)]
        for path in paths:
            write(path, "".join(row(step, 2.0) for step in range(20)))
        time.sleep(2)
        written: dict[str, float] = {}
        shown: dict[str, float] = {}
        stop = threading.Event()

        def scrape() -> None:
            while not stop.is_set():
                for series, value in tw.metrics().items():
                    if value == 1 and series.startswith('anomaly_findings_total{category="nan_'):
                        run = series.split('run="')[1].split('"')[0]
                        shown.setdefault(run, time.time())

        scraper = threading.Thread(target=scrape)
        scraper.start()
        for number, path in enumerate(paths):
            written[f"run{number}/metrics"] = time.time()
            write(path, row(20, float("nan")))
            time.sleep(SPACING_S)
        stop.set()
        scraper.join()
        told: dict[str, list[float]] = {}
        for post in hook.posts:
            for finding in post.findings():
                told.setdefault(finding["run"], []).append(post.at_s)
        once = all(len(told.get(run, [])) == 1 for run in written)
        print(f"{len(told)} of {RUNS} runs told, each exactly once: {once}")
        report("write to post", [told[run][0] - at for run, at in written.items()])
        report(
            "write to /metrics, scraped in a loop",
            [shown[run] - at for run, at in written.items()],
        )


def report(what: str, seconds: list[float]) -> None:
    """Print median and worst."""
    ms = [value * 1000 for value in seconds]
    print(f"{what}: median {statistics.median(ms):.1f} ms, worst {max(ms):.1f} ms")


if __name__ == "__main__":
    main()
