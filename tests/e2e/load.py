"""Many runs that go NaN, and how long each takes to be shown: for benchmarks and their tests."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .daemon import Daemon, Receiver, row, wait_for, write
from .trouble import wait_for_rows

NAN = float("nan")
ROWS = 5
_COUNT = re.compile(r'^anomaly_findings_total\{category="nan_loss",run="([^"]*)".*\} 1\.0$', re.M)


class Storm:
    """Runs that train well until they are told to go NaN, and when each did (Unix seconds)."""

    def __init__(self, tw: Daemon, runs: int, prefix: str = "run") -> None:
        self.tw = tw
        self.paths = {f"{prefix}{n}/m": tw.runs / f"{prefix}{n}" / "m.jsonl" for n in range(runs)}
        self.written: dict[str, float] = {}
        self.shown: dict[str, float] = {}
        for path in self.paths.values():
            write(path, "".join(row(step, 2.0) for step in range(ROWS)))

    def wait_until_followed(self, others: dict[str, int] | None = None) -> None:
        """Until every row so far is read; *others* are the rows of runs that are there besides."""
        wait_for_rows(self.tw, (others or {}) | dict.fromkeys(self.paths, ROWS), 60, every_s=0.2)

    def break_out(self, seconds: float = 0.0) -> None:
        """Each run goes NaN, one after the other, within *seconds*."""
        began_s, pause_s = time.monotonic(), seconds / len(self.paths)
        for number, (run, path) in enumerate(self.paths.items()):
            time.sleep(max(0.0, began_s + number * pause_s - time.monotonic()))
            self.written[run] = time.time()
            write(path, row(ROWS, NAN))

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Scrape /metrics without a pause, and note when each finding is first shown."""
        stop = threading.Event()

        def scrape() -> None:
            while not stop.is_set():
                text = self.tw.get("/metrics")[1]
                for run in _COUNT.findall(text):
                    self.shown.setdefault(run, time.time())

        scraper = threading.Thread(target=scrape)
        scraper.start()
        try:
            yield
            wait_for(lambda: set(self.paths) <= set(self.shown), 60, "every finding is shown")
        finally:
            stop.set()
            scraper.join()

    def worst_delay_s(self) -> float:
        """From a trainer's row to a scrape that shows it; the scrape is part of it."""
        return max(self.shown[run] - at for run, at in self.written.items())


def told(hook: Receiver) -> Counter[str]:
    """How often each run was told."""
    return Counter(finding["run"] for finding in hook.findings())


def told_all(hook: Receiver, runs: Iterator[str] | dict[str, Path]) -> Callable[[], bool]:
    """Whether each of *runs* was told."""
    names = set(runs)
    return lambda: names <= set(told(hook))


def receivers_file(path: Path, urls: dict[str, str]) -> Path:
    """A settings file with a receiver for each of *urls*, by its name."""
    path.write_text(
        "".join(f'[[receivers]]\nname = "{name}"\nurl = "{url}"\n' for name, url in urls.items())
    )
    return path
