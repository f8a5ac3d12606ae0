"""A transition in words and numbers, under a key that a crash does not change."""

from __future__ import annotations

import json
import math
import re
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core.findings import Evidence, Mark, Severity, Transition, TransitionKind
from tailwatch.core.notices import digest_key, make_notice, notice_key, utc

TRANSITION = Transition(
    category="nan_loss",
    severity=Severity.CRITICAL,
    kind=TransitionKind.FIRING,
    segment=2,
    mark=Mark(121, 120, 10240),
    evidence=Evidence("loss is NaN at step 120", {"loss": math.nan, "more": 2.5}, Mark(1, 1, 0)),
    suggestion="Stop the run.",
    era=3,
    recent=(2.5, 2.25),
    timestamp_s=1.0,
)
FIRST_LINE = b'{"step": 1}'


def test_the_key_is_written_in_stone() -> None:
    """The key of a known transition is this very text, so that an update re-sends nothing."""
    assert notice_key("exp1/m", FIRST_LINE, TRANSITION) == "tw_30fa3de59d74bed0d17c9c4e429fc2fa"


@pytest.mark.parametrize(
    "other",
    [
        {"evidence": Evidence("in other words", {}, None)},
        {"suggestion": "Other advice."},
        {"era": 9},
        {"recent": ()},
        {"timestamp_s": None},
        {"continues": True},
        {"severity": Severity.INFO},
    ],
)
def test_the_key_does_not_depend_on_words(other: dict[str, Any]) -> None:
    """What is said of a transition may change between versions without changing its key."""
    expected = notice_key("exp1/m", FIRST_LINE, TRANSITION)
    assert expected == notice_key("exp1/m", FIRST_LINE, replace(TRANSITION, **other))


def test_different_transitions_have_different_keys() -> None:
    """Another run, file, segment, category, edge, row or offset is another key."""
    others = [
        replace(TRANSITION, segment=1),
        replace(TRANSITION, category="loss_diverged"),
        replace(TRANSITION, kind=TransitionKind.RESOLVED),
        replace(TRANSITION, mark=Mark(122, 120, 10240)),
        replace(TRANSITION, mark=Mark(121, 120, 10241)),
    ]
    keys = {notice_key("exp1/m", FIRST_LINE, each) for each in [TRANSITION, *others]}
    keys |= {notice_key("exp2/m", FIRST_LINE, TRANSITION)}
    keys |= {notice_key("exp1/m", b'{"step": 2}', TRANSITION), notice_key("", b"", TRANSITION)}
    assert len(others) + 4 == len(keys)
    assert all(re.fullmatch(r"tw_[0-9a-f]{32}", key) for key in keys)


def test_the_facts_of_a_notice() -> None:
    """A notice holds what the contract promises, with a NaN as text and times in UTC."""
    notice = make_notice(
        run="exp1/m",
        file="/r/exp1/m.jsonl",
        host="node7",
        first_line=FIRST_LINE,
        transition=TRANSITION,
        time_s=1767225600.9,
        fired_s=1767225600.9,
        url="https://tw.example/runs/exp1/m",
    )
    expected = {
        "run": "exp1/m",
        "segment": 2,
        "category": "nan_loss",
        "severity": "critical",
        "message": "loss is NaN at step 120",
        "suggestion": "Stop the run.",
        "step": 120,
        "row": 121,
        "file": "/r/exp1/m.jsonl",
        "host": "node7",
        "first_seen": "2026-01-01T00:00:00Z",
        "evidence": {"loss": "NaN", "more": 2.5},
        "recent": [2.5, 2.25],
        "url": "https://tw.example/runs/exp1/m",
    }
    assert expected == notice.data
    assert (notice.type, notice.time_s) == ("finding.firing", 1767225600.9)
    assert notice_key("exp1/m", FIRST_LINE, TRANSITION) == notice.key
    assert expected == json.loads(json.dumps(notice.data, allow_nan=False))


def test_no_url_no_key() -> None:
    """Without a page about the run, `url` is left out rather than null."""
    notice = make_notice(
        run="m",
        file="m",
        host="h",
        first_line=b"",
        transition=TRANSITION,
        time_s=0.0,
        fired_s=0.0,
        url=None,
    )
    assert "url" not in notice.data


@pytest.mark.parametrize(("fired_s", "lasted_s"), [(1767225000.0, 600), (1767225700.0, 0)])
def test_a_resolved_finding_knows_how_long_it_lasted(fired_s: float, lasted_s: int) -> None:
    """It says when it was first seen and when it resolved; never that it lasted less than nothing."""
    notice = make_notice(
        run="m",
        file="m",
        host="h",
        first_line=b"",
        transition=replace(TRANSITION, kind=TransitionKind.RESOLVED),
        time_s=1767225600.9,
        fired_s=fired_s,
        url=None,
    )
    assert notice.type == "finding.resolved"
    assert notice.data["first_seen"] == utc(fired_s)
    assert notice.data["resolved_at"] == "2026-01-01T00:00:00Z"
    assert notice.data["duration_s"] == lasted_s


@settings(deadline=None, max_examples=200)
@given(st.integers(-60_000_000_000, 250_000_000_000), st.floats(0, 0.999))
def test_utc_is_read_back_to_the_second(second: int, part: float) -> None:
    """The text is ISO 8601 in UTC, and reads back as the whole second."""
    text = utc(max(0, second) + part)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", text)
    assert datetime.fromtimestamp(max(0, second), tz=UTC) == datetime.fromisoformat(text)


def test_utc_in_any_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text is UTC, in whatever zone this host is."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        text = utc(1767225600.0)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert text == "2026-01-01T00:00:00Z"


def test_digest_keys() -> None:
    """A digest's key depends on which notices it tells and on their order, and on nothing else."""
    assert digest_key(["a", "b"]) == digest_key(["a", "b"])
    keys = {digest_key(each) for each in (["a", "b"], ["b", "a"], ["a"], ["ab"], ["a", "b", "c"])}
    assert len(keys) == 5
    assert all(re.fullmatch(r"twd_[0-9a-f]{32}", key) for key in keys)
