"""too_few_steps: the run ended, or went quiet, with fewer than 10 rows."""

from __future__ import annotations

from typing import Any, ClassVar

from ..core.check import AT_REST, Check, Waiting, mark
from ..core.findings import Evidence, Hold, Mark, Severity
from ..core.numbers import shown
from ..core.rows import Row

ROWS_MIN = 10


class TooFewSteps(Check):
    """
    What it finds:
        A run at rest, or a file given to `tailwatch check`, with 1 to 9 rows,
        of which no other check has anything to say.

    Why it matters:
        So few rows show no trend: that the checks are silent means nothing.

    What it does not find:
        A young run that is still writing; it is only said at rest.

    Example:
        >>> check = TooFewSteps()
        >>> check.update(Row(1, 500, {"loss": 2.0}, 0)) is None
        True
        >>> check.diagnose().message
        'only 1 row, up to step 500: too few to judge the run'

    Source:
        The seed rules (tailwatch), 0 < len(rows) < 10 and nothing else found.
    """

    category: ClassVar[str] = "too_few_steps"
    severity: ClassVar[Severity] = Severity.INFO
    suggestion: ClassVar[str] = (
        "Log more often or train longer: about 30 rows are needed before every check can speak."
    )
    hold: ClassVar[Hold] = AT_REST
    thresholds: ClassVar[dict[str, float]] = {"rows_min": ROWS_MIN}
    alone: ClassVar[bool] = True

    def __init__(self) -> None:
        self.rows = 0
        self.since: Mark | None = None

    def update(self, row: Row) -> Evidence | None:
        self.rows += 1
        self.since = mark(row)
        return None

    def diagnose(self) -> Evidence | None:
        if self.since is None or self.rows >= ROWS_MIN:
            return None
        rows = f"{self.rows} row" + "s" * (self.rows > 1)
        return Evidence(
            f"only {rows}, up to step {shown(self.since.step)}: too few to judge the run",
            {"rows": self.rows, "threshold": ROWS_MIN},
            self.since,
        )

    def waiting(self) -> Waiting | None:
        return None  # It speaks of fewer rows than that.

    def to_state(self) -> dict[str, Any]:
        return dict(self.__dict__)
