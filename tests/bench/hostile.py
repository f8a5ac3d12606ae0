"""
Receivers that hang, drip, reset, refuse and flood, all at once, beside one that is well.

100 runs go NaN within 10 seconds under a real daemon. Prints, without and then with one receiver
of every hostile kind: the worst time from a row to a scrape that shows it (scrapes included), the
time from the last row until the good receiver was told of everything, and the daemon's memory.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.e2e.daemon import daemon, receiver, wait_for
from tests.e2e.hostile import KINDS, hostile_receivers
from tests.e2e.load import Storm, receivers_file, told, told_all
from tests.e2e.trouble import status

RUNS, SPREAD_S = 100, 10.0


def measure(with_hostile: bool) -> None:
    """Print the figures of one daemon."""
    with (
        tempfile.TemporaryDirectory() as name,
        receiver() as good,
        hostile_receivers(Path(name)) as hostile,
    ):
        urls = {"good": good.url}
        if with_hostile:
            urls |= {kind: each.url for kind, each in hostile.items()}
        settings = receivers_file(Path(name) / "tailwatch.toml", urls)
        with daemon(Path(name), "--config", str(settings)) as tw:
            storm = Storm(tw, RUNS)
            storm.wait_until_followed()
            before_kib = status(tw, "VmRSS")
            with storm.watched():
                storm.break_out(SPREAD_S)
                wait_for(told_all(good, storm.paths), 60)
            peak_kib = status(tw, "VmHWM")
        late_s = good.posts[-1].at_s - max(storm.written.values())
        once = told(good) == dict.fromkeys(storm.paths, 1)
        print(f"{len(KINDS) if with_hostile else 'no'} hostile receivers")
        print(f"  worst row to /metrics: {storm.worst_delay_s() * 1000:.0f} ms")
        print(f"  last row to last finding told: {late_s:.2f} s; each exactly once: {once}")
        print(f"  memory: {before_kib / 1024:.0f} MiB before, {peak_kib / 1024:.0f} MiB at most")
        if with_hostile:
            requests = {kind: len(each.requests) for kind, each in hostile.items()}
            print(f"  requests to each: {requests}")


def main() -> None:
    """Measure and print."""
    for with_hostile in (False, True):
        measure(with_hostile)


if __name__ == "__main__":
    main()
