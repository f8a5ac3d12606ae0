"""memory_creep: the memory of the GPU fills up, block by block."""

from __future__ import annotations

from typing import ClassVar

from ..core.check import Check, Waiting, mark
from ..core.findings import Evidence, Hold, Mark, Severity
from ..core.numbers import shown
from ..core.rows import Row
from ..core.stats import Ewma

BLOCK_ROWS = 100


class MemoryCreep(Check):
    """
    What it finds:
        After 50 rows, new maxima of the allocated GPU memory in 3 different blocks of
        100 rows, the last by 1 GiB and 5% above the lowest level, which itself has
        risen by 3 deviations. Or a growing count of out-of-memory retries.

    Why it matters:
        Memory that only grows ends in an out-of-memory error, often hours later and
        at night.

    What it does not find:
        Growth that fits into the first 50 rows. Peaks of single long batches, as long
        as what is logged falls again. Memory of the host.

    Example:
        >>> check = MemoryCreep()
        >>> said = [check.update(Row(n, n, {"memory_gib": 10 + n / 100}, 0))
        ...         for n in range(1, 400)]
        >>> next(one for one in said if one).message
        'allocated GPU memory reached 12 GiB at step 200, from 10.42, and keeps growing'

    Source:
        Leaks of graphs and caches in training loops; PyTorch's allocator retries.
    """

    category: ClassVar[str] = "memory_creep"
    severity: ClassVar[Severity] = Severity.WARNING
    suggestion: ClassVar[str] = (
        "Look for tensors that are kept with their graph (a list of losses without .item()), "
        "for caches, and for growing sequence lengths. Save a model before it runs out."
    )
    check_set: ClassVar[str] = "extended"
    reads_any: ClassVar[tuple[str, ...]] = ("memory_gib", "oom_count")
    hold: ClassVar[Hold] = Hold(rows=1, clear_rows=None)
    thresholds: ClassVar[dict[str, float]] = {
        "warm_up_rows": 50,
        "blocks": 3,
        "rise_gib": 1,
        "rise_share": 0.05,
        "deviations": 3,
    }

    def __init__(self) -> None:
        self.level = Ewma(0.1)
        self.lowest: float | None = None
        self.highest = 0.0
        self.blocks = 0
        self.last_block = -1
        self.retries: float | None = None
        self.since: Mark | None = None

    def update(self, row: Row) -> Evidence | None:
        return self._grows(row) or self._retries(row)

    def _grows(self, row: Row) -> Evidence | None:
        memory = row.values.get("memory_gib")
        if memory is None or not 0 < memory < 1e6:
            return None
        limits = self.thresholds
        self.level.update(memory)
        ready = self.level.n > limits["warm_up_rows"]
        if not ready:
            self.highest = max(self.highest, memory)
            return None
        if self.lowest is None or self.level.mean < self.lowest:
            self.lowest = self.level.mean
        if memory <= self.highest:
            return None
        self.highest = memory
        block = self.level.n // BLOCK_ROWS
        if block != self.last_block:
            self.blocks, self.last_block = self.blocks + 1, block
        rise = max(limits["rise_gib"], limits["rise_share"] * self.lowest)
        # In noise alone there is a new maximum now and then; then the mean has not moved.
        noise = limits["deviations"] * self.level.deviation
        creeps = memory - self.lowest >= rise and self.level.mean - self.lowest >= noise
        if self.blocks < limits["blocks"] or not creeps:
            return None
        self.since = mark(row)
        return Evidence(
            f"allocated GPU memory reached {shown(memory)} GiB at step {shown(row.step)}, "
            f"from {shown(self.lowest)}, and keeps growing",
            {"memory_gib": memory, "lowest_gib": self.lowest},
            self.since,
        )

    def _retries(self, row: Row) -> Evidence | None:
        count = row.values.get("oom_count")
        if count is None or not 0 <= count < 1e15:
            return None
        known, self.retries = self.retries, count
        if known is None or count <= known:
            return None
        self.since = mark(row)
        return Evidence(
            f"the count of out-of-memory retries grew from {shown(known)} to {shown(count)} "
            f"at step {shown(row.step)}",
            {"oom_count": count},
            self.since,
        )

    def waiting(self) -> Waiting | None:
        """Its level must settle; retries are seen from the first row on."""
        return None if self.retries is not None else super().waiting()
