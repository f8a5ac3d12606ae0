"""What is known of a run without its checks, and its way to disk and back."""

from __future__ import annotations

import json
import math
from array import array

from tailwatch.checks import CHECKS
from tailwatch.core.check import RunConfig
from tailwatch.core.findings import Severity
from tailwatch.core.reader import RunReader
from tailwatch.core.summary import RunSummary, summary_of
from tailwatch.packing import pack, unpack


def summary(*rows: dict[str, object], config: RunConfig | None = None) -> RunSummary:
    reader = RunReader(CHECKS, config)
    reader.feed("".join(f"{json.dumps(row)}\n" for row in rows).encode() + b"no row\n")
    return summary_of(reader)


def test_it_says_what_the_reader_says() -> None:
    """Rows, steps, losses, bad lines, and whether the run is over."""
    config = RunConfig(planned_steps=100, source="config.yaml")
    found = summary(*({"step": n, "loss": 2.0} for n in (3, 4)), config=config)
    assert found == RunSummary(
        segment=1,
        rows=2,
        first_step=3,
        last_step=4,
        loss=2.0,
        recent=array("d", [2.0, 2.0]),
        bad_lines=1,
        run_config="config.yaml",
        heard=(0, False, 4.0),
        unfinished="it is at step 4 of 100",
    )
    done = summary({"step": 100, "loss": 2.0}, config=config)
    assert (done.finished, done.unfinished) == ("it reached its 100 planned steps", "")


def test_what_fires_comes_back_with_the_words_of_its_check() -> None:
    """On disk only what is of this finding is kept."""
    found = summary(
        {"step": 1, "loss": 2.0}, {"step": 2, "loss": math.nan}, {"step": 3, "loss": 2}
    )
    again = RunSummary.from_state(unpack(pack(found.to_state())), CHECKS)
    (firing,) = again.firing
    assert (firing.category, firing.severity, firing.step) == ("nan_loss", Severity.CRITICAL, 2)
    assert firing.suggestion == found.firing[0].suggestion
    # NaN is in it, which equals nothing.
    assert repr(again) == repr(found)


def test_a_run_without_rows() -> None:
    """Of it nothing is known, and that is kept, too."""
    assert summary_of(RunReader(CHECKS)) == RunSummary()
    assert RunSummary.from_state(unpack(pack(RunSummary().to_state())), CHECKS) == RunSummary()
