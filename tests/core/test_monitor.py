"""One run: rows in, transitions out, and no check can hurt another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.checks import CHECKS
from tailwatch.checks.loss_diverged import LossDiverged
from tailwatch.checks.nan_loss import NanLoss
from tailwatch.checks.no_metrics import NoMetrics
from tailwatch.checks.too_few_steps import TooFewSteps
from tailwatch.core.check import Check, RunConfig
from tailwatch.core.findings import (
    Evidence,
    Hold,
    Mark,
    Severity,
    Transition,
    TransitionKind,
)
from tailwatch.core.monitor import RECENT_LOSSES, RunMonitor
from tailwatch.core.rows import Row
from tailwatch.errors import StateOutdated

NAN = float("nan")


class Raises(Check):
    """Up from the first row; raises at a loss of 13."""

    category: ClassVar[str] = "raises"
    severity: ClassVar[Severity] = Severity.WARNING
    suggestion: ClassVar[str] = "Mend the check."
    check_set: ClassVar[str] = "user"
    reads: ClassVar[tuple[str, ...]] = ("loss",)
    hold: ClassVar[Hold] = Hold(1, 5)

    def update(self, row: Row) -> Evidence | None:
        if row.values["loss"] == 13:
            raise ZeroDivisionError
        return Evidence("up", {}, None)

    def to_state(self) -> dict[str, Any]:
        return {}


class RaisesOften(Raises):
    """Of the seed set, and broken in its diagnosis too once it has raised."""

    category: ClassVar[str] = "raises_often"
    check_set: ClassVar[str] = "seed"
    broken: bool = False

    def update(self, row: Row) -> Evidence | None:
        self.broken = row.values["loss"] == 13
        return super().update(row)

    def diagnose(self) -> Evidence | None:
        assert not self.broken
        return Evidence("stands", {}, None)


class NeedsBoth(Raises):
    """Counts the rows it was given."""

    category: ClassVar[str] = "needs_both"
    reads: ClassVar[tuple[str, ...]] = ("loss", "grad_norm")
    hold: ClassVar[Hold] = Hold(2, None)

    def __init__(self) -> None:
        self.seen: list[int] = []

    def update(self, row: Row) -> Evidence | None:
        self.seen.append(row.number)
        return None


def row(number: int, step: float | None = None, **values: float) -> Row:
    at = number if step is None else step
    return Row(number, at, values or {"loss": 1.0}, number * 10, timestamp_s=1e9 + number)


def edges(transitions: Iterable[Transition]) -> list[tuple[str, str]]:
    return [(t.category, t.kind.value) for t in transitions]


def feed(monitor: RunMonitor, rows: Iterable[Row]) -> list[Transition]:
    return [t for each in rows for t in monitor.update(each)]


def falling(count: int, first: int = 1) -> list[Row]:
    return [row(n, loss=2.0 - n / 1000) for n in range(first, first + count)]


def test_a_transition_tells_all() -> None:
    """A firing transition holds category, severity, place, evidence, advice, losses and time."""
    monitor = RunMonitor(CHECKS)
    feed(monitor, [row(1, loss=2.0), row(2, loss=float("inf")), row(3, loss=1.5)])
    monitor = RunMonitor(CHECKS)
    (transition,) = feed(monitor, [row(1, loss=2.0), row(2, loss=1.5), row(3, 30, loss=NAN)])
    assert transition.category == "nan_loss"
    assert transition.severity is Severity.CRITICAL
    assert transition.kind is TransitionKind.FIRING
    assert transition.mark == Mark(3, 30, 30)
    assert transition.evidence.mark == Mark(3, 30, 30)
    assert transition.suggestion == NanLoss.suggestion
    assert transition.recent == (2.0, 1.5)
    assert transition.timestamp_s == 1e9 + 3
    assert (transition.segment, transition.era, transition.continues) == (1, 1, False)
    assert [transition] == monitor.firing()


def test_resolving_speaks_with_the_evidence_of_firing() -> None:
    """A resolved transition names the row that ended it, and says what the finding had said."""
    monitor = RunMonitor(CHECKS)
    fired, resolved = feed(monitor, [row(1, loss=NAN), *falling(25, first=2)])
    assert edges([fired, resolved]) == [("nan_loss", "firing"), ("nan_loss", "resolved")]
    assert fired.evidence == resolved.evidence
    assert resolved.mark == Mark(21, 21, 210)
    assert monitor.firing() == []


def test_a_check_that_raises_is_quarantined() -> None:
    """It is taken out and named once with its error; what it said stands; the others go on."""
    monitor = RunMonitor([Raises, NanLoss])
    assert edges(feed(monitor, [row(1)])) == [("raises", "firing")]
    assert monitor.take_errors() == []
    assert edges(feed(monitor, [row(2, loss=13.0), row(3, loss=NAN), row(4, loss=13.0)])) == [
        ("nan_loss", "firing")
    ]
    assert monitor.take_errors() == [("raises", "ZeroDivisionError")]
    assert monitor.take_errors() == []
    assert edges(monitor.firing()) == [("raises", "firing"), ("nan_loss", "firing")]
    assert [f.category for f in monitor.diagnose()] == ["raises", "nan_loss"]


def test_a_check_is_not_taken_out_for_want_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory that runs out while a check is at work is no fault of the check."""

    def no_memory(self: NanLoss, row: Row) -> None:
        raise MemoryError

    monkeypatch.setattr(NanLoss, "update", no_memory)
    monitor = RunMonitor([NanLoss])
    with pytest.raises(MemoryError):
        feed(monitor, [row(1, loss=NAN)])
    assert (monitor.take_errors(), monitor.watched[0].quarantined) == ([], False)


def test_a_quarantined_check_is_not_asked() -> None:
    """Of a check that raised, the diagnosis is what it last told, without asking it again."""
    monitor = RunMonitor([RaisesOften])
    feed(monitor, [row(1)])
    assert [f.evidence.message for f in monitor.diagnose()] == ["stands"]
    feed(monitor, [row(2, loss=13.0)])
    assert [f.evidence.message for f in monitor.diagnose()] == ["up"]
    assert monitor.rest() == []


def test_quarantine_ends_with_the_segment() -> None:
    """A new segment gives a quarantined check another chance, and its finding resolves."""
    monitor = RunMonitor([Raises])
    feed(monitor, [row(n) for n in range(1, 13)])
    feed(monitor, [row(13, loss=13.0)])
    assert edges(monitor.update(row(14, 1))) == [("raises", "resolved"), ("raises", "firing")]


def test_quarantine_survives_a_restart() -> None:
    """A check that raised stays out after its state was saved and restored."""
    monitor = RunMonitor([Raises])
    feed(monitor, [row(1, loss=13.0)])
    monitor = RunMonitor.from_state([Raises], None, monitor.to_state())
    assert feed(monitor, [row(2)]) == []


def test_rows_reach_only_the_checks_that_read_them() -> None:
    """`update` is called with the rows that carry all the fields a check reads, and no others."""
    monitor = RunMonitor([NeedsBoth])
    feed(
        monitor,
        [row(1, loss=1.0), row(2, grad_norm=1.0), row(3, loss=1.0, grad_norm=NAN), row(4, lr=1.0)],
    )
    assert monitor.watched[0].check.to_state() == {}
    assert [each.check.seen for each in monitor.watched] == [[3]]  # type: ignore[attr-defined]


def test_a_new_segment_resolves_what_fires_and_starts_afresh() -> None:
    """The step back at its start after 10 rows: findings resolve, checks and losses begin anew."""
    monitor = RunMonitor(CHECKS)
    feed(monitor, [row(n, loss=NAN if n == 12 else 2.0) for n in range(1, 13)])
    transitions = monitor.update(row(13, 1, loss=NAN))
    assert edges(transitions) == [("nan_loss", "resolved"), ("nan_loss", "firing")]
    resolved, fired = transitions
    assert (resolved.segment, resolved.era, fired.segment, fired.era) == (1, 1, 2, 2)
    assert not fired.continues
    assert (monitor.segment, fired.recent) == (2, ())
    monitor.update(row(14, 2, loss=1.5))
    assert tuple(monitor.recent) == (1.5,)


def test_a_resume_ends_the_latched_and_rearms() -> None:
    """A step that fell back ends a latched finding; a NaN after it is told again, in a new era."""
    monitor = RunMonitor([NanLoss])
    feed(monitor, [row(n, loss=NAN if n == 40 else 2.0 - n / 100) for n in range(1, 41)])
    transitions = feed(monitor, [row(41, 20, loss=1.8), row(42, 21, loss=NAN)])
    assert edges(transitions) == [("nan_loss", "resolved"), ("nan_loss", "firing")]
    assert [t.era for t in transitions] == [2, 2]
    assert [t.segment for t in transitions] == [1, 1]
    assert not transitions[1].continues
    # What the checks remember stays: the first NaN is still the first.
    assert monitor.diagnose()[0].evidence.mark == Mark(40, 40, 400)


def test_a_resume_keeps_what_is_not_latched() -> None:
    """A finding of a check that is not latched goes on firing through a resume."""
    monitor = RunMonitor([LossDiverged])
    feed(monitor, [row(n, loss=1.0 if n < 20 else 9.0) for n in range(1, 41)])
    assert edges(monitor.firing()) == [("loss_diverged", "firing")]
    assert monitor.update(row(41, 22, loss=9.0)) == []
    assert edges(monitor.firing()) == [("loss_diverged", "firing")]


def test_a_rotation_is_no_resume() -> None:
    """A new file whose steps go on says nothing, and what fires does not page again for it."""
    monitor = RunMonitor(CHECKS)
    assert edges(feed(monitor, [*falling(20), row(21, loss=NAN)])) == [("nan_loss", "firing")]
    monitor.source_restarted()
    assert feed(monitor, [row(22, loss=NAN), row(23, loss=NAN)]) == []
    assert (monitor.segment, monitor.resumes) == (1, 0)
    assert edges(monitor.firing()) == [("nan_loss", "firing")]


def test_whole_file_knows_no_segments() -> None:
    """Asked to, the monitor takes all rows as one segment, whatever their steps do."""
    monitor = RunMonitor(CHECKS, whole_file=True)
    monitor.source_restarted()
    feed(monitor, [*falling(20), *[row(n, n - 20, loss=1.0) for n in range(21, 41)]])
    assert (monitor.segment, monitor.resumes) == (1, 0)
    again = RunMonitor.from_state(CHECKS, None, monitor.to_state())
    feed(again, [row(41, 1)])
    assert again.segment == 1


def test_rest_fires_the_pending() -> None:
    """A run that dies within a hold is told of: its last word is the batch diagnosis."""
    monitor = RunMonitor(CHECKS)
    assert feed(monitor, [*falling(20), row(21, loss=9.0)]) == []
    assert edges(monitor.rest()) == [("loss_diverged", "firing")]
    assert monitor.rest() == []


def test_rest_says_nothing_of_what_was_over() -> None:
    """A NaN that resolved is still in the diagnosis, but rest does not fire it again."""
    monitor = RunMonitor(CHECKS)
    feed(monitor, [row(1, loss=NAN), *falling(30, first=2)])
    assert [f.category for f in monitor.diagnose()] == ["nan_loss"]
    assert monitor.rest() == []


@pytest.mark.parametrize(
    ("losses", "rate", "expected"),
    [
        ([], None, ["no_metrics"]),
        ([], 0.1, ["no_metrics"]),
        ([2.0], None, ["too_few_steps"]),
        ([2.0] * 9, None, ["too_few_steps"]),
        ([2.0] * 10, None, []),
        ([2.0, NAN], None, ["nan_loss"]),
        ([2.0], 0.1, ["lr_too_high"]),
        ([2.0, 2.0, 2.0, 2.0, 7.0], None, ["loss_diverged"]),
    ],
)
def test_too_few_steps_speaks_alone(
    losses: list[float], rate: float | None, expected: list[str]
) -> None:
    """At rest, too few rows are only mentioned where no other check has anything to say."""
    monitor = RunMonitor(CHECKS, RunConfig(learning_rate=rate))
    transitions = feed(monitor, [row(n, loss=loss) for n, loss in enumerate(losses, 1)])
    assert expected == [f.category for f in monitor.diagnose()]
    assert expected == [t.category for t in [*transitions, *monitor.rest()]]
    assert monitor.rest() == []


def test_what_is_said_at_rest_ends_with_the_next_row() -> None:
    """A run that goes on after a rest takes its remark back, and a second rest continues it."""
    monitor = RunMonitor([TooFewSteps, NoMetrics])
    assert edges(monitor.rest()) == [("no_metrics", "firing")]
    assert edges(monitor.update(row(1))) == [("no_metrics", "resolved")]
    assert edges(monitor.rest()) == [("too_few_steps", "firing")]
    assert edges(monitor.update(row(2))) == [("too_few_steps", "resolved")]
    (again,) = monitor.rest()
    assert again.continues


def test_a_late_configuration_shows_at_the_next_row_or_at_rest() -> None:
    """A configuration found after the first rows is judged on the next row, or when rows end."""
    for at_rest in (False, True):
        monitor = RunMonitor(CHECKS)
        feed(monitor, falling(3))
        monitor.configure(RunConfig(learning_rate=1e-9))
        transitions = monitor.rest() if at_rest else monitor.update(row(4))
        assert edges(transitions) == [("lr_too_low", "firing")]
    monitor = RunMonitor(CHECKS)
    feed(monitor, falling(12))
    monitor.configure(RunConfig(learning_rate=1e-9))
    assert edges(monitor.update(row(13, 1))) == [("lr_too_low", "firing")]
    assert monitor.segment == 2


def test_recent_losses_are_finite_and_bounded() -> None:
    """Of all losses only the last 30 finite ones are kept for the curve."""
    bad = [NAN, -float("inf")]
    monitor = RunMonitor(CHECKS)
    feed(monitor, [row(n, loss=float(n) if n % 3 else bad[n % 2]) for n in range(1, 100)])
    assert [n for n in range(1, 100) if n % 3][-RECENT_LOSSES:] == list(monitor.recent)


@pytest.mark.parametrize("change", ["fewer", "more", "version", "thresholds"])
def test_state_of_other_checks_is_outdated(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """State saved by another set of checks, another version or other thresholds is refused."""
    monitor = RunMonitor([NanLoss, TooFewSteps])
    feed(monitor, falling(3))
    state = monitor.to_state()
    checks: Sequence[type[Check]] = [NanLoss, TooFewSteps]
    if change == "fewer":
        checks = [NanLoss]
    elif change == "more":
        checks = [NanLoss, TooFewSteps, NoMetrics]
    elif change == "version":
        monkeypatch.setattr(NanLoss, "state_version", 2)
    else:
        monkeypatch.setattr(TooFewSteps, "thresholds", {"rows_min": 11})
    with pytest.raises(StateOutdated):
        RunMonitor.from_state(checks, None, state)


def test_what_was_read_of_the_configuration_is_kept() -> None:
    """It is the same after a restart; from a state of before the counts, they are not known."""
    config = RunConfig(0.5, "/runs/config.json", planned_steps=100, save_steps=10)
    state = msgspec.msgpack.decode(msgspec.msgpack.encode(RunMonitor(CHECKS, config).to_state()))
    again = RunMonitor.from_state(CHECKS, None, state)
    state["config"] = {"learning_rate": 0.5, "source": "/runs/config.json"}
    older = RunMonitor.from_state(CHECKS, None, state)
    assert again.config == config
    assert older.config == RunConfig(0.5, "/runs/config.json")
    assert edges(older.update(row(1))) == [("lr_too_high", "firing")]


def test_a_continued_finding_survives_a_restart() -> None:
    """What stands, with its time and whether it continues, is the same after a restart."""
    monitor = RunMonitor([NanLoss])
    feed(monitor, [row(1, loss=NAN), *falling(20, first=2), row(22, loss=NAN)])
    packed = msgspec.msgpack.encode(monitor.to_state())
    again = RunMonitor.from_state([NanLoss], None, msgspec.msgpack.decode(packed))
    (before,), (after,) = monitor.firing(), again.firing()
    assert before.continues
    for name in ("category", "kind", "segment", "mark", "continues", "timestamp_s"):
        assert getattr(before, name) == getattr(after, name)
    (resolved,) = feed(again, falling(20, first=23))
    assert told([resolved]) == told(feed(monitor, falling(20, first=23)))
    assert resolved.continues


losses = st.sampled_from([2.0, 2.0, 2.001, 7.0, 7.0, NAN, float("inf"), 0.0])
acts = st.tuples(
    st.sampled_from(["row"] * 8 + ["back", "start", "rest", "restarted", "configure"]),
    losses,
    st.integers(1, 12),
)


def told(transitions: Iterable[Transition]) -> str:
    return repr(list(transitions))  # A NaN is unequal to itself; its text is not.


@settings(deadline=None, max_examples=120)
@given(st.lists(acts, max_size=20), st.data())
def test_saving_is_invisible(story: list[tuple[str, float, int]], data: st.DataObject) -> None:
    """Through save and restore at any point, every later transition and finding is the same."""
    config = RunConfig(learning_rate=0.1)
    kept, saved = RunMonitor([*CHECKS, Raises], config), RunMonitor([*CHECKS, Raises], config)
    number = step = 0
    for act, loss, times in story:
        if act in ("back", "start"):
            step = max(0, step - 7) if act == "back" else 0
        for _ in range(times if act == "row" else 1):
            number, step = number + 1, step + 1
            values = {"loss": 13.0 if data.draw(st.integers(0, 40)) == 0 else loss}
            values["grad_norm"] = 80.0
            if data.draw(st.booleans()):
                packed = msgspec.msgpack.encode(saved.to_state())
                saved = RunMonitor.from_state(
                    [*CHECKS, Raises], None, msgspec.msgpack.decode(packed)
                )
            got = []
            for monitor in (kept, saved):
                if act == "rest":
                    out = monitor.rest()
                elif act == "restarted":
                    monitor.source_restarted()
                    out = []
                elif act == "configure":
                    monitor.configure(RunConfig(learning_rate=loss))
                    out = []
                else:
                    out = monitor.update(row(number, step, **values))
                standing = [(t.category, t.mark, t.evidence) for t in monitor.firing()]
                got.append((told(out), repr(standing), repr(monitor.diagnose()), monitor.segment))
            assert got[0] == got[1]
