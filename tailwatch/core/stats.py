"""Running numbers that the checks share: means and spreads that forget, in O(1)."""

from __future__ import annotations

import math
from dataclasses import dataclass

_VALUE_MAX = 1e150


@dataclass(slots=True)
class Ewma:
    """
    An exponentially weighted mean, and the deviation around it.

    The weight of a new value is `max(alpha, 1 / n)`: it starts as a plain mean, so
    that the first value is not remembered for ever.

    >>> mean = Ewma(0.5)
    >>> for value in (1.0, 3.0, 5.0):
    ...     mean.update(value)
    >>> mean.mean, round(mean.deviation, 3)
    (3.5, 1.658)

    Attributes:
        alpha: The least weight of a new value, 0 to 1.
        n: How many values came.
        variance: Weighted alike; of the values so far, not an estimate beyond them.
    """

    alpha: float
    n: int = 0
    mean: float = 0.0
    variance: float = 0.0

    def update(self, value: float) -> None:
        """Take in the next value, a finite number."""
        # Squares of larger numbers overflow, and a state holds finite numbers only.
        if not -_VALUE_MAX <= value <= _VALUE_MAX:
            value = math.copysign(_VALUE_MAX, value)
        self.n = n = self.n + 1
        weight = self.alpha if n * self.alpha > 1.0 else 1.0 / n
        delta = value - self.mean
        self.mean += weight * delta
        self.variance = (1.0 - weight) * (self.variance + weight * delta * delta)

    @property
    def deviation(self) -> float:
        """The weighted standard deviation."""
        return math.sqrt(self.variance) if self.variance > 0 else 0.0

    def to_state(self) -> list[float]:
        """Three numbers, for `restore`."""
        return [self.n, self.mean, self.variance]

    def restore(self, state: list[float]) -> None:
        """Go on where `to_state` was called."""
        self.n, self.mean, self.variance = int(state[0]), state[1], state[2]
