"""
A cluster that goes wrong at once: how many messages, and how late the last finding is told.

300 runs go NaN within 10 seconds, then 200 at the same moment, each under a real daemon with a
real receiver. Prints the requests, the findings in each, the time from the last row until every
finding was told, and the worst time from a row to a scrape that shows it, scrapes included.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.e2e.daemon import daemon, receiver, wait_for
from tests.e2e.load import Storm, told, told_all


def measure(runs: int, seconds: float) -> None:
    """Print the figures of one storm."""
    with (
        tempfile.TemporaryDirectory() as directory,
        receiver() as hook,
        daemon(Path(directory), url=hook.url) as tw,
    ):
        storm = Storm(tw, runs)
        storm.wait_until_followed()
        with storm.watched():
            storm.break_out(seconds)
            wait_for(told_all(hook, storm.paths), 120)
        last_s = max(storm.written.values())
        sizes = [len(post.findings()) for post in hook.posts]
        once = told(hook) == dict.fromkeys(storm.paths, 1)
        print(f"{runs} runs go NaN within {last_s - min(storm.written.values()):.2f} s")
        print(f"  {hook.attempts} requests, each finding told exactly once: {once}")
        print(f"  findings in each: {sizes}")
        print(f"  last row to last finding told: {hook.posts[-1].at_s - last_s:.2f} s")
        print(f"  worst row to /metrics: {storm.worst_delay_s():.2f} s")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=10.0)
    chosen = parser.parse_args()
    measure(chosen.runs, chosen.seconds)
    measure(200, 0.0)


if __name__ == "__main__":
    main()
