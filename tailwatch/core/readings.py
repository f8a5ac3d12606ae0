"""How the value of a source becomes the number of its field."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime

from .numbers import number

_OF = re.compile(r"\s*(\d{1,18})\s*/\s*(\d{1,18})\s*\Z", re.ASCII)
_CLOCK = re.compile(
    r"(?:(?P<d>\d+) days?,? )?(?P<h>\d+):(?P<m>\d\d):(?P<s>\d\d(?:\.\d+)?)\Z", re.ASCII
)
_UNITS = re.compile(
    r"(?:(?P<d>\d+)d ?)?(?:(?P<h>\d+)h ?)?(?:(?P<m>\d+)m(?:in)? ?)?(?:(?P<s>\d+(?:\.\d+)?)s)?\Z",
    re.ASCII,
)
_UNIT_S = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_TEXT_CHARS_MAX = 40


def numerator(value: object) -> float | None:
    """
    A number, or the left side of "10/438".

    >>> numerator("10/438"), numerator(7), numerator("a/b")
    (10.0, 7.0, None)
    """
    if type(value) is str and (match := _OF.match(value)):
        return float(match.group(1))
    return number(value)


def denominator(value: object) -> float | None:
    """
    The right side of "10/438"; no plain number.

    >>> denominator("10/438"), denominator(7)
    (438.0, None)
    """
    match = _OF.match(value) if type(value) is str else None
    return float(match.group(2)) if match else None


def percent(value: object) -> float | None:
    """
    A number of percent, with or without its sign.

    >>> percent("2.28%"), percent(2.28)
    (2.28, 2.28)
    """
    return number(value.rstrip().removesuffix("%") if type(value) is str else value)


def largest(value: object) -> float | None:
    """
    A number, or the largest of a list or an object: one rate for each parameter group.

    >>> largest({"backbone": 1e-5, "head": 1e-4}), largest([1e-5]), largest("2e-4")
    (0.0001, 1e-05, 0.0002)
    """
    if type(value) is dict:
        value = list(value.values())
    if type(value) is list:
        return max((v for v in map(number, value[:64]) if v is not None), default=None)
    return number(value)


def duration(value: object) -> float | None:
    """
    Seconds, written as a number, a clock, or with units.

    >>> duration("4 days, 7:18:24"), duration("0:32:48"), duration("1m 42s"), duration(3)
    (371904.0, 1968.0, 102.0, 3.0)
    """
    if type(value) is not str or len(value) > _TEXT_CHARS_MAX:
        return number(value)
    text = value.strip()
    match = _CLOCK.match(text) or (_UNITS.match(text) if text else None)
    if match is None:
        return number(text)
    return sum(float(part) * _UNIT_S[unit] for unit, part in match.groupdict("0").items())


def clock(value: object) -> float | None:
    """
    Unix seconds: a number of them, or ISO 8601 text; of UTC if it names no zone.

    >>> clock(1.7e9), clock("2023-11-14T22:13:20Z"), clock(12.5)
    (1700000000.0, 1700000000.0, None)
    """
    seconds = number(value)
    if seconds is None and type(value) is str and len(value) <= _TEXT_CHARS_MAX:
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    # Durations and milliseconds are common under the same keys: 2001 to 2096 only.
    return seconds if seconds is not None and 1e9 < seconds < 4e9 else None


def _scaled(factor: float) -> Callable[[object], float | None]:
    def read(value: object) -> float | None:
        plain = number(value)
        return None if plain is None else plain * factor

    return read


def _inverse(value: object) -> float | None:
    plain = number(value)
    return None if plain is None or plain <= 0 else 1.0 / plain


READINGS: dict[str, Callable[[object], float | None]] = {
    "number": number,
    "numerator": numerator,
    "denominator": denominator,
    "percent": percent,
    "largest": largest,
    "duration": duration,
    "clock": clock,
    "negated": _scaled(-1.0),
    "thousandth": _scaled(1e-3),
    "mebibytes": _scaled(1 / 1024),
    "inverse": _inverse,
}

AS_IS = frozenset({"number", "numerator", "percent", "largest", "duration"})
"""Those that leave a float as it is."""
