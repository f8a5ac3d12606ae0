"""What Prometheus sees: zeros first, closed label sets, nothing that breaks a page."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import threading
from collections.abc import Iterable
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder, generate_latest
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as parse_openmetrics,
)
from prometheus_client.parser import text_string_to_metric_families as parse_text

from tailwatch.board import Board
from tailwatch.checks import CHECKS
from tailwatch.core.cursor import RESTART_REASONS
from tailwatch.core.findings import Severity
from tailwatch.core.outbox import OUTCOMES
from tailwatch.core.rows import BAD_LINE_REASONS
from tailwatch.messages import NEWS_S, RUN_STATES, RunView
from tailwatch.shell.exposition import Exposed, make_registry
from tests.shell.helpers import run_view, snapshot, standing, tally

CATEGORIES = [(check.category, check.severity.value) for check in CHECKS]
NOW_S = 2000.0

# The table of the public contract: family, type, labels.
PROMISED: dict[str, tuple[str, set[str]]] = {
    "anomaly_findings_total": ("counter", {"run", "category", "severity"}),
    "anomaly_findings_active": ("gauge", {"run", "category", "severity"}),
    "anomaly_last_finding_timestamp_seconds": ("gauge", {"run", "category", "severity"}),
    "tailwatch_run_last_row_timestamp_seconds": ("gauge", {"run"}),
    "tailwatch_run_last_step": ("gauge", {"run"}),
    "tailwatch_run_loss": ("gauge", {"run"}),
    "tailwatch_run_rows_total": ("counter", {"run"}),
    "tailwatch_run_lag_bytes": ("gauge", {"run"}),
    "tailwatch_run_info": ("gauge", {"run", "file", "run_config"}),
    "tailwatch_runs": ("gauge", {"state"}),
    "tailwatch_bad_lines_total": ("counter", {"reason"}),
    "tailwatch_check_errors_total": ("counter", {"category"}),
    "tailwatch_restarts_total": ("counter", {"reason"}),
    "tailwatch_watch_mode": ("gauge", {"root", "mode"}),
    "tailwatch_watch_overflows_total": ("counter", set()),
    "tailwatch_watcher_restarts_total": ("counter", set()),
    "tailwatch_sweep_duration_seconds": ("summary", set()),
    "tailwatch_commit_duration_seconds": ("summary", set()),
    "tailwatch_state_errors_total": ("counter", set()),
    "tailwatch_outbox_pending": ("gauge", set()),
    "tailwatch_outbox_oldest_age_seconds": ("gauge", set()),
    "tailwatch_deliveries_total": ("counter", {"receiver", "outcome"}),
    "tailwatch_ended_runs_dropped_total": ("counter", {"what"}),
    "tailwatch_http_connections_dropped_total": ("counter", set()),
    "tailwatch_textfile_errors_total": ("counter", set()),
    "tailwatch_series_dropped_total": ("counter", set()),
    "tailwatch_config_reload_success": ("gauge", set()),
    "tailwatch_build_info": ("gauge", {"version", "python"}),
}


def registry_of(board: Board, **more: Any) -> CollectorRegistry:
    exposed = Exposed(CATEGORIES, ["ops", "slack"])._replace(**more)
    return make_registry(board, exposed, lambda: NOW_S, lambda: NOW_S)


def page(*runs: RunView, exposed: dict[str, Any] | None = None, **more: Any) -> str:
    """The text of a scrape while these runs are known."""
    board = Board()
    board.publish(snapshot(*runs, **more))
    return generate_latest(registry_of(board, **(exposed or {}))).decode()


def samples(text: str, name: str) -> dict[tuple[str, ...], float]:
    """Label values (in the order of the labels' names) -> value, of one metric."""
    return {
        tuple(value for _, value in sorted(sample.labels.items())): sample.value
        for family in parse_text(text)
        for sample in family.samples
        if sample.name == name
    }


def full_page() -> str:
    """A page on which every promised metric has a sample."""
    run = run_view(tallies={"nan_loss": tally(2)}, standing=[standing()])
    modes = {("watch_mode", "/runs", mode): 0 for mode in ("events", "sweep", "missing")}
    return page(run, gauges=modes, outbox_oldest_s=1900.0)


# What is promised.


def test_names_types_and_labels_are_the_promised_ones() -> None:
    """Every metric of the contract is there, with its type and labels, and none that is not in it."""
    found: dict[str, tuple[str, set[str]]] = {}
    for family in parse_text(full_page()):
        name = f"{family.name}_total" if family.type == "counter" else family.name
        if not name.startswith("process_"):
            found[name] = (family.type, set(family.samples[0].labels))
    assert found == PROMISED


def test_every_family_has_a_help_text() -> None:
    """Somebody who meets a metric for the first time is told what it is."""
    assert [f.name for f in parse_text(full_page()) if not f.documentation.strip()] == []


def test_promtool_finds_nothing() -> None:
    """The page passes Prometheus's own lint."""
    promtool = shutil.which("promtool")
    if promtool is None:
        message = "promtool is not installed (Debian package prometheus)"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    result = subprocess.run(
        [promtool, "check", "metrics"],
        input=full_page(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_no_created_series() -> None:
    """The page does not hold a second series for each counter."""
    assert "_created" not in full_page()
    board = Board()
    board.publish(snapshot(run_view(tallies={"nan_loss": tally(2)})))
    encoder, _ = choose_encoder("application/openmetrics-text; version=1.0.0")
    assert "_created" not in encoder(registry_of(board)).decode()


def test_openmetrics_says_the_same() -> None:
    """Both formats hold the same samples, and OpenMetrics ends as it must."""
    board = Board()
    board.publish(snapshot(run_view(tallies={"nan_loss": tally(2)}, standing=[standing()])))
    registry = registry_of(board)
    encoder, content_type = choose_encoder("application/openmetrics-text; version=1.0.0")
    text = encoder(registry).decode()
    assert "application/openmetrics-text" in content_type
    assert text.endswith("# EOF\n")

    def flat(families: Iterable[Any]) -> set[tuple[Any, ...]]:
        return {
            (s.name, tuple(sorted(s.labels.items())), s.value)
            for family in families
            for s in family.samples
            if not s.name.startswith("process_")
        }

    assert flat(parse_text(generate_latest(registry).decode())) == flat(parse_openmetrics(text))


# Zeros first.


def test_known_run_has_a_zero_for_every_category() -> None:
    """A run that was never wrong has every series, so that the first finding is an increase."""
    text = page(run_view("a"), run_view("b"))
    expected = {(c, run, s): 0.0 for c, s in CATEGORIES for run in ("a", "b")}
    assert expected == samples(text, "anomaly_findings_total")
    assert expected == samples(text, "anomaly_findings_active")
    assert samples(text, "anomaly_last_finding_timestamp_seconds") == {}


def test_findings_are_counted_and_shown() -> None:
    """What was counted is shown as counted, what stands as 1, and when it last fired."""
    text = page(run_view("a", tallies={"nan_loss": tally(3, 1234.5)}, standing=[standing()]))
    key = ("nan_loss", "a", "critical")
    assert samples(text, "anomaly_findings_total")[key] == 3.0
    assert samples(text, "anomaly_findings_active")[key] == 1.0
    assert sum(samples(text, "anomaly_findings_active").values()) == 1.0
    assert {key: 1234.5} == samples(text, "anomaly_last_finding_timestamp_seconds")


def test_closed_label_sets_are_whole_from_the_first_scrape() -> None:
    """Before anything has happened every label value that can happen is there at 0."""
    text = page()
    assert {(r,): 0.0 for r in BAD_LINE_REASONS} == samples(text, "tailwatch_bad_lines_total")
    assert {(r,): 0.0 for r in RESTART_REASONS} == samples(text, "tailwatch_restarts_total")
    assert {(s,): 0.0 for s in RUN_STATES} == samples(text, "tailwatch_runs")
    assert {(c,): 0.0 for c, _ in CATEGORIES} == samples(text, "tailwatch_check_errors_total")
    assert {(o, r): 0.0 for o in OUTCOMES for r in ("ops", "slack")} == samples(
        text, "tailwatch_deliveries_total"
    )
    for name in (
        "tailwatch_watch_overflows_total",
        "tailwatch_state_errors_total",
        "tailwatch_outbox_pending",
        "tailwatch_outbox_oldest_age_seconds",
        "tailwatch_http_connections_dropped_total",
        "tailwatch_series_dropped_total",
        "tailwatch_sweep_duration_seconds_count",
        "tailwatch_commit_duration_seconds_sum",
    ):
        assert samples(text, name) == {(): 0.0}, name


def test_totals_and_gauges_reach_their_samples() -> None:
    """Each of the engine's numbers is shown under its own name."""
    text = page(
        totals={
            ("bad_lines", "not_json"): 4,
            ("restarts", "truncated"): 2,
            ("check_errors", "nan_loss"): 1,
            ("deliveries", "ops", "delivered"): 7,
            ("watch_overflows",): 3,
            ("state_errors",): 5,
        },
        gauges={
            ("outbox_pending",): 6,
            ("sweeps",): 8,
            ("sweep_seconds",): 0.5,
            ("commits",): 9,
            ("commit_seconds",): 0.25,
            ("watch_mode", "/runs", "events"): 1,
        },
        outbox_oldest_s=1900.0,
    )
    assert samples(text, "tailwatch_bad_lines_total")["not_json",] == 4.0
    assert samples(text, "tailwatch_restarts_total")["truncated",] == 2.0
    assert samples(text, "tailwatch_check_errors_total")["nan_loss",] == 1.0
    assert samples(text, "tailwatch_deliveries_total")["delivered", "ops"] == 7.0
    assert samples(text, "tailwatch_watch_overflows_total") == {(): 3.0}
    assert samples(text, "tailwatch_state_errors_total") == {(): 5.0}
    assert samples(text, "tailwatch_outbox_pending") == {(): 6.0}
    assert samples(text, "tailwatch_sweep_duration_seconds_count") == {(): 8.0}
    assert samples(text, "tailwatch_sweep_duration_seconds_sum") == {(): 0.5}
    assert samples(text, "tailwatch_commit_duration_seconds_count") == {(): 9.0}
    assert samples(text, "tailwatch_watch_mode") == {("events", "/runs"): 1.0}
    assert samples(text, "tailwatch_outbox_oldest_age_seconds") == {(): 100.0}


def test_age_of_the_outbox_is_never_negative() -> None:
    """A notice from a clock that was ahead is new, not from the future."""
    text = page(outbox_oldest_s=NOW_S + 500)
    assert samples(text, "tailwatch_outbox_oldest_age_seconds") == {(): 0.0}


@pytest.mark.parametrize("worked", [True, False])
def test_failed_reload_is_shown(worked: bool) -> None:
    """A settings file with a mistake is seen in a metric."""
    text = page(exposed={"reload_ok": lambda: worked})
    assert {(): float(worked)} == samples(text, "tailwatch_config_reload_success")


# Values that must not be there.


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf, None])
def test_loss_that_is_no_number_is_left_out(loss: float | None) -> None:
    """A NaN in a sample would hide a run from every comparison: there is no sample instead."""
    text = page(run_view(loss=loss, last_step=None, last_row_s=None))
    assert samples(text, "tailwatch_run_loss") == {}
    assert samples(text, "tailwatch_run_last_step") == {}
    assert samples(text, "tailwatch_run_last_row_timestamp_seconds") == {}
    assert samples(text, "tailwatch_run_rows_total") == {("exp/metrics",): 3.0}
    assert [line for line in text.splitlines() if line.endswith((" NaN", " +Inf", " -Inf"))] == []


def test_undecodable_file_name_does_not_break_the_page() -> None:
    """A file name that is no UTF-8 is escaped; the other runs are shown as ever."""
    bad = run_view("caf\\xff", file=os.fsdecode(b"/runs/caf\xff.jsonl"))
    gauges = {("watch_mode", os.fsdecode(b"/runs\xfe"), "events"): 1}
    text = page(bad, run_view("good"), gauges=gauges)
    info = samples(text, "tailwatch_run_info")
    assert {("/runs/caf\\xff.jsonl", "caf\\xff", ""), ("/runs/good.jsonl", "good", "")} == set(
        info
    )
    assert {("events", "/runs\\xfe")} == set(samples(text, "tailwatch_watch_mode"))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("/runs/exp/config.yaml", "config.yaml"),
        ("/runs/args.json", "../args.json"),
        ("/runs/exp/.hydra/config.yaml", ".hydra/config.yaml"),
        (os.fsdecode(b"/caf\xff/\n/args.json"), "../../caf\\xff/\\n/args.json"),
        (None, ""),
    ],
)
def test_the_configuration_is_named_as_seen_from_the_run(
    source: str | None, expected: str
) -> None:
    """The label says which file was read, without the directories that `file` has, escaped."""
    text = page(run_view("exp/m", run_config=source))
    (labels,) = samples(text, "tailwatch_run_info")
    # The text format escapes backslashes once more.
    assert ("/runs/exp/m.jsonl", "exp/m", expected) == labels


def test_hostile_names_stay_in_their_labels() -> None:
    """Quotes, backslashes and line ends in a name end up in the label's value and nowhere else."""
    name = 'a"} 1\nevil{x="\\'
    assert samples(page(run_view(name)), "tailwatch_run_rows_total")[name,] == 3.0


# How many runs.


def test_quiet_run_leaves_after_its_retention() -> None:
    """A run at rest is shown for the retention and not longer; a living one always."""
    runs = [
        run_view("fresh", state="ended", read_at_s=NOW_S - 99),
        run_view("stale", state="ended", read_at_s=NOW_S - 101),
        run_view("quiet", state="quiet", read_at_s=NOW_S - 101),
        run_view("slow", state="active", read_at_s=NOW_S - 10_000),
    ]
    text = page(*runs, exposed={"run_retention_s": 100.0})
    assert {("fresh",), ("slow",)} == set(samples(text, "tailwatch_run_rows_total"))
    assert samples(text, "tailwatch_runs") == {("active",): 1.0, ("quiet",): 1.0, ("ended",): 2.0}


def test_cap_keeps_what_is_critical_then_what_lives() -> None:
    """With too many runs those that are wrong are shown first, then those that are written to."""
    runs = [
        run_view("critical", state="quiet", read_at_s=1.0 + NOW_S - 500, standing=[standing()]),
        run_view("warning", state="quiet", standing=[standing("x", Severity.WARNING)]),
        *(run_view(f"active{n}", read_at_s=1000.0 + n) for n in range(3)),
    ]
    text = page(*runs, exposed={"runs_max": 3})
    assert {("critical",), ("active2",), ("active1",)} == set(
        samples(text, "tailwatch_run_rows_total")
    )
    assert samples(text, "tailwatch_runs") == {("active",): 3.0, ("quiet",): 2.0, ("ended",): 0.0}


def test_cap_never_drops_a_fresh_critical_finding_for_a_calm_run() -> None:
    """One that has resolved, or whose run has ended, is still news for the alert; an old one not."""
    runs = [
        run_view("ended", state="ended", read_at_s=NOW_S - 500, critical_s=NOW_S - 60),
        run_view("quiet", state="quiet", read_at_s=NOW_S - 400, critical_s=NOW_S - NEWS_S + 1),
        run_view("history", state="ended", read_at_s=NOW_S - 300, critical_s=NOW_S - NEWS_S),
        *(run_view(f"active{n}", read_at_s=1000.0 + n) for n in range(3)),
    ]
    text = page(*runs, exposed={"runs_max": 3})
    assert {("ended",), ("quiet",), ("active2",)} == set(samples(text, "tailwatch_run_rows_total"))
    assert samples(text, "tailwatch_series_dropped_total") == {(): 9.0 * len(CATEGORIES)}


def test_what_the_cap_drops_is_counted_once() -> None:
    """The count of dropped series grows with the runs that are dropped, not with the scrapes."""
    board = Board()
    registry = registry_of(board, runs_max=1)
    board.publish(snapshot(run_view("a")))
    assert samples(generate_latest(registry).decode(), "tailwatch_series_dropped_total") == {
        (): 0.0
    }
    board.publish(snapshot(run_view("a"), run_view("b")))
    counts = [
        samples(generate_latest(registry).decode(), "tailwatch_series_dropped_total")[()]
        for _ in range(3)
    ]
    assert [3.0 * len(CATEGORIES)] * 3 == counts


def test_of_what_was_dropped_only_runs_that_are_known_are_remembered() -> None:
    """A run that is gone and comes again is dropped again; its name is not kept for ever."""
    board = Board()
    registry = registry_of(board, runs_max=1)
    counts = []
    for runs in (("a", "b"), ("a",), ("a", "b")):
        board.publish(snapshot(*map(run_view, runs)))
        text = generate_latest(registry).decode()
        counts.append(samples(text, "tailwatch_series_dropped_total")[()])
    assert [each * 3.0 * len(CATEGORIES) for each in (1, 1, 2)] == counts


def test_nothing_before_the_state_is_restored() -> None:
    """Before the first snapshot no metric of a run could be right, so there is none."""
    text = generate_latest(registry_of(Board())).decode()
    assert [f.name for f in parse_text(text) if not f.name.startswith("process_")] == []


def test_concurrent_scrapes_see_one_snapshot_each() -> None:
    """While snapshots are published without pause, each scrape shows the numbers of one of them."""
    board = Board()
    registry = registry_of(board, runs_max=2)
    over = threading.Event()

    def snap(n: int) -> Any:
        tallies = {category: tally(n) for category, _ in CATEGORIES}
        runs = [run_view(f"r{n % 7}-{k}", rows=n, tallies=tallies) for k in range(4)]
        return snapshot(*runs, totals={("state_errors",): n})

    def publish() -> None:
        n = 0
        while not over.is_set():
            n += 1
            board.publish(snap(n))

    board.publish(snap(0))
    mixed: list[set[float]] = []

    def scrape() -> None:
        for _ in range(15):
            text = generate_latest(registry).decode()
            mixed.append(
                set(samples(text, "anomaly_findings_total").values())
                | set(samples(text, "tailwatch_run_rows_total").values())
                | set(samples(text, "tailwatch_state_errors_total").values())
            )

    writer = threading.Thread(target=publish)
    readers = [threading.Thread(target=scrape) for _ in range(4)]
    for thread in [writer, *readers]:
        thread.start()
    for thread in readers:
        thread.join()
    over.set()
    writer.join()
    assert len(mixed) == 60
    assert {1} == {len(values) for values in mixed}
