"""What every check keeps to, whatever it looks for."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tailwatch.checks
from tailwatch.checks import CATEGORIES, CHECKS
from tailwatch.core.aliases import ALIASES
from tailwatch.core.check import Check, RunConfig, Waiting
from tailwatch.core.check_bases import SilenceCheck
from tailwatch.core.findings import SEVERITIES, Evidence, Hold, Mark, Severity
from tailwatch.core.rows import Row, RowKind
from tailwatch.core.silence import Silence

FIELDS = sorted({*ALIASES, "eval_loss"} - {"step", "iter", "timestamp_s"})
HEADINGS = [
    "What it finds:",
    "Why it matters:",
    "What it does not find:",
    "Example:",
    "Source:",
]
MODULES = sorted(
    path.stem
    for path in Path(tailwatch.checks.__file__).parent.glob("*.py")
    if path.stem != "__init__"
)

every_check = pytest.mark.parametrize("check", CHECKS, ids=CATEGORIES)

numbers = st.sampled_from([0.0, 1.0, 2.0, 2.001, 7.0, 60.0, math.nan, math.inf, -math.inf])
sets = st.sampled_from(["eval_loss", "eval_a_loss", "val/b_loss", "eval_\n_loss", "e" * 99])
kinds = st.sampled_from([RowKind.TRAIN] * 4 + [RowKind.EVAL, RowKind.OTHER])
rows = st.builds(
    Row,
    number=st.just(1),
    step=st.integers(-5, 10**9) | st.floats(-1e17, 1e17),
    values=st.dictionaries(st.sampled_from(FIELDS), numbers | st.floats(), max_size=5)
    | st.fixed_dictionaries({"loss": numbers, "grad_norm": numbers}),
    offset=st.just(0),
    has_step=st.booleans(),
    timestamp_s=st.none() | st.floats(1e9, 4e9),
    kind=kinds,
    evals=st.dictionaries(sets, numbers | st.floats(), max_size=3),
    nulls=st.lists(st.sampled_from(FIELDS), max_size=2).map(tuple),
    rewarded=st.booleans(),
    resumed_from=st.none() | st.integers(0, 100),
)
# Repeated, so that rules of 30 rows and more are reached.
stories = st.lists(st.tuples(rows, st.integers(1, 12) | st.just(50)), max_size=10).map(
    lambda parts: [
        dataclasses.replace(row, number=n, offset=100 * n)
        for n, row in enumerate((row for row, times in parts for _ in range(times)), 1)
    ]
)
silences = st.builds(
    Silence,
    silence_s=st.floats(0, 1e9),
    usual_s=st.floats(0, 1e9),
    gaps=st.integers(0, 10**6),
    finished=st.sampled_from(["", "it wrote a summary"]),
    unfinished=st.sampled_from(["", "a process holds its file open"]),
)
rates = st.none() | st.floats() | st.sampled_from([1e-7, 0.1, math.inf, -math.inf, math.nan])


def feed(check: Check, row: Row) -> str:
    """What a check says of a row, as text: a NaN is unequal to itself, its text is not."""
    level = check.update(row) if check.concerns(row) else None
    return repr((level, check.clears(), check.diagnose()))


def through_json(check: Check) -> Check:
    return type(check).from_state(json.loads(json.dumps(check.to_state(), allow_nan=False)))


@every_check
@settings(deadline=None, max_examples=60)
@given(story=stories, rate=rates, saves=st.just(set(range(130))) | st.sets(st.integers(0, 130)))
def test_saving_is_invisible(
    check: type[Check], story: list[Row], rate: float | None, saves: set[int]
) -> None:
    """Saved to strict JSON and restored between any two rows, it says the same and keeps the same."""
    kept, saved = check(), check()
    for each in (kept, saved):
        each.configure(RunConfig(learning_rate=rate))
    for number, row in enumerate(story):
        if number in saves:
            saved = through_json(saved)
        assert feed(kept, row) == feed(saved, row)
    assert repr(kept.to_state()) == repr(saved.to_state())
    assert repr(kept.diagnose()) == repr(through_json(kept).diagnose())


@every_check
@settings(deadline=None, max_examples=30)
@given(story=stories, rate=rates)
def test_deterministic_and_leaves_rows_alone(
    check: type[Check], story: list[Row], rate: float | None
) -> None:
    """Two checks fed alike speak alike, asking twice changes nothing, and no row is touched."""
    one, two = check(), check()
    for each in (one, two):
        each.configure(RunConfig(learning_rate=rate))
    before = repr(copy.deepcopy(story))
    for row in story:
        assert feed(one, row) == feed(two, row)
        assert repr(one.diagnose()) == repr(two.diagnose())
    assert before == repr(story)


@every_check
@settings(deadline=None, max_examples=60)
@given(story=stories, rate=rates, silent=st.sets(st.integers(0, 130)))
def test_without_words_it_is_the_same(
    check: type[Check], story: list[Row], rate: float | None, silent: set[int]
) -> None:
    """Asked only whether it is still up, it answers as `update` does, and learns the same."""
    spoken, asked = check(), check()
    for each in (spoken, asked):
        each.configure(RunConfig(learning_rate=rate))
    for number, row in enumerate(story):
        if not check.concerns(row):
            continue
        level = asked.still_up(row) if number in silent else asked.update(row)
        assert (level is None) == (spoken.update(row) is None)
        assert repr(asked.to_state()) == repr(spoken.to_state())
        assert repr(asked.diagnose()) == repr(spoken.diagnose())


@every_check
@settings(deadline=None, max_examples=30)
@given(story=stories, rate=rates)
def test_what_it_says_is_fit_to_tell(
    check: type[Check], story: list[Row], rate: float | None
) -> None:
    """Evidence is one printable line, numbers by name, and the place of a row that was fed."""
    each = check()
    each.configure(RunConfig(learning_rate=rate))
    places = set()
    for row in story:
        places.add(Mark(row.number, row.step, row.offset))
        level = each.update(row) if each.concerns(row) else None
        for evidence in (level, each.diagnose()):
            if evidence is None:
                continue
            assert isinstance(evidence, Evidence)
            assert evidence.message.isprintable()
            assert 0 < len(evidence.message) < 200
            assert all(isinstance(value, (int, float)) for value in evidence.values.values())
            assert evidence.mark is None or evidence.mark in places


def long_story(count: int) -> list[Row]:
    """Rows that go through every level: falling, flat, diverging, NaN, high norms."""
    losses = [2.0, 1.5, 9.0, math.nan, 2.001, 0.0]
    return [
        Row(
            n,
            n,
            dict.fromkeys(FIELDS, 1.0)
            | {"loss": losses[n // 40 % len(losses)], "grad_norm": 40.0 + n % 30},
            60 * n,
        )
        for n in range(1, count + 1)
    ]


@every_check
def test_state_is_bounded(check: type[Check]) -> None:
    """After 10,000 rows its state is no larger than after 1,000, but for a few more digits."""
    sizes = []
    for count in (1000, 10_000):
        each = check()
        for row in long_story(count):
            feed(each, row)
        sizes.append(len(json.dumps(each.to_state(), allow_nan=False)))
    assert sizes[1] <= sizes[0] + 40
    assert sizes[1] <= 4096


@every_check
@settings(deadline=None, max_examples=60)
@given(story=stories, rate=rates, rewarded=st.booleans())
def test_a_check_that_waits_is_silent(
    check: type[Check], story: list[Row], rate: float | None, rewarded: bool
) -> None:
    """While it says that it waits its level is down, and what it waits for is a number or a reason."""
    each = check()
    each.configure(RunConfig(learning_rate=rate))
    for row in story:
        row.rewarded = rewarded
        level = each.update(row) if each.concerns(row) else None
        waiting = each.waiting()
        if waiting is not None:
            assert level is None
            assert 0 <= waiting.rows <= waiting.rows_min
            assert waiting.rows < waiting.rows_min or waiting.reason
            assert waiting.reason.isprintable()


@every_check
def test_a_long_run_arms_every_check(check: type[Check]) -> None:
    """After 1,000 healthy rows that have every field, with rewards or without, it waits no more."""
    waits = []
    for rewarded in (False, True):
        each = check()
        each.configure(RunConfig(learning_rate=1e-4))
        for n in range(1, 1001):
            feed(each, Row(n, n, dict.fromkeys(FIELDS, 1.0), 60 * n, rewarded=rewarded))
        waits.append(each.waiting())
    assert None in waits


@every_check
def test_it_warms_up_for_the_rows_it_says(check: type[Check]) -> None:
    """With a threshold of rows to warm up for, it waits for them, and counts them."""
    rows, each = int(check.thresholds.get("warm_up_rows", 0)), check()
    fields = dict.fromkeys(FIELDS, 1.0)
    del fields["oom_count"]  # Of it memory_creep speaks at once.
    for n in range(rows - 1):
        assert each.waiting() == Waiting(n, rows)
        feed(each, Row(n + 1, n + 1, fields, 60 * n, rewarded=each.category == "entropy_low"))


@every_check
def test_docstring_is_the_form(check: type[Check]) -> None:
    """It has the five headings in their order, text under each, and an example that runs."""
    text = inspect.getdoc(check)
    assert text is not None
    parts = re.split(r"^(\S[^\n]*:)$", text, flags=re.MULTILINE)
    assert parts[1::2] == HEADINGS
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert all(len(body.strip()) > 20 for body in sections.values())
    assert ">>>" in sections["Example:"]
    assert "SKIP" not in text


@every_check
def test_attributes(check: type[Check]) -> None:
    """Severity, advice, hold and thresholds are filled in, and it reads canonical fields."""
    assert check.severity in Severity
    assert len(check.suggestion) > 20
    assert check.suggestion.isprintable()
    assert isinstance(check.hold, Hold)
    assert check.hold.rows >= 0
    assert check.hold.clear_rows is None or check.hold.clear_rows > 0
    assert all(math.isfinite(value) for value in check.thresholds.values())
    assert set(check.reads) | set(check.reads_any) <= set(FIELDS)
    assert not (check.reads and check.reads_any)
    assert check.state_version >= 1
    assert check.check_set in ("seed", "extended", "user")


@every_check
def test_a_fresh_check_has_seen_nothing(check: type[Check]) -> None:
    """Without a row, and whatever the configuration says, only `no_metrics` has something to say."""
    each = check()
    each.configure(RunConfig(learning_rate=0.1))
    each.configure(RunConfig(learning_rate=1e-9))
    assert (each.diagnose() is not None) == (check.category == "no_metrics")
    assert through_json(each).to_state() == each.to_state()


@pytest.mark.parametrize("name", MODULES)
def test_one_module_one_check(name: str) -> None:
    """Every module here holds exactly one check, named for the file, and it is registered."""
    module = importlib.import_module(f"tailwatch.checks.{name}")
    found = [
        each
        for _, each in inspect.getmembers(module, inspect.isclass)
        if issubclass(each, Check) and each.__module__ == module.__name__
    ]
    assert [name] == [each.category for each in found]
    assert [name.replace("_", "")] == [each.__name__.lower() for each in found]
    assert found[0] in CHECKS
    assert (module.__doc__ or "").startswith(f"{name}: ")


def test_registry_is_complete_and_in_order() -> None:
    """The list has every module's check once, worst severity first."""
    assert sorted(CATEGORIES) == MODULES
    ranks = [SEVERITIES.index(check.severity) for check in CHECKS]
    assert sorted(ranks) == ranks


def test_states_are_small_and_flat() -> None:
    """A state is a flat dict of JSON values: numbers, text, null, and places."""
    for check in CHECKS:
        each = check()
        for row in long_story(300):
            feed(each, row)
        state: dict[str, Any] = each.to_state()
        assert len(state) <= 40
        for value in state.values():
            assert value is None or isinstance(value, (int, float, str, list, tuple, dict))


@settings(deadline=None, max_examples=100)
@given(st.sampled_from([c for c in CHECKS if issubclass(c, SilenceCheck)]), silences)
def test_what_is_said_of_silences_is_fit_to_tell(check: type[Check], silence: Silence) -> None:
    """One printable line; never of a run that is known to have ended; a row says nothing."""
    each = check()
    assert isinstance(each, SilenceCheck)
    evidence = each.tick(silence)
    if evidence is not None:
        assert not silence.finished
        assert evidence.message.isprintable()
        assert 0 < len(evidence.message) < 200
    assert each.update(Row(1, 1, {"loss": 1.0}, 0)) is None
