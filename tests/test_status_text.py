"""The table of `tailwatch status`."""

from __future__ import annotations

import re

from tailwatch.pages.api import runs_document
from tailwatch.status_text import status_text
from tests.shell.helpers import run_view, snapshot, standing


def test_the_table() -> None:
    """One line for each finding, the run's facts beside the first; the sum at the end."""
    runs = [
        run_view("a", last_step=7.0, loss=0.5, last_row_s=1000.0),
        run_view("exp/b\x1b", standing=[standing(), standing()], last_row_s=None, loss=None),
    ]
    text = status_text(runs_document(snapshot(*runs)), 1060.0)
    lines = [line.rstrip() for line in _plain(text).splitlines()]
    assert lines[0].split() == [
        "RUN",
        "STATE",
        "STEP",
        "LOSS",
        "RECENT",
        "LAST",
        "ROW",
        "FINDINGS",
    ]
    assert lines[1].split() == ["a", "active", "7", "0.5", "1", "min", "ago", "nothing"]
    assert lines[2].startswith("exp/b\\x1b  active")
    assert lines[2].partition("critical")[2] == lines[3].partition("critical")[2]
    assert lines[3].startswith(" " * lines[2].index("critical") + "critical nan_loss: ")
    assert lines[4] == "2 runs: 2 critical, 0 warning, 0 info"


def test_the_table_of_nothing() -> None:
    """A daemon without runs is well."""
    text = status_text(runs_document(snapshot()), 0.0)
    assert text.splitlines()[-1] == "0 runs: 0 critical, 0 warning, 0 info"


def test_trouble_is_shown() -> None:
    """A file that cannot be read is no quiet run."""
    view = run_view("a")._replace(trouble="Permission denied")
    assert "Permission denied" in status_text(runs_document(snapshot(view)), 0.0)


def _plain(text: str) -> str:
    return re.sub(r"\x1b\[\d*m", "", text)
