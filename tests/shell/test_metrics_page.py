"""The page of metrics is the library's, byte for byte, however much of it was kept."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder

from tailwatch.board import Board
from tailwatch.messages import RunView, Snapshot
from tailwatch.shell.exposition import Exposed, SnapshotCollector
from tailwatch.shell.metrics_page import FORMATS_MAX, MetricsPage
from tests.shell.helpers import run_view, snapshot, standing, tally

OPENMETRICS = "application/openmetrics-text; version=1.0.0"
EXPOSED = Exposed([("nan_loss", "critical"), ("loss_flat", "warning")], ["ops"], runs_max=3)


def pages() -> tuple[Board, SnapshotCollector, MetricsPage]:
    """A board, what the library is given of it, and our page of the same."""
    board = Board()
    plain, kept = (SnapshotCollector(board, EXPOSED, lambda: 9.0, lambda: 9.0) for _ in "ab")
    return board, plain, MetricsPage(kept, process=False)


views = st.builds(
    lambda name, total, stands, rows: run_view(
        name,
        rows=rows,
        tallies={"nan_loss": tally(total)} if total else {},
        standing=[standing()] if stands else [],
    ),
    st.sampled_from(["a", "b", 'q"\\\n', "é", "e"]),
    st.integers(0, 2),
    st.booleans(),
    st.integers(0, 3),
)
snapshots = st.lists(views, max_size=5).map(
    lambda some: snapshot(*{v.name: v for v in some}.values())
)


@settings(deadline=None, max_examples=150)
@given(st.lists(st.tuples(snapshots, st.sampled_from(["", OPENMETRICS])), max_size=6))
def test_it_is_what_the_library_writes(seen: list[tuple[Snapshot, str]]) -> None:
    """Whatever came, changed and went before, and in both formats."""
    board, plain, page = pages()
    for shown, accept in seen:
        board.publish(shown)
        encoder, content_type = choose_encoder(accept)
        assert page.render(accept) == (content_type, encoder(plain))


def test_nothing_before_the_first_snapshot() -> None:
    """Then there is only what is of the process."""
    _, _, page = pages()
    assert page.render()[1] == b""
    assert MetricsPage(pages()[1]).render()[1].startswith(b"# HELP process_")


def test_findings_are_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new row of a run writes none of its findings again; a new finding does, of that run alone."""
    board, _, page = pages()
    written: list[str] = []
    findings = SnapshotCollector.findings

    def noted(self: SnapshotCollector, runs: list[RunView]) -> list[Metric]:
        written.extend(run.name for run in runs)
        return list(findings(self, runs))

    monkeypatch.setattr(SnapshotCollector, "findings", noted)
    board.publish(snapshot(run_view("a", rows=1), run_view("b")))
    page.render()
    board.publish(snapshot(run_view("a", rows=2), run_view("b")))
    page.render()
    assert written == ["a", "b"]
    board.publish(snapshot(run_view("a", standing=[standing()]), run_view("b")))
    page.render()
    assert written == ["a", "b", "a"]


def test_formats_are_bounded() -> None:
    """A client that names ever new formats fills no memory."""
    board, _, page = pages()
    board.publish(snapshot(run_view("a")))
    for minor in range(3 * FORMATS_MAX):
        page.render(f"application/openmetrics-text; version=1.{minor}.0")
    assert len(page._kept) <= FORMATS_MAX
