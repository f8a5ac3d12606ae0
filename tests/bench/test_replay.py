"""Replays: from a kept state a log goes on as if it had never been left."""

from __future__ import annotations

from pathlib import Path

from tailwatch.bench.replay import clean, faulted, silent
from tailwatch.bench.rivals import RIVALS
from tailwatch.bench.stall import Gap
from tailwatch.checks import CHECKS
from tailwatch.core.findings import TransitionKind
from tailwatch.core.reader import RunReader

from .given import healthy, log_of

RULES = [*CHECKS, *(check for rival in RIVALS for check in rival.checks)]


def troubled(rows: int) -> list[dict[str, object]]:
    """A log in which many rules fire: a jump, NaN, norms that explode."""
    records: list[dict[str, object]] = list(healthy(rows))
    for n in range(rows // 2, rows // 2 + 30):
        records[n] |= {"loss": 9.0, "grad_norm": 80.0}
    records[rows // 2 + 40]["loss"] = float("nan")
    return records


def test_a_kept_state_goes_on(tmp_path: Path) -> None:
    """Whatever the line, the rest of the log fires what it fires in the whole."""
    log = log_of(tmp_path, troubled(300))
    whole = clean(log, RULES, set(range(0, 300, 20)), {})
    fired = [(t.category, t.mark.row) for t in whole.firings]

    assert {"loss_spike", "nan_loss", "olmo_loss", "wandb_z_score"} <= {c for c, _ in fired}
    for line, state in whole.states.items():
        rest = faulted(log, RULES, state, log.lines[line:])
        assert [(t.category, t.mark.row) for t in rest] == [f for f in fired if f[1] > line]


def test_it_is_what_the_reader_says(tmp_path: Path) -> None:
    """Line by line or at once: the same transitions, those at rest with them."""
    log = log_of(tmp_path, troubled(300))
    reader = RunReader(RULES)
    at_once = reader.feed(b"".join(log.lines)) + reader.rest()
    expected = [t for t in at_once if t.kind is TransitionKind.FIRING]

    assert len(expected) > 10
    assert repr(expected) == repr(clean(log, RULES, set(), {}).firings)  # NaN is NaN here.


def test_the_last_word_is_heard(tmp_path: Path) -> None:
    """What is only said of a run at rest is said at the end."""
    log = log_of(tmp_path, healthy(5))

    assert [t.category for t in clean(log, CHECKS, set(), {}).firings] == ["too_few_steps"]


def test_what_stands_is_kept(tmp_path: Path) -> None:
    """What was firing before a line is named, and nothing else."""
    log = log_of(tmp_path, troubled(300))
    result = clean(log, CHECKS, {140, 160}, {})

    assert {"loss_spike", "grad_norm_spike"} <= result.standing[160]
    assert result.standing[140] == set()


def test_silences_within_a_log_are_judged(tmp_path: Path) -> None:
    """A silence of hours between rows fires where the log's own times are known."""
    log = log_of(tmp_path, healthy(40))
    gaps = {n: Gap(9000.0 if n == 20 else 5.0, "train") for n in range(1, 40)}

    assert [(t.category, t.mark.row) for t in clean(log, CHECKS, set(), gaps).firings] == [
        ("run_stalled", 20),
        ("run_quiet", 20),
    ]


def test_a_silent_run_is_where_it_was(tmp_path: Path) -> None:
    """The monitor of a run that stops has seen the rows before, and no more."""
    log = log_of(tmp_path, healthy(40))
    state = clean(log, CHECKS, {25}, {}).states[25]
    last = silent(log, CHECKS, state).last

    assert last is not None
    assert last.row == 25


def test_a_check_that_raises_is_named(tmp_path: Path) -> None:
    """It is taken out, as live, and said."""

    class Broken(CHECKS[0]):  # type: ignore[misc]
        category = "broken"

        def update(self, row: object) -> None:
            raise RuntimeError

    log = log_of(tmp_path, healthy(10))

    assert clean(log, [Broken, *CHECKS], set(), {}).failed == ["broken"]
