"""no_metrics: the run has no row at all."""

from __future__ import annotations

from typing import Any, ClassVar

from ..core.check import AT_REST, Check
from ..core.findings import Evidence, Hold, Severity
from ..core.rows import Row


class NoMetrics(Check):
    """
    What it finds:
        A run at rest, or a file given to `tailwatch check`, without one row.

    Why it matters:
        The trainer died before its first logged step, or logs elsewhere.

    What it does not find:
        A metric file that was never made: tailwatch knows only what is there.

    Example:
        >>> check = NoMetrics()
        >>> check.diagnose().message
        'no row has been written'
        >>> check.update(Row(1, 1, {"loss": 2.0}, 0)), check.diagnose()
        (None, None)

    Source:
        The seed rules (tailwatch), len(rows) == 0.
    """

    category: ClassVar[str] = "no_metrics"
    severity: ClassVar[Severity] = Severity.INFO
    suggestion: ClassVar[str] = (
        "See the trainer's own output: did it start, and does it log to this file?"
    )
    hold: ClassVar[Hold] = AT_REST

    def __init__(self) -> None:
        self.any_row = False

    def update(self, row: Row) -> Evidence | None:
        self.any_row = True
        return None

    def diagnose(self) -> Evidence | None:
        return None if self.any_row else Evidence("no row has been written", {}, None)

    def to_state(self) -> dict[str, Any]:
        return {"any_row": self.any_row}
