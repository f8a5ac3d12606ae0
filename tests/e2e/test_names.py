"""A file name may hold any byte but two; wherever it is shown, it is shown escaped."""

from __future__ import annotations

import json
import os
import re
import urllib.parse
from pathlib import Path

from tailwatch.core.names import escape
from tests.deploy.tools import run

from .daemon import command, daemon, receiver, row, wait_for

NAN = float("nan")
# Broken UTF-8, line ends, terminal sequences, HTML, quotes, a right-to-left override, a NUL's neighbour.
NAME = b'\xff<img src=x onerror=1>\n{"event": "forged"}\r\x1b[2J\'"\\ \x01 \xe2\x80\xae.jsonl'
DIRECTORY = b"exp\xfe\n"
RAW = re.compile(r"[\x00-\x09\x0b-\x1f\x7f\u202e\ud800-\udfff]")
"""What must be in no output: control characters but the line end, and what reorders text."""


def spoilt(text: str) -> list[str]:
    return RAW.findall(text)


def test_a_hostile_name_is_escaped_everywhere(tmp_path: Path) -> None:
    """Logs, metrics, pages, the API, the webhook, check and inspect show the name in one line of text."""
    directory = os.path.join(os.fsencode(tmp_path / "runs"), DIRECTORY)
    path = os.path.join(directory, NAME)
    os.makedirs(directory)
    name = escape(os.fsdecode(os.path.join(DIRECTORY, NAME))).removesuffix(".jsonl")
    with receiver() as hook, daemon(tmp_path, url=hook.url) as tw:
        with open(path, "w") as file:
            file.write(row(1, 2.0) + row(2, NAN))
        wait_for(hook.findings)
        (finding,) = hook.findings()
        page, metrics = tw.get("/")[1], tw.get("/metrics")[1]
        runs, findings = tw.get("/api/v1/runs")[1], tw.get("/api/v1/findings")[1]
        status, single = tw.get(f"/api/v1/runs/{urllib.parse.quote(name, safe='')}")
        tw.stop()
        output = tw.all_output()

    shown = {
        "webhook": (finding["run"], finding["file"]),
        "runs": (lambda one: (one["run"], one["file"]))(json.loads(runs)["runs"][0]),
        "one run": (lambda one: (one["run"], one["file"]))(json.loads(single)),
        "log": (lambda one: (one["run"], one["file"]))(
            next(line for line in tw.log() if line["event"] == "run_found")
        ),
    }
    assert status == 200
    assert dict.fromkeys(shown, (name, escape(os.fsdecode(path)))) == shown
    assert json.loads(findings)["findings"][0]["run"] == name
    for where, text in {"page": page, "metrics": metrics, "runs": runs, "log": output}.items():
        assert spoilt(text) == [], where
    assert "<img" not in page
    assert "&lt;img" in page
    # Each line of the log is one of ours.
    assert "forged" not in [line["event"] for line in tw.log()]

    for subcommand in ("check", "inspect"):
        plain = run(*command(subcommand, os.fsdecode(os.fsencode(tmp_path / "runs"))))
        document = run(*command(subcommand, "--format", "json", str(tmp_path / "runs")))
        assert spoilt(plain.stdout + plain.stderr + document.stdout) == [], subcommand
        assert name in plain.stdout.replace("\n", "") or subcommand == "inspect"
        assert json.dumps(name)[1:-1] in document.stdout
