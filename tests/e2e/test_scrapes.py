"""What the alert rules rely on: no scrape, at no time, shows less than one before it."""

from __future__ import annotations

import contextlib
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from .daemon import Daemon, row, wait_for, write
from .servers import free_port
from .trouble import counted, with_fault

NAN = float("nan")

SLOW_STATE = """
# The state is read, and stays unknown until the file `given[0]` is there.
import os, time
from tailwatch.shell.store import SqliteStore
load = SqliteStore.load
def slow_load(self):
    restored = load(self)
    while not os.path.exists(given[0]):
        time.sleep(0.01)
    return restored
SqliteStore.load = slow_load
"""


@contextlib.contextmanager
def on_one_port(directory: Path, *args: str) -> Iterator[Daemon]:
    """A daemon, not started, whose address is the same in each of its lives."""
    port = free_port()
    tw = Daemon(directory, "--listen", f"127.0.0.1:{port}", *args)
    tw.address = f"127.0.0.1:{port}"
    try:
        yield tw
    finally:
        if tw.process is not None and tw.process.poll() is None:
            tw.kill()


class Scrapes:
    """/metrics, again and again: the highest value of each count, and whatever fell."""

    def __init__(self, tw: Daemon) -> None:
        self._tw = tw
        self._highest: dict[str, float] = {}
        self.statuses: Counter[int] = Counter()
        self.fell: list[tuple[str, float, float]] = []
        self.late: list[tuple[str, float]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._scrape)

    def __enter__(self) -> Scrapes:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()

    def _scrape(self) -> None:
        while not self._stop.is_set():
            status, text = self._tw.get("/metrics")
            self.statuses[status] += 1
            if status == 200:
                self._compare(text)
            else:
                time.sleep(0.005)

    def _compare(self, text: str) -> None:
        names = "anomaly_findings_total|anomaly_last_finding_timestamp_seconds"
        kept = rf'^((?:{names})\{{category="nan_loss".*\}}) (\S+)$'
        page = {series: float(value) for series, value in re.findall(kept, text, re.M)}
        now_s = time.time()
        for series in {*self._highest, *page}:
            was, value = self._highest.get(series, 0.0), page.get(series, -1.0)
            if value < was:
                self.fell.append((series, was, value))
            if series.startswith("anomaly_last_") and value > now_s:
                self.late.append((series, value))
            self._highest[series] = max(was, value)


def nan_losses(tw: Daemon) -> float:
    return counted(tw, "anomaly_findings_total", run="a/m", category="nan_loss")


def test_until_the_state_is_restored_a_scrape_fails(tmp_path: Path) -> None:
    """From the moment the port is open there is either no page, or one with all counts on it."""
    state_read = tmp_path / "state-read"
    with on_one_port(tmp_path) as tw:
        write(tw.runs / "a" / "m.jsonl", row(1, 2.0) + row(2, NAN))
        tw.start()
        assert nan_losses(tw) == 1
        tw.stop()
        tw.command = [*with_fault(SLOW_STATE, state_read), *tw.args]
        with Scrapes(tw) as scrapes:
            starter = threading.Thread(target=tw.start)
            starter.start()
            wait_for(lambda: scrapes.statuses[503] >= 3)
            assert scrapes.statuses[200] == 0
            state_read.touch()
            starter.join()
            wait_for(lambda: scrapes.statuses[200] >= 3)
        assert scrapes.fell == []
        assert nan_losses(tw) == 1


def test_no_scrape_takes_a_count_back(tmp_path: Path) -> None:
    """Through truncation, replacement, reload, restart, SIGKILL and a replay: counts only grow."""
    with on_one_port(tmp_path) as tw:
        path = tw.runs / "a" / "m.jsonl"
        write(path, row(1, 2.0))
        tw.start()
        with Scrapes(tw) as scrapes:
            write(path, "".join(row(step, 2.0) for step in range(2, 15)) + row(15, NAN))
            wait_for(lambda: nan_losses(tw) == 1)
            path.write_text(row(1, 2.5) + row(2, NAN))
            wait_for(lambda: nan_losses(tw) == 2)
            other = tmp_path / "other"
            other.write_text(row(1, 2.25) + row(2, 2.0) + row(3, NAN))
            other.rename(path)
            wait_for(lambda: nan_losses(tw) == 3)
            tw.signal(signal.SIGHUP)
            wait_for(lambda: [x["event"] for x in tw.log()].count("started") == 2)
            for end, checks in ((tw.kill, "all"), (tw.stop, "seed"), (tw.kill, "all")):
                end()
                # With other checks than before the whole file is read again.
                tw.args = [*tw.args, "--checks", checks]
                tw.start()
                assert nan_losses(tw) == 3
            write(path, row(4, 2.0))
            wait_for(lambda: tw.metric("tailwatch_run_last_step", run="a/m") == 4)
            seen = scrapes.statuses[200]
            wait_for(lambda: scrapes.statuses[200] > seen)
        assert scrapes.fell == []
        assert scrapes.late == []
        assert nan_losses(tw) == 3
