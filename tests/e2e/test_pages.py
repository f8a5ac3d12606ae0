"""The pages and the API of a real daemon: as of its last commit, and the same after a crash."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tailwatch.core.names import run_path

from .daemon import Daemon, daemon, row, wait_for, write

NAN = float("nan")


def document(tw: Daemon, path: str) -> dict[str, Any]:
    """A document of the API, which has no bare NaN."""
    status, text = tw.get(path)
    assert status == 200, text

    def refuse(token: str) -> None:
        raise AssertionError(token)

    found: dict[str, Any] = json.loads(text, parse_constant=refuse)
    return found


def known(tw: Daemon, run: str, rows: int) -> dict[str, Any] | None:
    """The run, once it has so many rows."""
    runs = document(tw, "/api/v1/runs")["runs"]
    return next((each for each in runs if (each["run"], each["rows"]) == (run, rows)), None)


def test_a_run_from_its_first_row_to_after_a_crash(tmp_path: Path) -> None:
    """Finding, history, curve and checks are those of all rows, and a kill changes none."""
    path = tmp_path / "runs" / "exp 1" / "m.jsonl"
    with daemon(tmp_path) as tw:
        write(path, "".join(row(n, 2.0 - n / 100, lr=1e-4) for n in range(1, 41)))
        write(path, row(41, NAN))
        assert wait_for(lambda: known(tw, "exp 1/m", 41))
        (found,) = document(tw, "/api/v1/findings")["findings"]
        assert (found["run"], found["category"], found["step"]) == ("exp 1/m", "nan_loss", 41)
        write(path, "".join(row(n, 1.0) for n in range(42, 70)) + "no row\n")
        assert wait_for(lambda: known(tw, "exp 1/m", 69))
        before = document(tw, "/api/v1/runs/exp%201/m")
        page = tw.get("/run/exp%201/m")[1]
        tw.kill()
        tw.start()
        after = document(tw, "/api/v1/runs/exp%201/m")

    assert [each["resolved_step"] for each in before["history"]] == [61]
    assert before["curve"]["fields"]["loss"]["not_finite"][40] == 1
    assert len(before["curve"]["steps"]) == 69
    armed = {each["category"]: each["state"] for each in before["checks"]}
    assert (armed["loss_spike"], armed["kl_high"]) == ("armed", "off")
    assert (before["bad_lines"], before["state"]) == (1, "active")
    assert "Earlier findings" in page
    changing = {"lag_bytes"}
    assert {k: v for k, v in after.items() if k not in changing} == {
        k: v for k, v in before.items() if k not in changing
    }


def test_a_run_whose_file_is_gone_has_its_page_still(tmp_path: Path) -> None:
    """It is shown as ended, with its curve."""
    with daemon(tmp_path) as tw:
        path = tw.runs / "a.jsonl"
        write(path, row(1, 2.0) + row(2, 1.5) + row(3, 1.0))
        wait_for(lambda: known(tw, "a", 3))
        path.unlink()
        wait_for(lambda: document(tw, "/api/v1/runs/a")["state"] == "ended")
        assert document(tw, "/api/v1/runs/a")["curve"]["rows"] == 3
        assert 'class="chart loss"' in tw.get("/run/a")[1]


def test_files_that_are_no_runs_are_told(tmp_path: Path) -> None:
    """With why; those that cannot be read, too, where permissions count."""
    with daemon(tmp_path) as tw:
        text = "".join(json.dumps({"prompt": "x" * 1000, "n": n}) + "\n" for n in range(100))
        write(tw.runs / "metrics.jsonl", text)
        skipped = wait_for(lambda: document(tw, "/api/v1/runs")["skipped"])
        assert skipped == [
            {"file": str(tw.runs / "metrics.jsonl"), "reason": "no training fields"}
        ]
        assert "no training fields" in tw.get("/")[1]


def test_hostile_names_have_their_pages(tmp_path: Path) -> None:
    """Whatever bytes a directory is called, its run is listed, linked and found."""
    with daemon(tmp_path) as tw:
        raw = [
            b'caf\xff"\\\n<script>alert(1)</script>'.replace(b"/", b"|"),
            "e\u0301\u202e".encode(),
        ]
        for name in raw:
            write(Path(os.fsdecode(os.fsencode(tw.runs) + b"/" + name + b"/m.jsonl")), row(1, NAN))
        wait_for(lambda: len(document(tw, "/api/v1/findings")["findings"]) == len(raw))
        index = tw.get("/")[1]
        assert "<script>alert" not in index
        for each in document(tw, "/api/v1/runs")["runs"]:
            assert f'run/{run_path(each["run"])}"' in index
            status, page = tw.get(f"/run/{quote(each['run'])}")
            assert (status, "<script>alert" in page) == (200, False)
