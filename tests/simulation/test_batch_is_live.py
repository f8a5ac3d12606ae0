"""Law 1: what the checks say depends on the rows alone, not on how they came."""

from __future__ import annotations

import dataclasses
import json
import math
import random

import pytest

from tailwatch import readers
from tailwatch.checks import CHECKS
from tailwatch.core.findings import Transition
from tailwatch.core.reader import RunReader

from .world import Process, SimWorld

FILE = "/runs/exp/metrics.jsonl"


def rough_file(seed: int) -> bytes:
    """Rows with NaNs, spikes, resumes, restarts, bad lines, and a last line without newline."""
    rng, lines, step = random.Random(seed), [], 0
    for _ in range(90):
        step += 1
        loss: object = round(2.0 + rng.gauss(0, 0.02), 3)
        draw = rng.random()
        if draw < 0.06:
            loss = rng.choice([math.nan, math.inf, "nan", None, 80.0])
        elif draw < 0.09:
            step = max(0, step - rng.choice([5, 12, 60]))
        elif draw < 0.11:
            step = 0
        row = {"step": step, "loss": loss, "grad_norm": rng.choice([1.0, 60.0])}
        lines.append(rng.choice(["", "{torn", "[1]"]) if rng.random() < 0.05 else json.dumps(row))
    return "\n".join(lines).encode()


def plain(transitions: list[Transition]) -> list[str]:
    """Comparable, NaN included."""
    return [repr(dataclasses.astuple(t)) for t in transitions]


def in_one_go(data: bytes) -> list[Transition]:
    reader = RunReader(CHECKS)
    return reader.feed(data) + reader.rest()


def live(data: bytes, cuts: list[int], *, restart: bool = False) -> list[Transition]:
    """The same bytes, as a trainer flushed them at *cuts*, through the whole engine."""
    world = SimWorld()
    process = Process(world)
    world.write(FILE, b"")
    process.turn()
    for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        world.write(FILE, data[start:end])
        process.turn(FILE)
        if restart:
            process = Process(world)
            process.turn(seconds=20)
    process.turn(seconds=20)
    process.turn(seconds=100_000)  # Long silence: the run is at rest.
    # How long nothing came is no matter of the rows.
    said = [finding.transition for finding in world.findings]
    return [t for t in said if t.category not in ("run_quiet", "run_stalled")]


@pytest.mark.parametrize("seed", range(3))
def test_every_cut_gives_the_same_transitions(seed: int) -> None:
    """A file cut in two at any byte gives the transitions of the file read at once."""
    data = rough_file(seed)
    expected = plain(in_one_go(data))

    assert len(expected) > 4
    for cut in range(1, len(data), 1 if seed == 0 else 7):
        assert expected == plain(live(data, [cut])), cut


def test_byte_by_byte_is_the_same() -> None:
    """So does one that comes a byte at a time."""
    data = rough_file(11)[:1500]

    assert plain(in_one_go(data)) == plain(live(data, list(range(1, len(data)))))


@pytest.mark.parametrize("seed", range(20))
def test_restarts_are_invisible(seed: int) -> None:
    """And one whose daemon is started anew after every flush."""
    data = rough_file(100 + seed)
    rng = random.Random(seed)
    cuts = sorted(rng.sample(range(1, len(data)), 25))

    assert [_without_recent(t) for t in in_one_go(data)] == [
        _without_recent(t) for t in live(data, cuts, restart=True)
    ]


@pytest.mark.parametrize("seed", range(5))
def test_packing_is_invisible(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """So does one whose checks are packed whenever they have nothing to do."""
    monkeypatch.setattr(readers, "OPEN_MAX", 0)
    monkeypatch.setattr(readers, "FRESH_MAX", 0)
    data = rough_file(200 + seed)
    cuts = sorted(random.Random(seed).sample(range(1, len(data)), 25))

    assert plain(in_one_go(data)) == plain(live(data, cuts))


def _without_recent(transition: Transition) -> str:
    # The resolve of a finding repeats its evidence; everything but the curve is kept of it.
    return repr(dataclasses.astuple(transition))
