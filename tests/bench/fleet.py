"""
A fleet that shares its runs: real daemons, one real Prometheus with our rules, one Alertmanager.

A hundred hosts need about 5 GB of memory and, on two cores, a few minutes to start. Prints how
long after the row each thing was so, and how many alerts and messages it made.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.e2e.daemon import receiver, wait_for
from tests.e2e.fleet import NAN, Fleet


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=100)
    parser.add_argument("--runs", type=int, default=4, help="healthy runs beside the bad one")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, receiver() as hook:
        hook.answer = lambda handler, attempt: 200
        fleet = Fleet(Path(directory), chosen.hosts, hook, limit_s=900.0)
        try:
            measure(fleet, chosen.runs)
        finally:
            fleet.close()


def measure(fleet: Fleet, runs: int) -> None:
    hosts = len(fleet.daemons)
    for number in range(runs):
        fleet.train(f"healthy{number}", *(2.0 - n / 1000 for n in range(500)))
    fleet.train("bad", 2.0, 1.9)
    began_s = time.monotonic()
    fleet.alertmanager.start()
    fleet.start(*fleet.daemons)
    print(f"{hosts} hosts ready after {time.monotonic() - began_s:.0f} s")
    fleet.prometheus.start()
    up = 'sum(up{job="tailwatch"})'
    wait_for(lambda: fleet.value(up) == hosts, fleet.limit_s, "all are scraped")
    began_s = time.monotonic()
    fleet.train("bad", NAN)
    wait_for(lambda: fleet.counted("bad") == [1.0] * hosts, fleet.limit_s)
    print(f"counted by all after {time.monotonic() - began_s:.1f} s")
    wait_for(lambda: fleet.scraped("bad") == hosts, fleet.limit_s)
    print(f"scraped from all after {time.monotonic() - began_s:.1f} s")
    fleet.wait_until_told("bad")
    print(f"told after {time.monotonic() - began_s:.1f} s")
    fleet.train("canary", 2.0, NAN)
    fleet.wait_until_told("canary")
    series = fleet.value('sum(scrape_samples_scraped{job="tailwatch"})')
    memory = fleet.value('sum(process_resident_memory_bytes{job="tailwatch"})')
    print(f"alerts at a time, by run: {fleet.alerts()}")
    print(f"messages, by run: {dict(fleet.told())}")
    print(
        f"series: {series:,.0f}, {series / hosts:,.0f} a host; memory: {memory / hosts / 2**20:.0f} MiB a host"
    )
    print(f"processors: {os.cpu_count()}, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
