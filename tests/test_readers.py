"""The readers of all files: packed while nothing is fed to them, and none the wiser for it."""

from __future__ import annotations

import dataclasses
import json
import math
import random
from collections.abc import Callable

import pytest

from tailwatch import readers
from tailwatch.checks import CHECKS
from tailwatch.core.check import RunConfig
from tailwatch.core.field_rules import FieldRule, FieldRules
from tailwatch.core.reader import RunReader
from tailwatch.core.summary import RunSummary, summary_of
from tailwatch.errors import StateOutdated
from tailwatch.packing import pack, unpack
from tailwatch.readers import OPEN_S, KeptReader, Readers


def lines(seed: int) -> list[bytes]:
    """Rows with all that a state may hold: NaNs, evaluations, resumes, restarts, bad lines."""
    rng, found, step = random.Random(seed), [], 0
    for _ in range(150):
        step += 1
        row: dict[str, object] = {"step": step, "loss": 2 + rng.gauss(0, 0.02), "lr": 1e-4}
        row |= {"grad_norm": rng.choice([1.0, 60.0]), "max_steps": 1000, "timestamp": 1e9 + step}
        draw = rng.random()
        if draw < 0.08:
            row["loss"] = rng.choice([math.nan, "inf", None, 80.0])
        elif draw < 0.14:
            row = {"step": step, "eval_loss": rng.choice([2.0, math.nan])}
        elif draw < 0.18:
            step = rng.choice([0, max(0, step - 40)])
        found.append(b"{torn\n" if draw > 0.97 else f"{json.dumps(row)}\n".encode())
    return found


def all_of(reader: RunReader) -> str:
    """Everything that a reader knows."""
    return repr((reader.to_state(), summary_of(reader), reader.rows, reader.offset))


@pytest.mark.parametrize("seed", range(6))
def test_a_reader_that_is_packed_after_each_row_says_the_same(seed: int) -> None:
    """Every transition, every state, to the last digit."""
    config = RunConfig(learning_rate=3.0, source="config.yaml", save_steps=50)
    always, kept = RunReader(CHECKS, config), KeptReader(CHECKS, reader=RunReader(CHECKS, config))
    told = 0
    for line in lines(seed):
        expected, got = always.feed(line), kept.reader.feed(line)
        told += len(expected)
        # What was told before is not kept; what it was told of is told the same.
        assert repr([dataclasses.astuple(t) for t in got]) == repr(
            [dataclasses.astuple(t) for t in expected]
        )
        for reader in (always, kept.reader):
            reader.take_bad_lines()
            reader.monitor.take_errors()
        assert kept.put_away()
        assert repr(kept.summary()) == repr(summary_of(always))
    assert told > 5
    assert repr(kept.reader.rest()) == repr(always.rest())
    assert all_of(kept.reader) == all_of(always)


def test_nothing_is_lost_by_packing_too_early() -> None:
    """A torn line is on no disk of ours, nor is a file that is no run yet."""
    kept = KeptReader(CHECKS)
    kept.reader.feed(b'{"note": 1}\n')
    assert not kept.put_away()
    kept.reader.feed(b'{"step": 1, "loss": 2.0}\n{"st')
    assert not kept.put_away()
    kept.reader.feed(b'ep": 2, "loss": NaN}\n')
    assert kept.put_away()
    assert (kept.summary().rows, kept.summary().firing[0].category) == (3, "nan_loss")


def test_a_reader_that_nobody_asked_for_is_none() -> None:
    """Thousands of files that are only known take no memory for checks."""
    kept = KeptReader(CHECKS)
    assert kept.summary() == RunSummary()
    assert kept.put_away()
    assert kept.reader.rows == 0


def followed(count: int) -> tuple[Readers, list[KeptReader]]:
    among = Readers(CHECKS, FieldRules())
    made = [among.new(f"/runs/{n}.jsonl", "/runs") for n in range(count)]
    for kept in made:
        kept.reader.feed(b'{"step": 1, "loss": 2.0}\n')
    return among, made


def is_open(kept: KeptReader) -> bool:
    return kept.is_open


def test_those_without_work_for_longest_are_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many stay ready for their next row; one that is needed again is unpacked."""
    monkeypatch.setattr(readers, "FRESH_MAX", 3)
    among, made = followed(6)
    among.put_away(made, 0.0)
    assert list(map(is_open, made)) == [False] * 3 + [True] * 3
    made[0].reader.feed(b'{"step": 2, "loss": 2.0}\n')
    among.put_away([made[0], made[3]], 1.0)
    assert list(map(is_open, made)) == [True, False, False, True, True, True]
    assert [kept.summary().rows for kept in made] == [2, 1, 1, 1, 1, 1]


def test_those_that_go_on_outlast_a_wave_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many come once: a run with two rows within two minutes is ready for the next."""
    monkeypatch.setattr(readers, "FRESH_MAX", 2)
    monkeypatch.setattr(readers, "OPEN_MAX", 3)
    among, made = followed(12)
    among.put_away(made[:2], 0.0)
    among.put_away([made[0]], 1.0)
    among.put_away(made[2:], 2.0)
    assert [number for number, kept in enumerate(made) if kept.is_open] == [0, 10, 11]
    # Packed meanwhile, and again within two minutes: it goes on, too.
    assert made[1].reader.rows == 1
    among.put_away([made[1]], OPEN_S - 1.0)
    among.put_away(made[2:], OPEN_S - 0.5)
    among.put_away(made[9:], OPEN_S - 0.25)
    assert [number for number, kept in enumerate(made) if kept.is_open] == [1, 10, 11]


def test_what_cannot_be_packed_stays_and_the_others_are_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One with a torn line is no reason to pack none."""
    monkeypatch.setattr(readers, "FRESH_MAX", 1)
    among, made = followed(4)
    made[0].reader.feed(b'{"torn')
    among.put_away(made, 0.0)
    assert list(map(is_open, made)) == [True, False, False, True]
    among.put_away([], 2.0)
    assert list(map(is_open, made)) == [True, False, False, False]


def test_those_without_a_row_for_long_are_packed_some_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of thousands that are silent none takes memory for long, and no turn packs many."""
    monkeypatch.setattr(readers, "OLD_MAX", 2)
    among, made = followed(6)
    among.put_away(made, 0.0)
    among.put_away([made[0]], OPEN_S - 1.0)
    assert list(map(is_open, made)) == [True] * 6
    left = []
    for turn in range(4):
        among.put_away([], OPEN_S + turn)
        left.append(sum(map(is_open, made)))

    assert left == [4, 2, 1, 1]
    assert is_open(made[0])


def other_checks(state: dict[str, object]) -> tuple[KeptReader, dict[str, object]]:
    return KeptReader(CHECKS[1:]), state


def other_fields(state: dict[str, object]) -> tuple[KeptReader, dict[str, object]]:
    rules = FieldRules([FieldRule(("**",), {"loss": "objective"})])
    return Readers(CHECKS, rules).new("/r/m.jsonl", "/r"), state


def a_flipped_bit(state: dict[str, object]) -> tuple[KeptReader, dict[str, object]]:
    packed = bytearray(state["reader"])  # type: ignore[arg-type]
    packed[len(packed) // 2] ^= 1
    return KeptReader(CHECKS), state | {"reader": bytes(packed)}


def nothing_kept(state: dict[str, object]) -> tuple[KeptReader, dict[str, object]]:
    return KeptReader(CHECKS), state | {"reader": None}


def of_before(state: dict[str, object]) -> tuple[KeptReader, dict[str, object]]:
    return KeptReader(CHECKS), {"reader": {"rows": 3}}


@pytest.mark.parametrize(
    "change", [other_checks, other_fields, a_flipped_bit, nothing_kept, of_before]
)
def test_what_cannot_be_used_is_said(
    change: Callable[[dict[str, object]], tuple[KeptReader, dict[str, object]]],
) -> None:
    """States of other rules, broken ones, and those of runs that ended long ago."""
    kept = KeptReader(CHECKS)
    kept.reader.feed(b'{"step": 1, "loss": 2.0}\n')
    state = unpack(pack(kept.to_state()))
    KeptReader(CHECKS).restore(state)  # As it is, it can be.
    new, state = change(state)
    with pytest.raises(StateOutdated):
        new.restore(state)


def test_a_state_of_a_version_that_forgot_something_is_outdated() -> None:
    """Its checks may be the same, and still it lacks what we need: the first one tells."""
    among, (kept,) = followed(1)
    state = kept.to_state()
    lacking = pack({k: v for k, v in unpack(state["reader"]).items() if k != "steps"})
    state |= {"reader": lacking, "crc": readers.zlib.crc32(lacking)}
    with pytest.raises(StateOutdated, match="another version"):
        among.new("/runs/0.jsonl", "/runs").restore(state)
