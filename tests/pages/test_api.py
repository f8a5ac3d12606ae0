"""The JSON API: the fields of `check`, what stands where, and no NaN."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.checks import CHECKS
from tailwatch.config import load_settings
from tailwatch.core.findings import Severity
from tailwatch.diagnose import read_all
from tailwatch.documents import check_document
from tailwatch.messages import Skipped
from tailwatch.pages.api import findings_document, moment, run_facts, runs_document
from tailwatch.readers import KeptReader
from tailwatch.shown import view_of
from tailwatch.tracked import Tracked
from tests.shell.helpers import run_view, snapshot, standing

LOG = "".join(
    json.dumps({"step": n, "loss": math.nan if n == 7 else 2.0, "learning_rate": 1e-4}) + "\n"
    for n in range(1, 10)
)


def followed(log: str) -> Tracked:
    tracked = Tracked("/r/exp1/m.jsonl", "/r", KeptReader(CHECKS), "exp1/m")
    for transition in tracked.reader.feed(log.encode()):
        tracked.count(transition, 1767225600.0)
    tracked.last_row_s = tracked.active_s = 1767225600.0
    return tracked


def test_the_fields_of_check_are_all_there(tmp_path: Path) -> None:
    """What `check` says of a file, the API says of the run in the same words."""
    path = tmp_path / "exp1" / "m.jsonl"
    path.parent.mkdir()
    path.write_text(LOG + "no row\n")
    diagnoses, _ = read_all(
        [str(path)], load_settings({}, {}, "/dev/null"), None, whole_file=False
    )
    (checked,) = check_document(diagnoses)["runs"]
    live = run_facts(view_of(followed(LOG + "no row\n"), "active"))

    (told,) = checked.pop("findings")
    (stands,) = live.pop("findings")
    # What fired lately: the daemon's own word, with the rows and bytes of `check`.
    assert {k: stands[k] for k in ("category", "severity", "suggestion", "step", "row")} == {
        k: told[k] for k in ("category", "severity", "suggestion", "step", "row")
    }
    assert set(told) <= set(stands)
    assert live["file"] == "/r/exp1/m.jsonl"
    del checked["file"], checked["history"]
    assert checked == {key: live[key] for key in checked}


def test_a_run_says_since_when(tmp_path: Path) -> None:
    """State, since, segment, last row and loss, times as in a webhook."""
    facts = run_facts(view_of(followed(LOG), "active"))
    some = {k: facts[k] for k in ("state", "since", "segment", "last_row_time", "loss")}
    assert some == {
        "state": "active",
        "since": "2026-01-01T00:00:00Z",
        "segment": 1,
        "last_row_time": "2026-01-01T00:00:00Z",
        "loss": 2.0,
    }
    assert [facts["findings"][0][k] for k in ("state", "since", "segment")] == [
        "firing",
        "2026-01-01T00:00:00Z",
        1,
    ]
    assert facts["findings"][0]["evidence"]["loss"] == "NaN"


def test_runs_come_by_name_and_skipped_files_beside_them() -> None:
    """The document is the same however the runs were found."""
    found = [Skipped("/r/data.jsonl", "no training fields")]
    shown = snapshot(run_view("b"), run_view("a"), skipped=found, skipped_total=7)
    document = runs_document(shown)
    assert [run["run"] for run in document["runs"]] == ["a", "b"]
    assert document["skipped"] == [{"file": "/r/data.jsonl", "reason": "no training fields"}]
    assert document["skipped_total"] == 7


def test_findings_come_worst_first() -> None:
    """Over all runs: critical before warning, then by the run's name."""
    warning = standing("loss_flat", Severity.WARNING)
    shown = snapshot(
        run_view("a", standing=[warning]),
        run_view("c", standing=[warning, standing()]),
        run_view("b", standing=[standing()]),
        run_view("d"),
    )
    found = [(each["run"], each["severity"]) for each in findings_document(shown)["findings"]]
    assert found == [
        ("b", "critical"),
        ("c", "critical"),
        ("a", "warning"),
        ("c", "warning"),
    ]
    assert [f["severity"] for f in run_facts(shown.runs["c"])["findings"]] == [
        "critical",
        "warning",
    ]


@given(
    values=st.tuples(*[st.none() | st.floats() for _ in range(5)]),
    evidence=st.dictionaries(st.text(), st.floats()),
)
@settings(deadline=None)
def test_no_number_breaks_the_document(
    values: tuple[Any, ...], evidence: dict[str, float]
) -> None:
    """Whatever the numbers of a run are, a strict JSON reader takes them, times included."""
    first, last, loss, row_s, since_s = values
    run = run_view(first_step=first, last_step=last, loss=loss, last_row_s=row_s, since_s=since_s)
    run = run._replace(standing=[standing()._replace(evidence=evidence)])

    def refuse(token: str) -> None:
        raise AssertionError(token)

    text = json.dumps(runs_document(snapshot(run)), allow_nan=False)
    assert json.loads(text, parse_constant=refuse)["runs"][0]["run"] == run.name


def test_a_time_that_no_calendar_has_is_none() -> None:
    """A trainer's own time may be anything."""
    assert [moment(t) for t in (None, math.nan, 1e300, -1e300, 0.0)] == [
        *[None] * 4,
        "1970-01-01T00:00:00Z",
    ]
