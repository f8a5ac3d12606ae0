"""Whether a run is over, from what it wrote."""

from __future__ import annotations

from typing import Any

import pytest

from tailwatch.core.check import RunConfig
from tailwatch.core.fields import FieldMap, Sources
from tailwatch.core.progress import Progress
from tailwatch.core.rows import make_row


def after(*records: dict[str, Any]) -> Progress:
    progress, fields, own = Progress(), FieldMap(), Sources()
    for number, record in enumerate(records, 1):
        progress.update(make_row(record, fields, own, number, 0))
        progress = Progress(**progress.to_state())
    return progress


@pytest.mark.parametrize(
    ("records", "finished", "unfinished"),
    [
        ([{"step": 40, "loss": 1}], "", ""),
        ([{"step": 40, "loss": 1, "max_steps": 100}], "", "it is at step 40 of 100"),
        ([{"step": 99, "loss": 1, "max_steps": 100}], "it reached its 100 planned steps", ""),
        ([{"iteration": "500/500", "loss": 1}], "it reached its 500 planned steps", ""),
        ([{"step": 5, "loss": 1, "percentage": 99.9}], "it says that all is done", ""),
        ([{"step": 5, "loss": 1}, {"train_runtime": 3, "step": 5}], "it wrote its summary", ""),
        (
            [{"train_runtime": 3, "step": 5}, {"step": 6, "loss": 1, "max_steps": 9}],
            "",
            "it is at step 6 of 9",
        ),
        ([{"step": 9, "eval_loss": 1, "max_steps": 9}], "", ""),
        ([{"current_steps": 9, "total_steps": 9}], "it reached its 9 planned steps", ""),
        ([{"loss": 1, "max_steps": 9}], "", ""),
        ([{"step": 1, "loss": 1, "max_steps": 0}], "", ""),
    ],
)
def test_what_the_log_says(records: list[dict[str, Any]], finished: str, unfinished: str) -> None:
    """Planned steps, a percentage, or a summary: each says it in its way."""
    progress = after(*records)
    assert (finished, unfinished) == (
        progress.finished(RunConfig()),
        progress.unfinished(RunConfig()),
    )


def test_the_log_knows_better_than_a_file_beside_it() -> None:
    """The configuration's plan counts where the log has none."""
    config = RunConfig(planned_steps=50)
    assert after({"step": 40, "loss": 1}).unfinished(config) == "it is at step 40 of 50"
    assert after({"step": 40, "loss": 1, "max_steps": 41}).finished(config)
