"""From a row to Slack by way of a real Prometheus and Alertmanager, with the files we ship."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from .daemon import Daemon, Post, Receiver, receiver, row, wait_for, write
from .servers import BY_RUN, SCALE, Alertmanager, Prometheus, free_port

NAN = float("nan")
SIX_HOURS_S = 6 * 3600 / SCALE
FIRING = 'ALERTS{alertstate="firing", alertname=~"TrainingAnomaly.*"}'
LIMIT_S = 60.0
LATE_S = 2.5
"""A message that is sent although it should not be has come by then."""


class Chain:
    """A trainer, tailwatch, Prometheus, Alertmanager, and what its Slack was told."""

    def __init__(self, directory: Path, hook: Receiver) -> None:
        self.hook = hook
        port = free_port()
        self.alertmanager = Alertmanager(directory / "alertmanager", hook)
        self.prometheus = Prometheus(directory / "prometheus", port, self.alertmanager.port)
        self.tailwatch = Daemon(directory, "--listen", f"127.0.0.1:{port}")

    def close(self) -> None:
        for server in (self.prometheus, self.alertmanager):
            server.close()
        process = self.tailwatch.process
        if process is not None and process.poll() is None:
            self.tailwatch.kill()

    # The trainer.

    def train(self, run: str, *losses: float) -> Path:
        path = self.tailwatch.runs / run / "m.jsonl"
        first = len(path.read_text().splitlines()) if path.exists() else 0
        write(path, "".join(row(first + n, loss) for n, loss in enumerate(losses)))
        return path

    # What each in the chain has of it.

    def counted(self, run: str) -> float | None:
        return self.tailwatch.metric("anomaly_findings_total", run=f"{run}/m", category="nan_loss")

    def scraped(self, run: str, since_s: float) -> bool:
        """Whether Prometheus has a sample of the run's count that is newer than *since_s*."""
        count = f'timestamp(anomaly_findings_total{{run="{run}/m", category="nan_loss"}})'
        return any(float(each["value"][1]) > since_s for each in self.prometheus.query(count))

    def messages(self, name: str) -> list[tuple[str, ...]]:
        """The runs that each message to the receiver *name* speaks of, in order."""
        posts = [post for post in list(self.hook.posts) if post.path.endswith(f"/{name}")]
        return [runs_of(post) for post in posts]

    def told(self) -> Counter[str]:
        """How often each run was told, in messages that are about it alone."""
        return Counter(run for runs in self.messages(BY_RUN) for run in runs)

    def wait_until_told(self, *runs: str) -> None:
        wait_for(lambda: set(runs) <= set(self.told()), LIMIT_S, f"{runs} are told")


def runs_of(post: Post) -> tuple[str, ...]:
    """The runs that a message of the shipped template lists, a line each."""
    (attachment,) = post.body["attachments"]
    *runs, description = attachment["text"].splitlines()
    assert attachment["title"] == f"critical: nan_loss in {len(runs)} run(s)"
    assert "tailwatch explain nan_loss" in description
    assert all(run.endswith("/m") for run in runs)
    return tuple(run.removesuffix("/m") for run in runs)


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[Chain]:
    with receiver() as hook, ExitStack() as stack:
        hook.answer = lambda handler, attempt: 200
        made = Chain(tmp_path, hook)
        stack.callback(made.close)
        yield made


def starts_beside_history(chain: Chain) -> set[str]:
    """What was there long before, and NaNs before the first scrape and between scrapes."""
    now_s = time.time()
    for run, age_s in (("days-old", 86_400.0), ("hours-old", SIX_HOURS_S + 60)):
        os.utime(chain.train(run, 2.0, NAN), (now_s - age_s, now_s - age_s))
    for run in ("usual", "while-down", "no-prometheus", "no-alertmanager"):
        chain.train(run, 2.0, 1.9)
    chain.alertmanager.start()
    chain.tailwatch.start()
    chain.train("before-first-scrape", 2.0, NAN)
    wait_for(lambda: chain.counted("before-first-scrape") == 1)
    chain.prometheus.start()
    wait_for(lambda: chain.scraped("usual", now_s), LIMIT_S)
    chain.train("usual", NAN, NAN)
    chain.train("born-between-scrapes", NAN, 2.0)
    return {"before-first-scrape", "born-between-scrapes", "usual"}


def each_misses_a_finding(chain: Chain) -> set[str]:
    """Each of the three is down, one after the other, while a run goes NaN."""
    tw, prometheus, alertmanager = chain.tailwatch, chain.prometheus, chain.alertmanager
    tw.stop()
    chain.train("while-down", NAN)
    chain.train("born-while-down", 2.0, NAN)
    tw.start()
    prometheus.stop()
    chain.train("no-prometheus", NAN)
    wait_for(lambda: chain.counted("no-prometheus") == 1)
    prometheus.start()
    alertmanager.stop()
    chain.train("no-alertmanager", NAN)
    firing = 'run="no-alertmanager/m"'
    wait_for(lambda: prometheus.query(FIRING.replace("}", f", {firing}}}")), LIMIT_S)
    alertmanager.start()
    return {"while-down", "born-while-down", "no-prometheus", "no-alertmanager"}


def all_restart_when_it_is_old_news(chain: Chain) -> None:
    """No alert fires any more; then all three end at once, tailwatch by SIGKILL."""
    prometheus = chain.prometheus
    wait_for(lambda: prometheus.evaluations() and not prometheus.query(FIRING), LIMIT_S)
    prometheus.stop()
    chain.alertmanager.stop()
    chain.tailwatch.kill()
    chain.alertmanager.start()
    chain.tailwatch.start()
    prometheus.start()
    restarted_s = time.time()
    wait_for(lambda: chain.scraped("usual", restarted_s), LIMIT_S)
    evaluated = prometheus.evaluations()
    wait_for(lambda: prometheus.evaluations() >= evaluated + 2, LIMIT_S)


def test_every_finding_is_one_message_and_history_is_none(chain: Chain) -> None:
    """
    Wherever a NaN falls between starts, scrapes and restarts, Slack is told of it once.

    What was there long before is told never. One run for each case, all at the same time.
    """
    expected = starts_beside_history(chain)
    chain.wait_until_told(*expected)
    expected |= each_misses_a_finding(chain)
    chain.wait_until_told(*expected)
    all_restart_when_it_is_old_news(chain)
    chain.train("canary", 2.0, NAN)
    expected.add("canary")
    chain.wait_until_told("canary")
    time.sleep(LATE_S)

    assert dict.fromkeys(expected, 1) == chain.told()
    assert all(len(runs) == 1 for runs in chain.messages(BY_RUN))
    assert chain.counted("days-old") == 1
    assert chain.counted("hours-old") == 1
    # With the groups as we ship them there is no message either that has nothing new in it.
    known: set[str] = set()
    for runs in chain.messages("findings"):
        assert not set(runs) <= known
        known |= set(runs)
    assert known == expected
