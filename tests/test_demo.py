"""The demo: short, complete, and clean afterwards."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from tailwatch.demo import run_demo


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
