"""What a read gave is counted, logged once, kept, and told to whom it concerns."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tailwatch.checks import CHECKS
from tailwatch.dispatch import Dispatch
from tailwatch.messages import Commit
from tailwatch.readers import KeptReader
from tailwatch.telling import Telling
from tailwatch.tracked import Tracked


class Lines:
    def __init__(self) -> None:
        self.said: list[tuple[str, dict[str, Any]]] = []

    def _say(self, event: str, **facts: Any) -> None:
        self.said.append((event, facts))

    debug = info = warning = error = _say


def take(tracked: Tracked, telling: Telling, data: bytes, commit: Commit) -> bool:
    transitions = tracked.reader.feed(data)
    tracked.cursor.advance(data)
    if tracked.name is None and tracked.reader.is_metric:
        tracked.name = "m"
    return telling.take(tracked, transitions, 1000.0, commit)


def test_bad_lines_are_said_once_and_counted_always() -> None:
    """The first of a reason is logged, with its number; each is counted."""
    totals, log, commit = Counter[tuple[str, ...]](), Lines(), Commit()
    telling = Telling(Dispatch([], {}), totals, log, 3600.0)
    tracked = Tracked("/r/m.jsonl", "/r", KeptReader(CHECKS))
    assert not take(tracked, telling, b"junk\n", commit)
    assert totals == {}
    assert take(tracked, telling, b'junk\n{"step": 1, "loss": 2}\n', commit)
    assert take(tracked, telling, b"junk\n[1]\n", commit)

    assert totals == {("bad_lines", "not_json"): 3, ("bad_lines", "not_object"): 1}
    said = [(facts["reason"], facts["lines"]) for event, facts in log.said if event == "bad_lines"]
    assert said == [("not_json", 2), ("not_object", 1)]


def test_a_finding_is_counted_kept_and_logged() -> None:
    """A NaN in a file that became a run: one tally, one record, one line."""
    totals, log, commit = Counter[tuple[str, ...]](), Lines(), Commit()
    telling = Telling(Dispatch([], {}), totals, log, 3600.0)
    tracked = Tracked("/r/m.jsonl", "/r", KeptReader(CHECKS))
    take(tracked, telling, b'{"step": 1, "loss": NaN}\n', commit)

    assert tracked.tallies["nan_loss"].total == 1
    assert [(f.run, f.transition.category) for f in commit.findings] == [("m", "nan_loss")]
    assert log.said == []  # Not before it is kept.
    telling.say()
    telling.say()
    assert [event for event, _ in log.said] == ["finding_firing"]
