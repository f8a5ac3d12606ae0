"""What a person is told, before any markup."""

from __future__ import annotations

import pytest

from tailwatch.receivers import words
from tests.receivers.notices import DATA, notice


def test_one_finding() -> None:
    """The severity, the category and the run; where; the losses; nothing of an end."""
    one = notice()
    assert words.title(one) == "CRITICAL: nan_loss in exp1/metrics"
    assert words.where(DATA) == "run exp1/metrics, step 120, host node7"
    assert words.curve(DATA) == "█▄▁ (3 to 2.5)"
    assert words.curve(DATA | {"recent": []}) == ""
    assert words.lasted(one) == ""


@pytest.mark.parametrize(("seconds", "text"), [(40, "40 s"), (700, "12 min"), (40_000, "11 h")])
def test_the_end_of_one(seconds: int, text: str) -> None:
    """It is called resolved, and how long it had lasted is said."""
    end = notice(kind="finding.resolved", duration_s=seconds)
    assert words.title(end) == "Resolved: nan_loss in exp1/metrics"
    assert words.lasted(end) == text


def test_a_digest() -> None:
    """Counts, a line for each of the first twenty, and how many more there are."""
    ends = [notice(n, "finding.resolved", run="a") for n in range(2)]
    many = ends + [notice(n, run=f"r{n}", message="m" * 99) for n in range(30)]
    assert words.digest_title(many) == "32 findings in 31 runs, 2 of them resolved"
    lines = words.digest_lines(many)
    assert len(lines) == 21
    assert lines[0].startswith("• resolved: nan_loss in a: loss is NaN")
    assert lines[2] == f"• nan_loss in r0: {'m' * 59}…"
    assert lines[-1] == "and 12 more"
    assert words.digest_title([notice()] * 6) == "6 findings in 1 run"


@pytest.mark.parametrize(
    ("text", "length", "clipped"),
    [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("", 3, ""), ("ab", 1, "…")],
)
def test_clip(text: str, length: int, clipped: str) -> None:
    """Text that fits is left alone."""
    assert words.clip(text, length) == clipped
