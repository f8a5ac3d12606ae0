"""Real processes that hang, finish, die and sleep between rows, told in real time (scaled)."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from .daemon import daemon, receiver, wait_for

TRAINER = """
import json, sys, time
path, way = sys.argv[1:]
file = open(path, "a", buffering=1)
def row(step, **more):
    file.write(json.dumps({"step": step, "loss": 2.0, **more}) + "\\n")
plan = {"max_steps": 1000} if way in ("dies", "evaluates") else {}
for step in range(1, 13):
    row(step, **plan)
    time.sleep(0.2)
if way == "finishes":
    file.write(json.dumps({"step": 12, "train_runtime": 3.0, "train_loss": 2.0}) + "\\n")
elif way == "evaluates":
    while True:
        time.sleep(1.0)
        row(step, **plan)
        step += 1
if way != "dies":
    time.sleep(600)
"""
SETTINGS = """
sweep_interval = 0.5
[thresholds.run_stalled]
seconds_min = 3
factor = 5
"""


def test_each_silence_is_told_as_what_it_is(tmp_path: Path) -> None:
    """A hang and a death are paged, once each; an end and slow steps are not."""
    settings = tmp_path / "tailwatch.toml"
    settings.write_text(SETTINGS)
    trainers: dict[str, subprocess.Popen[bytes]] = {}
    with receiver() as hook, daemon(tmp_path, "--config", str(settings), url=hook.url) as tw:
        try:
            for way in ("hangs", "finishes", "dies", "evaluates"):
                command = [sys.executable, "-c", TRAINER, str(tw.runs / f"{way}.jsonl"), way]
                trainers[way] = subprocess.Popen(command)
            active = {"category": "run_stalled", "severity": "critical"}
            for way in ("hangs", "dies"):
                wait_for(
                    lambda way=way: tw.metric("anomaly_findings_active", run=way, **active) == 1,
                    message=f"{way} has stalled",
                )
            wait_for(lambda: hook.findings(), message="a page")
            for way in ("finishes", "evaluates"):
                assert tw.metric("anomaly_findings_total", run=way, **active) == 0
        finally:
            for process in trainers.values():
                process.send_signal(signal.SIGKILL)
                process.wait()
        assert tw.stop() == 0

    said = {f["run"]: f["message"] for f in hook.findings()}
    # If they fell silent together, one page speaks for both.
    assert set(said) <= {"hangs", "dies"}
    assert len(hook.findings()) == len(said)
    together = "on this host fell silent at the same time"
    assert len(said) == 2 or all(together in message for message in said.values())
