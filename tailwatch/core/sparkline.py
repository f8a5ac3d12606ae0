"""A curve in one line of text."""

from __future__ import annotations

from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], width: int = 30) -> str:
    """
    Draw the last *width* values; all must be finite.

    >>> sparkline([1, 2, 3, 4, 8])
    '▁▂▃▄█'
    >>> sparkline([2.0, 2.0])
    '▁▁'
    """
    shown = list(values)[-width:]
    if not shown:
        return ""
    low, high = min(shown), max(shown)
    # Halved before subtracting: two huge numbers of opposite sign would overflow.
    span = high / 2 - low / 2
    if span <= 0:
        return _BARS[0] * len(shown)
    top = len(_BARS) - 1
    return "".join(_BARS[min(top, int((v / 2 - low / 2) / span * (top + 0.5)))] for v in shown)
