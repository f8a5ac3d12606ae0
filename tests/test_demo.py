"""The demo: short, complete, and clean afterwards."""

from __future__ import annotations

import re
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tailwatch.demo import run_demo
from tests.shell.helpers import wait_until
from tests.terminals import Terminal


class Silent:
    """A log that nobody reads."""

    def _say(self, event: str, **facts: Any) -> None:
        pass

    debug = info = warning = error = _say


@pytest.mark.parametrize("keep", [False, True])
def test_the_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: bool) -> None:
    """It finds the NaN, shows counter and body, ends by itself, and leaves what it is asked to."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    said: list[str] = []
    began_s = time.monotonic()
    run_demo(2.0, keep, said.append, Silent())
    text = "\n".join(said)

    assert time.monotonic() - began_s < 20
    assert "Found: loss is NaN at step" in text
    assert 'anomaly_findings_total{category="nan_loss",run="demo/metrics"' in text
    assert '"type": "finding.firing"' in text
    assert keep == bool(list(tmp_path.iterdir()))


def test_the_page_stays_until_it_is_enough(tmp_path: Path) -> None:
    """At a terminal `--keep` leaves the page there; Ctrl-C ends it well, and the files are left."""
    with Terminal("demo", "--seconds", "2", "--keep", TMPDIR=str(tmp_path)) as terminal:
        terminal.waits_for(lambda seen: "until Ctrl-C.\n" in seen, "the end of the story")
        (file,) = tmp_path.glob("*/runs/demo/metrics.jsonl")
        wait_until(lambda: len(file.read_text().splitlines()) == 40, "the end of training")
        (address, again) = re.findall(r"http://127\.0\.0\.1:\d+/", terminal.seen)
        with urllib.request.urlopen(address, timeout=10) as page:
            assert "nan_loss" in page.read().decode()
        terminal.press(b"\x03")
        code, seen = terminal.end()

    assert (code, address) == (0, again)
    assert f"Done. Kept: {file.parents[2]}\n" in seen
    assert "Traceback" not in seen
    assert file.exists()


def test_ctrl_c_ends_the_looking(tmp_path: Path) -> None:
    """Once the story is told nobody has to wait for the rest; nothing is left."""
    with Terminal("demo", "--seconds", "8", TMPDIR=str(tmp_path)) as terminal:
        terminal.waits_for(lambda seen: seen.endswith("\n}\n"), "the end of the story")
        terminal.press(b"\x03")
        code, seen = terminal.end()

    assert code == 0
    assert "Done.\nNext: tailwatch run" in seen
    assert list(tmp_path.iterdir()) == []
