"""Many hosts that mount one directory of runs: a daemon each, one Prometheus, one Alertmanager."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path

import yaml

from .daemon import Daemon, Receiver, row, wait_for, write
from .servers import BY_RUN, Alertmanager, Prometheus

NAN = float("nan")
FIRING = 'ALERTS{alertstate="firing", alertname="TrainingAnomalyCritical"}'
LIMIT_S = 60.0


class Fleet:
    """
    The hosts, and those who watch them.

    Args:
        directory: For everything.
        hosts: How many.
        hook: Alertmanager's Slack.
        limit_s: How long anything may take.
    """

    def __init__(self, directory: Path, hosts: int, hook: Receiver, limit_s: float = LIMIT_S):
        self.runs = directory / "shared"
        self.runs.mkdir()
        self.hook, self.limit_s = hook, limit_s
        self.daemons = [self._host(directory / f"host{n}") for n in range(hosts)]
        self.alertmanager = Alertmanager(directory / "alertmanager", hook)
        self.prometheus = Prometheus(directory / "prometheus", 0, self.alertmanager.port)
        path = directory / "prometheus" / "prometheus.yml"
        config = yaml.safe_load(path.read_text())
        self._targets = directory / "targets.json"
        (job,) = config["scrape_configs"]
        del job["static_configs"]
        job["file_sd_configs"] = [{"files": [str(self._targets)]}]
        path.write_text(yaml.safe_dump(config))

    def _host(self, directory: Path) -> Daemon:
        directory.mkdir()
        made = Daemon(directory)
        made.args[0] = str(self.runs)
        return made

    def start(self, *daemons: Daemon) -> None:
        """Start all of *daemons*, and only then wait for each; tell Prometheus where they are."""
        for each in daemons:
            each.start(ready=False)
            each.args += ["--listen", each.address]  # A host keeps its address.
        targets = [each.address for each in self.daemons if each.address]
        new = self._targets.with_suffix(".new")
        new.write_text(json.dumps([{"targets": targets}]))
        new.replace(self._targets)
        for each in daemons:
            wait_for(lambda each=each: each.get("/-/ready")[0] == 200, self.limit_s, "ready")

    def train(self, run: str, *losses: float) -> None:
        write(self.runs / f"{run}.jsonl", "".join(row(n, loss) for n, loss in enumerate(losses)))

    def counted(self, run: str) -> list[float | None]:
        """What each host says of the NaN in *run*."""
        return [
            each.metric("anomaly_findings_total", run=run, category="nan_loss")
            for each in self.daemons
            if each.process is not None and each.process.poll() is None
        ]

    def scraped(self, run: str) -> int:
        """From how many hosts Prometheus has *run* with a NaN in it."""
        found = f'anomaly_findings_total{{run="{run}", category="nan_loss"}} == 1'
        return len(self.prometheus.query(found))

    def alerts(self) -> dict[str, int]:
        """How many alerts of each run fired at the same time, at most."""
        most = f"max_over_time((count by (run) ({FIRING}))[1h:1s])"
        found = self.prometheus.query(most)
        return {each["metric"]["run"]: int(each["value"][1]) for each in found}

    def value(self, expression: str) -> float:
        """The one number that an expression gives; 0 if it gives none."""
        return sum(float(each["value"][1]) for each in self.prometheus.query(expression))

    def told(self) -> Counter[str]:
        """How often each run was listed, over all messages that are about one run."""
        return Counter(line for lines in self.messages(BY_RUN) for line in lines)

    def messages(self, receiver: str = "findings") -> list[list[str]]:
        """The runs that each message to *receiver* lists."""
        posts = [post for post in list(self.hook.posts) if post.path.endswith(f"/{receiver}")]
        # The last line of a message says what to do.
        return [post.body["attachments"][0]["text"].splitlines()[:-1] for post in posts]

    def wait_until_told(self, run: str) -> float:
        """How long it took."""
        began_s = time.monotonic()
        wait_for(lambda: self.told()[run] and self.listed(run), self.limit_s, f"{run} is told")
        return time.monotonic() - began_s

    def listed(self, run: str) -> int:
        """In how many messages of the shipped group *run* is."""
        return sum(run in lines for lines in self.messages())

    def close(self) -> None:
        for server in (self.prometheus, self.alertmanager):
            server.close()
        for each in self.daemons:
            if each.process is not None and each.process.poll() is None:
                each.kill()
