"""run_resumed: the trainer went back to an earlier step and goes on from there."""

from __future__ import annotations

from typing import ClassVar

from ..core.check import Check, mark
from ..core.findings import Evidence, Hold, Severity
from ..core.numbers import shown
from ..core.rows import Row


class RunResumed(Check):
    """
    What it finds:
        A step that fell back, though not to the beginning: the trainer was started
        again from a saved model.

    Why it matters:
        Work between the saved model and the crash was lost, and someone or something
        restarted the run. Often that explains what the curve shows next.

    What it does not find:
        A restart from the very first step, which begins a new segment. A resume that
        leaves no trace in the steps.

    Example:
        >>> check = RunResumed()
        >>> check.update(Row(9, 4100, {"loss": 1.0}, 0, resumed_from=5050)).message
        'training went on at step 4100, after step 5050: resumed from a saved model'

    Source:
        Real resumes in public logs; see the rules for segments.
    """

    category: ClassVar[str] = "run_resumed"
    severity: ClassVar[Severity] = Severity.INFO
    suggestion: ClassVar[str] = (
        "Nothing to do if the restart was meant. If not, look at the trainer's own output just "
        "before it, and save models more often if much was lost."
    )
    check_set: ClassVar[str] = "extended"
    hold: ClassVar[Hold] = Hold(rows=1, clear_rows=1)

    def update(self, row: Row) -> Evidence | None:
        if row.resumed_from is None:
            return None
        return Evidence(
            f"training went on at step {shown(row.step)}, after step {shown(row.resumed_from)}: "
            "resumed from a saved model",
            {"step": row.step, "step_before": row.resumed_from},
            mark(row),
        )
