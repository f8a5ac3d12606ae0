"""lr_too_low: the configured learning rate is out of bounds on the low side."""

from __future__ import annotations

from typing import ClassVar

from ..core.check_bases import ConfiguredRateCheck
from ..core.findings import Severity

LIMIT = 1e-06


class LrTooLow(ConfiguredRateCheck):
    """
    What it finds:
        A run configuration beside the metric file (config.json, config.yaml)
        whose learning rate is below 1e-06. Said at the first row.

    Why it matters:
        At such a rate most models do not move at all in the time that a run
        is given; often it is a typing error in the exponent.

    What it does not find:
        The rate that the trainer logs on each row, which a schedule may take
        anywhere. A run without a configuration it can read.

    Example:
        >>> from tailwatch.core.check import RunConfig
        >>> from tailwatch.core.rows import Row
        >>> check = LrTooLow()
        >>> check.configure(RunConfig(learning_rate=1e-07))
        >>> check.update(Row(1, 1, {"loss": 2.0}, 0)).message
        'the configured learning rate 1e-07 is below 1e-06'

    Source:
        The seed rules (tailwatch), training.lr or training.learning_rate < 1e-06.
    """

    category: ClassVar[str] = "lr_too_low"
    severity: ClassVar[Severity] = Severity.WARNING
    suggestion: ClassVar[str] = (
        "Check the exponent of the learning rate in the configuration. "
        "Common values: 2e-4 for LoRA, 1e-5 for full fine-tuning."
    )
    above: ClassVar[bool] = False
    thresholds: ClassVar[dict[str, float]] = {"limit": LIMIT}

    def judge(self, rate: float) -> str | None:
        return f"below {LIMIT}" if rate < LIMIT else None
