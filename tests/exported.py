"""What the program exports, asked of the program."""

from __future__ import annotations

from tailwatch.board import Board
from tailwatch.checks import CHECKS
from tailwatch.core.findings import Severity
from tailwatch.messages import RunView, Snapshot, Standing, Tally
from tailwatch.shell.exposition import Exposed, SnapshotCollector


def exported_families() -> dict[str, set[str]]:
    """Metric name, as it is queried -> its label names."""
    standing = Standing("nan_loss", Severity.CRITICAL, "message", "suggestion", 1, 1, 1.0)
    run = RunView(
        name="r", file="/r.jsonl", state="active", segment=1, rows=1, last_step=1.0, loss=1.0,
        last_row_s=1.0, read_at_s=1.0, lag_bytes=0, tallies={"nan_loss": Tally(1, 1.0)},
        standing=[standing], recent=(),
    )  # fmt: skip
    board = Board()
    board.publish(Snapshot(True, {"r": run}, {}, {("watch_mode", "/r", "events"): 1}, None))
    exposed = Exposed([(c.category, c.severity.value) for c in CHECKS], ["hook"])
    families = {}
    for family in SnapshotCollector(board, exposed, lambda: 2.0, lambda: 2.0).collect():
        name = family.name + ("_total" if family.type == "counter" else "")
        families[name] = set(family.samples[0].labels)
    return families
