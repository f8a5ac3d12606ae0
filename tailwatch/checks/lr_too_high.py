"""lr_too_high: the configured learning rate is out of bounds on the high side."""

from __future__ import annotations

from typing import ClassVar

from ..core.check_bases import ConfiguredRateCheck
from ..core.findings import Severity

LIMIT = 0.005


class LrTooHigh(ConfiguredRateCheck):
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
        >>> from tailwatch.core.check import RunConfig
        >>> from tailwatch.core.rows import Row
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
    thresholds: ClassVar[dict[str, float]] = {"limit": LIMIT}

    def judge(self, rate: float) -> str | None:
        return f"above {LIMIT}" if rate > LIMIT else None
