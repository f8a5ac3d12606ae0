"""lr_too_high: the configured learning rate is out of bounds on the high side."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from ..core.check import Check, RunConfig, mark
from ..core.findings import Evidence, Hold, Mark, Severity
from ..core.numbers import jsonable, number, shown
from ..core.rows import Row

LIMIT = 0.005


class LrTooHigh(Check):
    """
    What it finds:
        A run configuration beside the metric file (config.json, config.yaml)
        whose learning rate is above 0.005. Said at the first row.

    Why it matters:
        Most language models diverge at such a rate within a few steps; often
        it is a typing error in the exponent.

    What it does not find:
        The rate that the trainer logs on each row, which a schedule may take
        anywhere. A run without a configuration it can read.

    Example:
        >>> check = LrTooHigh()
        >>> check.configure(RunConfig(learning_rate=0.1))
        >>> check.update(Row(1, 1, {"loss": 2.0}, 0)).message
        'the configured learning rate 0.1 is above 0.005'

    Source:
        The seed rules (tailwatch), training.lr or training.learning_rate > 0.005.
    """

    category: ClassVar[str] = "lr_too_high"
    severity: ClassVar[Severity] = Severity.WARNING
    suggestion: ClassVar[str] = (
        "Unless this optimizer and model are known to need it, lower the learning rate. "
        "Common values: 2e-4 for LoRA, 1e-5 for full fine-tuning."
    )
    hold: ClassVar[Hold] = Hold(rows=1, clear_rows=None)
    thresholds: ClassVar[dict[str, float]] = {"limit": LIMIT}

    def __init__(self) -> None:
        self.since: Mark | None = None
        self.learning_rate: float | None = None

    def configure(self, config: RunConfig) -> None:
        self.learning_rate = config.learning_rate

    def update(self, row: Row) -> Evidence | None:
        if self.since is None:
            self.since = mark(row)
        return self.diagnose()

    def diagnose(self) -> Evidence | None:
        rate = self.learning_rate
        # With no row there is nothing to say of a run but that.
        if self.since is None or rate is None or not rate > LIMIT:
            return None
        return Evidence(
            f"the configured learning rate {shown(rate)} is above {LIMIT}",
            {"learning_rate": rate, "threshold": LIMIT},
            self.since,
        )

    def to_state(self) -> dict[str, Any]:
        # A configuration may hold Infinity; the state is to be plain JSON.
        return self.__dict__ | {"learning_rate": jsonable(self.learning_rate)}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        return super().from_state(state | {"learning_rate": number(state["learning_rate"])})
