"""Stalls: silences by the log's own times or simulated, and when one is told."""

from __future__ import annotations

from random import Random

import pytest

from tailwatch.bench.stall import (
    Gap,
    arrived,
    found_after_rows,
    own_gaps,
    simulated_gaps,
    ticks,
)
from tailwatch.checks import CHECKS
from tailwatch.core.monitor import RunMonitor
from tailwatch.core.rows import Row, RowKind


def row(number: int, *, time: float | None = None, kind: RowKind = RowKind.TRAIN) -> Row:
    return Row(number, number, {"loss": 2.0}, 0, timestamp_s=time, kind=kind)


def monitor(rows: int = 5) -> RunMonitor:
    fed = RunMonitor(CHECKS)
    for number in range(1, rows + 1):
        fed.update(row(number))
    return fed


def test_the_logs_own_times() -> None:
    """The silence before each row, by what stands around it."""
    rows = [row(1, time=100), row(2, time=110), row(3, time=150, kind=RowKind.EVAL)]
    rows += [row(4, time=165), row(5, time=175)]
    expected = [None, Gap(10, "train"), Gap(40, "eval"), Gap(15, "eval"), Gap(10, "train")]

    assert expected == own_gaps(rows)


def test_what_is_no_silence() -> None:
    """Rows that came together, a clock set back, and a trainer that began anew."""
    rows = [row(5, time=100), row(6, time=100), row(7, time=90), row(8, time=95)]
    rows += [row(2, time=9000), row(3, time=9007)]

    assert [None, None, None, Gap(5, "train"), None, Gap(7, "train")] == own_gaps(rows)


def test_time_since_the_start_serves_too() -> None:
    """Without a clock the elapsed time is taken; with neither there is none."""
    elapsed = [Row(n, n, {"loss": 2.0, "elapsed_s": 7.0 * n}, 0) for n in range(3)]

    assert [None, Gap(7, "train"), Gap(7, "train")] == own_gaps(elapsed)
    assert own_gaps([row(1), row(2), row(3)]) is None


def test_simulated_silences_have_one_pace() -> None:
    """They keep within a fifth of their pace, five times that around an evaluation."""
    rows = [row(n, kind=RowKind.EVAL if n == 10 else RowKind.TRAIN) for n in range(1, 21)]
    gaps = [gap for gap in simulated_gaps(rows, Random(1).random) if gap is not None]
    train = [gap.seconds for gap in gaps if gap.kind == "train"]
    evaluations = [gap.seconds for gap in gaps if gap.kind == "eval"]

    assert (len(train), len(evaluations)) == (17, 2)
    assert max(train) <= 1.5 * min(train)
    assert min(evaluations) > 3 * max(train)
    assert simulated_gaps(rows, Random(1).random) == simulated_gaps(rows, Random(1).random)


@pytest.mark.parametrize(
    ("gap_s", "rows"),
    [
        (60.0, 10 + 1 / 6),  # Ten minutes at least, and a look every 10 s.
        (100.0, 10.1),  # Ten times the usual silence, which is more.
        (1.0, 610.0),
    ],
)
def test_a_stall_is_told_in_time(gap_s: float, rows: float) -> None:
    """It is found once the silence is past both limits."""
    answer = found_after_rows(monitor(), [None, *[Gap(gap_s, "train")] * 8], 0.5)
    assert answer is not None
    category, found = answer

    assert category == "run_stalled"
    assert found == pytest.approx(rows)


def test_a_run_of_few_silences_is_not_judged() -> None:
    """Two silences are not enough to know what is usual; none is nothing to go by."""
    assert found_after_rows(monitor(), [None, Gap(60, "train"), Gap(60, "train")], 0.5) is None
    assert found_after_rows(monitor(), [None], 0.5) is None


def test_a_silence_that_ended_is_judged_both_ways() -> None:
    """Of a run that is known to be unfinished, and of one of which nothing is known."""
    arrivals = arrived([Gap(10, "train")] * 5)
    said = {
        gap_s: [t.category for t in ticks(monitor(), arrivals, Gap(gap_s, "train"))]
        for gap_s in (100.0, 150.0, 650.0)
    }

    assert said == {100.0: [], 150.0: ["run_quiet"], 650.0: ["run_stalled", "run_quiet"]}
