"""slow_steps: a step takes twice its usual time."""

from __future__ import annotations

from typing import ClassVar

from ..core.check import Check, Gauge, mark
from ..core.findings import Evidence, Hold, Mark, Severity
from ..core.numbers import shown
from ..core.rows import Row
from ..core.stats import Ewma

SOURCES = ("step_time_s", "tokens_per_second", "samples_per_second")


class SlowSteps(Check):
    """
    What it finds:
        After 50 rows, steps that take at least twice their running mean, for 10 rows
        running: by the logged time of a step, or its throughput. The mean stands
        still meanwhile. It is over after 20 rows below 1.3 times.

    Why it matters:
        Half of the machine's price is being wasted: a slow disk, a hot card, another
        job on the host, a data loader that has lost workers.

    What it does not find:
        A run that is slow from its beginning. Single slow steps, such as those with
        an evaluation or a saved model.

    Example:
        >>> check = SlowSteps()
        >>> times = [0.5] * 50 + [1.5]
        >>> said = [check.update(Row(n, n, {"step_time_s": x}, 0)) for n, x in enumerate(times, 1)]
        >>> said[-1].message
        'a step takes 3 times its usual time at step 51, since step 51'

    Source:
        Stragglers in large training runs: MegaScale, Jiang et al. 2024.
    """

    category: ClassVar[str] = "slow_steps"
    severity: ClassVar[Severity] = Severity.WARNING
    suggestion: ClassVar[str] = (
        "Look at GPU clocks and temperature, at other processes on the host, and at whether the "
        "data loader keeps up. If one host of many is slow, take it out."
    )
    check_set: ClassVar[str] = "extended"
    reads_any: ClassVar[tuple[str, ...]] = SOURCES
    hold: ClassVar[Hold] = Hold(rows=10, clear_rows=20)
    thresholds: ClassVar[dict[str, float]] = {
        "alpha": 0.02,
        "factor": 2,
        "warm_up_rows": 50,
        "clear_factor": 1.3,
    }

    # The last step often saves the model; and of a run that is over, no time is lost any more.
    told_at_rest: ClassVar[bool] = False

    def __init__(self) -> None:
        self.usual = Ewma(self.thresholds["alpha"])
        self.source = ""
        self.ratio = 0.0
        self.since: Mark | None = None

    def update(self, row: Row) -> Evidence | None:
        seconds = self._seconds(row)
        if seconds is None:
            return None
        if self.usual.n < self.thresholds["warm_up_rows"]:
            self.usual.update(seconds)
            return None
        self.ratio = seconds / self.usual.mean
        if self.ratio < self.thresholds["factor"]:
            self.usual.update(seconds)
            self.since = None
            return None
        if self.since is None:
            self.since = mark(row)
        return Evidence(
            f"a step takes {shown(self.ratio)} times its usual time at step {shown(row.step)}, "
            f"since step {shown(self.since.step)}",
            {self.source: row.values[self.source], "ratio": self.ratio},
            self.since,
        )

    def clears(self) -> bool:
        return self.ratio < self.thresholds["clear_factor"]

    def _seconds(self, row: Row) -> float | None:
        if not self.source:
            self.source = next((name for name in SOURCES if name in row.values), "")
        value = row.values.get(self.source)
        # Beyond these it is no time of a step, and would spoil the mean.
        if value is None or not 1e-9 < value < 1e12:
            return None
        return value if self.source == "step_time_s" else 1.0 / value

    def gauge(self) -> Gauge | None:
        if self.waiting():
            return None
        return Gauge("time of a step against the usual", self.ratio, self.thresholds["factor"])
