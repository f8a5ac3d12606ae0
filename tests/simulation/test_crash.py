"""Law 3 and 4: exactly once on disk, at least once to the receiver, under one key."""

from __future__ import annotations

import json
import math
import random

import pytest

from tailwatch.core.outbox import Outcome

from .world import Crash, Process, SimWorld

FILES = ("/runs/a/metrics.jsonl", "/runs/b/metrics.jsonl")


def training(seed: int) -> dict[str, list[bytes]]:
    """For each file, what the trainer flushes, torn lines included."""
    flushes = {}
    for number, path in enumerate(FILES):
        rng = random.Random(seed * 10 + number)
        lines = []
        for step in range(60):
            loss = math.nan if rng.random() < 0.05 else 2.0 - step / 100
            lines.append(json.dumps({"step": step, "loss": loss}) + "\n")
        text, pieces = "".join(lines).encode(), []
        while text:
            size = rng.randint(1, 400)
            pieces.append(text[:size])
            text = text[size:]
        flushes[path] = pieces
    return flushes


def simulate(seed: int, die_at: tuple[int, ...]) -> SimWorld:
    """The whole life of the daemon, with a crash at each of the numbered calls."""
    world = SimWorld()
    rng = random.Random(seed)
    answers = [Outcome("delivered", ""), Outcome("retried", "HTTP 500")]
    world.answer = lambda key, n: rng.choice(answers)
    flushes = training(seed)
    deaths = list(die_at)
    # What is there before the first start has ended its first turn is history.
    Process(world).turn()
    world.die_at = world.calls + deaths.pop(0) if deaths else None

    def start() -> Process:
        while True:
            try:
                return Process(world)
            except Crash:
                world.die_at = world.calls + deaths.pop(0) if deaths else None

    process = start()
    idle = 0
    while idle < 60:
        hints = []
        for path, pieces in flushes.items():
            if pieces:
                world.write(path, pieces.pop(0))
                hints.append(path)
        idle = 0 if hints else idle + 1
        try:
            process.turn(*hints, seconds=0.05 if hints else 30.0)
        except Crash:
            world.die_at = world.calls + deaths.pop(0) if deaths else None
            process = start()
    return world


def told(world: SimWorld) -> list[str]:
    return [key for _, _, members in world.received for key in members]


def outcome(world: SimWorld) -> list[str]:
    """What must not depend on crashes: the findings, in each run's order."""
    return sorted(
        f"{run} {t.category} {t.kind.value} {t.mark} {t.continues} {t.evidence.message}"
        for run, t, _ in world.findings
        if t.category not in ("run_quiet", "run_stalled")  # Those judge time, not rows.
    )


@pytest.fixture(scope="module")
def calm() -> SimWorld:
    return simulate(1, ())


def test_the_calm_run_tells_each_finding_once(calm: SimWorld) -> None:
    """Without a crash every critical finding is told, none twice."""
    keys = {key for _, key in calm.outbox}

    assert len(keys) >= 2
    assert sorted(keys) == sorted(told(calm))


def test_every_crash_point_is_invisible(calm: SimWorld) -> None:
    """Dying at any one call changes nothing that is stored, and loses no notice."""
    keys = set(told(calm))
    for point in range(1, calm.calls, 3):
        world = simulate(1, (point,))

        assert outcome(calm) == outcome(world), point
        assert keys == set(told(world)), point
        assert len(told(world)) <= len(keys) + 1, point


@pytest.mark.parametrize("seed", range(60))
def test_many_crashes_are_invisible(seed: int) -> None:
    """Nor do many crashes in a row."""
    rng = random.Random(seed)
    deaths = tuple(rng.randint(1, 60) for _ in range(25))
    quiet, rough = simulate(seed, ()), simulate(seed, deaths)

    assert outcome(quiet) == outcome(rough)
    assert set(told(quiet)) == set(told(rough))
    assert _rows(quiet) == _rows(rough) == {"a/metrics": 60, "b/metrics": 60}


def _rows(world: SimWorld) -> dict[str, int]:
    return {name: view.rows for name, view in world.published[-1].runs.items()}


def test_what_is_shown_is_never_taken_back() -> None:
    """No crash makes a counter or a count of rows on /metrics smaller than it was."""
    for seed in range(20):
        rng = random.Random(seed)
        world = simulate(seed, tuple(rng.randint(1, 60) for _ in range(25)))
        highest: dict[tuple[str, ...], int] = {}
        for snapshot in world.published:
            for name, view in snapshot.runs.items():
                shown = {(name, "rows"): view.rows}
                shown |= {(name, c): tally.total for c, tally in view.tallies.items()}
                for key, value in shown.items():
                    assert highest.get(key, 0) <= value
                    highest[key] = value


def test_a_full_disk_delays_and_loses_nothing() -> None:
    """While the store cannot be written nothing is shown or told; afterwards all is."""
    world = SimWorld()
    process = Process(world)
    process.turn()
    world.disk_full = True
    world.write(FILES[0], b'{"step": 1, "loss": NaN}\n')
    for _ in range(5):
        process.turn(FILES[0], seconds=2.0)

    assert told(world) == []
    assert dict(world.published[-1].runs) == {}
    assert world.published[-1].totals["state_errors",] >= 2

    world.disk_full = False
    process.settle()

    assert len(told(world)) == 1
    assert world.published[-1].runs["a/metrics"].rows == 1
