"""The receiver type for Alertmanager, against Debian's: what it takes, and whom it tells how often."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tailwatch.receivers.alertmanager import render
from tests.deploy.tools import debian_tool
from tests.receivers.notices import notice

from .daemon import Daemon, Receiver, daemon, receiver, row, wait_for, write
from .servers import Server, free_port

NAN = float("nan")
LATE_S = 2.5
HOSTILE = '<!channel> `"\\\u202e\u0000 é' + "😀" * 20


class Alertmanager(Server):
    """It tells *hook* of each group of alerts at once, and again only of what changed."""

    def __init__(self, directory: Path, hook: Receiver) -> None:
        port = free_port()
        super().__init__(
            directory,
            port,
            [
                debian_tool("prometheus-alertmanager", "prometheus-alertmanager"),
                f"--config.file={directory / 'alertmanager.yml'}",
                f"--storage.path={directory / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
                "--cluster.listen-address=",
            ],
        )
        hooks = [{"url": hook.url, "send_resolved": True}]
        route = {"receiver": "hook", "group_by": ["alertname", "category", "run"]}
        route |= {"group_wait": "1s", "group_interval": "1s", "repeat_interval": "12h"}
        config = {"route": route, "receivers": [{"name": "hook", "webhook_configs": hooks}]}
        (directory / "alertmanager.yml").write_text(yaml.safe_dump(config))

    def alerts(self) -> list[dict[str, Any]]:
        return list(json.loads(self.get("/api/v2/alerts") or b"[]"))


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as made:
        yield made


@pytest.fixture
def alertmanager(tmp_path: Path, hook: Receiver) -> Iterator[Alertmanager]:
    made = Alertmanager(tmp_path / "alertmanager", hook)
    made.start()
    yield made
    made.close()


def told(hook: Receiver) -> list[tuple[str, str]]:
    """Status and run of each alert in each message, in order."""
    return [
        (alert["status"], alert["labels"]["run"])
        for post in list(hook.posts)
        for alert in post.body["alerts"]
    ]


def settings(directory: Path, alertmanager: Server) -> Path:
    path = directory / "tailwatch.toml"
    url = f"http://127.0.0.1:{alertmanager.port}"
    path.write_text(f'[[receivers]]\ntype = "alertmanager"\nurl = "{url}"\n')
    return path


def restarted(tw: Daemon) -> None:
    tw.kill()
    tw.start()


def test_one_message_for_a_finding_and_one_for_its_end(
    tmp_path: Path, alertmanager: Alertmanager, hook: Receiver
) -> None:
    """Repetitions, a kill of tailwatch and a restart of Alertmanager tell nobody twice."""
    with daemon(tmp_path, "--config", str(settings(tmp_path, alertmanager))) as tw:
        path = tw.runs / "exp" / "m.jsonl"
        write(path, row(1, 2.0) + row(2, NAN))
        wait_for(lambda: told(hook) == [("firing", "exp/m")], message="one message")
        (alert,) = alertmanager.alerts()
        assert alert["labels"] == {
            "alertname": "TrainingAnomaly",
            "run": "exp/m",
            "category": "nan_loss",
            "severity": "critical",
        }
        starts_at = alert["startsAt"]

        # A start reminds at once: the alert gets a new end, and is the old alert.
        restarted(tw)
        wait_for(lambda: alertmanager.alerts()[0]["endsAt"] > alert["endsAt"], 20, "a reminder")
        assert alertmanager.alerts()[0]["startsAt"] == starts_at

        # An Alertmanager that restarts has its log of messages, and no alerts.
        alertmanager.stop()
        alertmanager.start()
        assert alertmanager.alerts() == []
        tw.signal(signal.SIGHUP)
        wait_for(alertmanager.alerts, 20, "the alert is there again")
        time.sleep(LATE_S)
        assert told(hook) == [("firing", "exp/m")]

        # The trainer recovers; the finding is over after 20 rows.
        write(path, "".join(row(n, 2.0) for n in range(3, 30)))
        both = [("firing", "exp/m"), ("resolved", "exp/m")]
        wait_for(lambda: told(hook) == both, message="one end")
        tw.signal(signal.SIGHUP)
        time.sleep(LATE_S)
        assert told(hook) == both
        outcomes = [line for line in tw.log() if str(line.get("event")).startswith("notice_")]
        assert {line["event"] for line in outcomes} <= {"notice_delivered"}


def test_a_run_that_is_gone_is_not_repeated(
    tmp_path: Path, alertmanager: Alertmanager, hook: Receiver
) -> None:
    """Its alert has an end of its own: it lives ten minutes from when it was last sent."""
    with daemon(tmp_path, "--config", str(settings(tmp_path, alertmanager))) as tw:
        write(tw.runs / "m.jsonl", row(1, NAN))
        wait_for(lambda: told(hook), message="a message")
        ends_at = alertmanager.alerts()[0]["endsAt"]
        (tw.runs / "m.jsonl").unlink()
        wait_for(lambda: tw.metric("tailwatch_runs", state="ended") == 1, 20, "the run ended")
        restarted(tw)
        time.sleep(LATE_S)
        assert alertmanager.alerts()[0]["endsAt"] == ends_at


def test_bodies_are_taken(alertmanager: Alertmanager) -> None:
    """One alert, an end, a digest of 500, a test, hostile text: all are accepted as they are."""
    now_s = time.time()
    many = [notice(n, run=f"r{n}") for n in range(500)]
    hostile = notice(1, run=HOSTILE[:40], host=HOSTILE, message=HOSTILE * 200, suggestion="")
    ended = notice(2, "finding.resolved", resolved_at="", duration_s=5)
    for notices in ([notice()], [ended], many, [notice(kind="test", severity="info")], [hostile]):
        request = render("tw_0", notices, now_s, None)
        status = alertmanager.post("/api/v2/alerts", request.body, request.headers)
        assert status == 200, (notices[0], status)
    assert len(alertmanager.alerts()) >= 500
