"""What a fleet costs: `python -m tests.deploy.arithmetic` prints the table of deploy/README.md."""

from __future__ import annotations

from typing import NamedTuple

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families as parse

from tailwatch.board import Board
from tailwatch.checks import CHECKS
from tailwatch.messages import RunView, Snapshot, Tally
from tailwatch.shell.exposition import Exposed, make_registry

SCRAPE_S = 15
# Measured with Prometheus 2.53 and 3.5: 1.54 KiB of memory a fresh series. Planned with what
# churn and queries add; and 1.5 bytes a sample on disk.
MEMORY_KIB = 7
SAMPLE_BYTES = 1.5
KEPT_S = 15 * 86400
FLEETS = ((1, 20), (100, 10), (10_000, 4))
"""Hosts, and runs that each exports."""


class Cost(NamedTuple):
    """Series of one daemon: for itself, for each run, and for a category that has fired."""

    daemon: int
    run: int
    fired: int


def series(*runs: RunView) -> int:
    """How many series a daemon with *runs* exports, counted in its own exposition."""
    board = Board()
    modes: dict[tuple[str, ...], float] = {
        ("watch_mode", "/data/runs", mode): 0 for mode in ("events", "sweep", "missing")
    }
    board.publish(Snapshot(True, {run.name: run for run in runs}, {}, modes, None))
    exposed = Exposed([(c.category, c.severity.value) for c in CHECKS], ["webhook"])
    registry = make_registry(board, exposed, lambda: 2.0, lambda: 2.0)
    text = generate_latest(registry).decode()
    return sum(len(family.samples) for family in parse(text))


def run_view(name: str, **tallies: Tally) -> RunView:
    """A run of which everything is known."""
    return RunView(
        name=name, file=f"/{name}.jsonl", state="active", segment=1, rows=1, last_step=1.0,
        loss=1.0, last_row_s=1.0, read_at_s=1.0, lag_bytes=0, tallies=tallies, standing=(),
        recent=(),
    )  # fmt: skip


def cost() -> Cost:
    """Counted with no run, one run, and one run with a finding."""
    none, one = series(), series(run_view("a"))
    return Cost(none, one - none, series(run_view("a", nan_loss=Tally(1, 1.0))) - one)


def table() -> list[str]:
    """The rows of the table."""
    daemon, run, _ = cost()
    rows = []
    for hosts, runs in FLEETS:
        active = hosts * (daemon + runs * run)
        samples_s = active / SCRAPE_S
        memory_gib = active * MEMORY_KIB / 1024**2
        disk_gb = samples_s * SAMPLE_BYTES * KEPT_S / 1e9
        rows.append(
            f"| {hosts:,} | {runs} | {active:,} | {samples_s:,.0f} "
            f"| {amount(memory_gib)} GiB | {amount(disk_gb)} GB |"
        )
    return rows


def amount(value: float) -> str:
    """Two figures that count."""
    return f"{value:.2g}" if value < 10 else f"{value:,.0f}"


if __name__ == "__main__":
    print(cost(), *table(), sep="\n")
