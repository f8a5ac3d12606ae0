"""
Running numbers from whole lists: what the checks keep in O(1), told from all values.

No code is shared with `core.stats`. Comparisons that are closer than the last digits
are not decided here: Hypothesis drops such an example, and the boundaries have tests
of their own.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import mul

from hypothesis import reject
from hypothesis import strategies as st

from tailwatch.core.check import Check
from tailwatch.core.rows import Row


def weights(count: int, alpha: float) -> list[float]:
    """What each of *count* values weighs in the mean after the last one; 1 in all."""
    own = [max(alpha, 1 / n) for n in range(1, count + 1)]
    left = list(accumulate((1 - later for later in reversed(own[1:])), mul, initial=1.0))
    return [w * rest for w, rest in zip(own, reversed(left), strict=False)]


def mean(values: Sequence[float], alpha: float) -> float:
    """The exponentially weighted mean."""
    return math.fsum(w * v for w, v in zip(weights(len(values), alpha), values, strict=True))


def deviation(values: Sequence[float], alpha: float) -> float:
    """The weighted standard deviation around it."""
    centre = mean(values, alpha)
    shares = weights(len(values), alpha)
    spread = math.fsum(w * (v - centre) ** 2 for w, v in zip(shares, values, strict=True))
    return math.sqrt(spread) if spread > 1e-18 * centre**2 else 0.0


def above(one: float, other: float) -> bool:
    """Whether *one* is clearly above *other*; an example in which they are too close is dropped."""
    if math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12):
        reject()
    return one > other


def running(levels: Sequence[bool]) -> int:
    """How many at the end are up without a break."""
    return len(levels) - max((n for n, up in enumerate(levels, 1) if not up), default=0)


def stretches(
    *values: float, times: Sequence[int] = (1, 2, 5, 20, 55), parts: int = 6
) -> st.SearchStrategy[list[float]]:
    """Values in stretches of equal ones, so that rules of many rows are reached."""
    part = st.tuples(st.sampled_from(values), st.sampled_from(times))
    return st.lists(part, max_size=parts).map(
        lambda chosen: [value for value, count in chosen for _ in range(count)][:160]
    )


def noise(
    level: float, sigma: float, drift: float, count: int = 160
) -> st.SearchStrategy[list[float]]:
    """Values in noise around a level that wanders: no two alike, and many near the limits."""

    def make(seed: int) -> list[float]:
        rng, at, values = random.Random(seed), 0.0, []
        for _ in range(count):
            at += rng.gauss(0, drift)
            values.append(level * math.exp(at + rng.gauss(0, sigma)))
        return values

    return st.integers(0, 10**6).map(make)


def levels(check: Check, rows: Sequence[Row]) -> list[bool]:
    """Whether the level is up on each row; down where the row does not concern it."""
    return [check.concerns(row) and check.update(row) is not None for row in rows]


def rows_of(field: str, values: Sequence[float], *, rewarded: bool = False) -> list[Row]:
    """Training rows with one field."""
    return [
        Row(n, 10 * n, {field: value}, 100 * n, rewarded=rewarded)
        for n, value in enumerate(values, 1)
    ]


def prefixes(values: Sequence[float], rule: Callable[[Sequence[float]], bool]) -> list[bool]:
    """What *rule* says of the values up to each of them."""
    return [rule(values[:n]) for n in range(1, len(values) + 1)]


def frozen(
    values: Sequence[float], alpha: float, high: Callable[[float, float], bool], ready: int
) -> list[bool]:
    """
    Whether each value is high against the mean of those before it that were not.

    *high* is asked for a value and that mean, once it is of *ready* values.
    """
    kept: list[float] = []
    found = []
    for value in values:
        if not math.isfinite(value):
            found.append(False)
            continue
        up = len(kept) >= ready and high(value, mean(kept, alpha))
        if not up:
            kept.append(value)
        found.append(up)
    return found
