"""Measure: each log as it is, and with faults in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

from ..core.check import Check
from ..core.findings import Transition
from ..core.rows import Row
from . import stall
from .faults import FAULTS, edited, usual
from .logs import Log
from .places import Place, halts, places
from .replay import Clean, clean, faulted, silent
from .rivals import RIVALS, answers
from .score import OURS, Rule, Score, judges_silences


def new_score(checks: Sequence[type[Check]], seed: int, *, rivals: bool) -> Score:
    """A score with nothing counted yet."""
    faults = [(fault.name, fault.rows) for fault in FAULTS]
    return Score(seed, checks, RIVALS if rivals else (), [*faults, (stall.NAME, None)])


def measure(log: Log, score: Score) -> None:
    """Replay a log as it is and with faults, and count."""
    checks = [check for rule in score.rules for check in rule.checks]
    noise = Random(f"{score.seed}/{log.run}/stall")
    rows = [seen.row for seen in log.rows]
    own = stall.own_gaps(rows)
    gaps = own or stall.simulated_gaps(rows, noise.random)
    known = {
        seen.line: gap
        for seen, gap in zip(log.rows, own or (), strict=False)
        if gap is not None and seen.line is not None
    }
    faults, silences = list(places(log, score.seed)), halts(log, score.seed)
    starts = {_line(log, n) for n in (*(place.rows[0] for place in faults), *silences)}
    replayed = clean(log, checks, starts, known)
    asked = Counter({check: _asked(check, rows, len(known)) for check in checks})
    score.add_clean(log.run, len(rows), asked, replayed.firings)
    score.failed.update(replayed.failed)
    for place in faults:
        found = _with_fault(log, score.rules, replayed, place)
        if found is not None:
            score.add_fault(log.run, place.fault.name, found)
    for at in silences:
        line = _line(log, at)
        if replayed.standing[line].isdisjoint(stall.RIGHT):
            monitor = silent(log, checks, replayed.states[line])
            answer = stall.found_after_rows(monitor, gaps[:at], noise.random())
            score.add_fault(log.run, stall.NAME, {OURS: answer} if answer else {})


def _line(log: Log, number: int) -> int:
    line = log.rows[number].line
    assert line is not None  # Places are in rows that have a line to themselves.
    return line


def _asked(check: type[Check], rows: Sequence[Row], silences: int) -> int:
    if judges_silences(check):
        return silences
    if check.reads:
        return sum(all(name in row.values for name in check.reads) for row in rows)
    if check.reads_any:
        names = check.reads_any
        return sum(any(n in row.values or n in row.nulls for n in names) for row in rows)
    return len(rows)


def _with_fault(
    log: Log, rules: Sequence[Rule], replayed: Clean, place: Place
) -> dict[str, tuple[str, float]] | None:
    """What each rule says of a fault; None if it cannot be written there."""
    fault, first = place.fault, _line(log, place.rows[0])
    if not replayed.standing[first].isdisjoint(fault.right):
        return None  # Something is wrong there already, and told.
    lines = log.lines[first : _line(log, place.rows[-1]) + 1]
    typical, numbers = usual(place.before), []
    for k, number in enumerate(place.rows):
        row, line = log.rows[number].row, _line(log, number)
        new = fault.effect(k, row.values, typical, place.size)
        faulty = edited(log.lines[line], log.fields, new)
        if faulty is None:
            return None
        lines[line - first] = faulty
        numbers.append(row.number)
    checks = [check for rule in rules for check in rule.checks]
    firings = faulted(log, checks, replayed.states[first], lines)
    answers = {
        rule.name: first_answer(rule, fault.right, firings, replayed.firings, numbers)
        for rule in rules
    }
    return {name: answer for name, answer in answers.items() if answer is not None}


def first_answer(
    rule: Rule,
    right: Sequence[str],
    firings: Sequence[Transition],
    clean_firings: Sequence[Transition],
    numbers: Sequence[int],
) -> tuple[str, float] | None:
    """
    The first right category that fires on faulty rows, and on which of them from 1.

    What fires in the log as it is, from the first faulty row up to there, is no answer.

    Args:
        numbers: The numbers of the faulty rows in the run.
    """
    categories = {check.category for check in rule.checks if answers(check, right)}
    for firing in firings:
        row, category = firing.mark.row, firing.category
        if category not in categories or not numbers[0] <= row <= numbers[-1]:
            continue
        if not any(
            other.category == category and numbers[0] <= other.mark.row <= row
            for other in clean_firings
        ):
            return category, sum(number <= row for number in numbers)
    return None
