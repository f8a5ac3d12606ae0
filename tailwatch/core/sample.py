"""The typical value of a long series, in bounded memory."""

from __future__ import annotations

import statistics

VALUES_MAX = 1024


class Sample:
    """
    Numbers of which the largest and the median are wanted.

    Of a long series every second, fourth, eighth, ... value is kept: the median is exact
    up to `VALUES_MAX` values and that of an even sample beyond.

    >>> sample = Sample()
    >>> for value in (10.0, 10.0, 500.0):
    ...     _ = sample.add(value)
    >>> sample.median, sample.largest, sample.count
    (10.0, 500.0, 3)

    Attributes:
        count: How many were added.
        largest: The largest of them; None without any.
    """

    def __init__(self) -> None:
        self.count = 0
        self.largest: float | None = None
        self._values: list[float] = []
        self._stride = 1

    def add(self, value: float) -> bool:
        """Take in a finite number; whether it is the largest so far."""
        if self.count % self._stride == 0:
            if len(self._values) == VALUES_MAX:
                del self._values[1::2]
                self._stride *= 2
            if self.count % self._stride == 0:
                self._values.append(value)
        self.count += 1
        if self.largest is not None and value <= self.largest:
            return False
        self.largest = value
        return True

    @property
    def median(self) -> float | None:
        """The median, or None without any number."""
        return statistics.median_low(self._values) if self._values else None
