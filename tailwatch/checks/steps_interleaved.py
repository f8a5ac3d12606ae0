"""steps_interleaved: two trainers write to one file."""

from __future__ import annotations

from typing import ClassVar

from ..core.check import Check, mark
from ..core.findings import Evidence, Hold, Severity
from ..core.numbers import shown
from ..core.rows import Row, RowKind

WINDOW_ROWS = 50
_WINDOW = (1 << WINDOW_ROWS) - 1
FALL_INTERVALS = 2


class StepsInterleaved(Check):
    """
    What it finds:
        Steps that fall back a little, by at most 2 intervals, in more than a fifth of
        the last 50 rows with a loss.

    Why it matters:
        Two processes write to one file: two ranks that both log, or a run that was
        started twice. What stands there is no curve, and what is said of it may be wrong.

    What it does not find:
        A resume, which falls back once. The same step written twice, which some
        trainers do.

    Example:
        >>> check = StepsInterleaved()
        >>> steps = [n + 2 if n % 2 else n for n in range(1, 60)]
        >>> said = [check.update(Row(n, step, {"loss": 1.0}, 0))
        ...         for n, step in enumerate(steps, 1)]
        >>> said[-1].message
        'steps fell back in 25 of the last 50 rows up to step 61: two writers in one file'

    Source:
        Concurrent ranks in public LLaMA-Factory logs.
    """

    category: ClassVar[str] = "steps_interleaved"
    severity: ClassVar[Severity] = Severity.WARNING
    suggestion: ClassVar[str] = (
        "Let only the main process write (rank 0), and give each run a directory of its own. "
        "Look for a second process of this run that is still alive."
    )
    check_set: ClassVar[str] = "extended"
    reads: ClassVar[tuple[str, ...]] = ("loss",)
    hold: ClassVar[Hold] = Hold(rows=1, clear_rows=None)
    thresholds: ClassVar[dict[str, float]] = {"share": 0.2, "warm_up_rows": WINDOW_ROWS}

    def __init__(self) -> None:
        self.rows = 0
        self.falls = 0
        self.last: float | None = None
        self.interval = 0.0

    def update(self, row: Row) -> Evidence | None:
        if not row.has_step or row.kind is not RowKind.TRAIN:
            return None
        known, self.last = self.last, float(row.step)
        fell = False
        if known is not None:
            fall = known - self.last
            fell = 0 < fall <= FALL_INTERVALS * self.interval
            if fall < 0:
                self.interval = -fall
        self.rows += 1
        # One bit a row: a window that is saved as one number.
        self.falls = (self.falls << 1 | fell) & _WINDOW
        if not self.falls:
            return None
        count = self.falls.bit_count()
        ready = self.rows >= self.thresholds["warm_up_rows"]
        if not ready or count <= self.thresholds["share"] * WINDOW_ROWS:
            return None
        return Evidence(
            f"steps fell back in {count} of the last {WINDOW_ROWS} rows up to step "
            f"{shown(row.step)}: two writers in one file",
            {"falls": count},
            mark(row),
        )
