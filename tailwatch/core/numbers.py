"""What a JSON value means as a number: finite, non-finite, or missing."""

from __future__ import annotations

import math
import re

_NUMERIC = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\Z", re.ASCII)
_NON_FINITE = re.compile(r"([+-]?)(nan|inf|infinity)\Z", re.ASCII | re.IGNORECASE)
_TENSOR = re.compile(r"tensor\(\s*([^\s,()]+)\s*(?:,.*)?\)\Z", re.DOTALL)
# A number is never spelt longer than this; the bound keeps the patterns cheap.
_TEXT_CHARS_MAX = 512


def number(value: object) -> float | None:
    """
    Read a JSON value as a float. None means that there is no number in it.

    NaN and the infinities count as numbers (non-finite ones), however they are
    spelt. Booleans, null, lists, objects and other text are no numbers.

    >>> number(2), number("2.31"), number("-inf"), number("tensor(nan, device='cuda:0')")
    (2.0, 2.31, -inf, nan)
    >>> number(10**400), number("1e999")
    (inf, inf)
    >>> number(None), number(True), number("info"), number([1.0])
    (None, None, None, None)
    """
    kind = type(value)
    if kind is float:
        return value  # type: ignore[return-value]
    if kind is int:
        try:
            return float(value)  # type: ignore[arg-type]
        except OverflowError:
            return math.inf if value > 0 else -math.inf  # type: ignore[operator]
    if kind is str:
        return _spelt(value)  # type: ignore[arg-type]
    return None


def _spelt(text: str) -> float | None:
    if len(text) > _TEXT_CHARS_MAX:
        return None
    text = text.strip()
    if _NUMERIC.match(text):
        return float(text)
    if tensor := _TENSOR.match(text):
        # Only a tensor that is not finite: `tensor(2.3)` is text like any other.
        text = tensor.group(1)
    if spelt := _NON_FINITE.match(text):
        return float(spelt.group(0))
    return None


def jsonable(value: float | None) -> float | int | str | None:
    """
    Write a number so that every JSON reader accepts it.

    >>> jsonable(float("nan")), jsonable(float("-inf")), jsonable(2.5), jsonable(3.0)
    ('NaN', '-Infinity', 2.5, 3.0)
    """
    if value is None or math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def shown(value: float | int | None) -> str:
    """
    Write a number for a person.

    >>> shown(0.123456789), shown(float("nan")), shown(float("-inf")), shown(1200)
    ('0.1235', 'NaN', '-Infinity', '1200')
    """
    if value is None:
        return "none"
    if not math.isfinite(value):
        return str(jsonable(float(value)))
    if float(value).is_integer() and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.4g}"


def spoken(seconds: float) -> str:
    """
    A duration for people.

    >>> spoken(12.3), spoken(700), spoken(40000)
    ('12 s', '12 min', '11 h')
    """
    for unit_s, unit in ((7200.0, "h"), (180.0, "min")):
        if seconds >= unit_s:
            return f"{seconds / {'h': 3600.0, 'min': 60.0}[unit]:.0f} {unit}"
    return f"{seconds:.0f} s"
