"""A trainer that saves its state, and a daemon: each row of each save, once, in one run."""

from __future__ import annotations

import os
import shutil

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tailwatch import reading
from tests.trainer import Trainer

from .harness import Machine

STEPS = int(os.environ.get("TAILWATCH_TEST_STEPS", "25"))
EXAMPLES = int(os.environ.get("TAILWATCH_TEST_EXAMPLES", "30"))


class Saving(RuleBasedStateMachine):
    """One trainer that saves, resumes and rotates, and a daemon that reads a few rows a turn."""

    mode = "events"

    @initialize(seed=st.integers(0, 1000))
    def begin(self, seed: int) -> None:
        self.machine = Machine(self.mode, seed)
        self.trainer = Trainer(self.machine.root / "a", time_s=self.machine.clock.wall())
        self.saved: set[float] = set()
        self.half = ""

    def teardown(self) -> None:
        if hasattr(self, "machine"):
            try:
                self.all_is_evaluated()
            finally:
                self.machine.close()

    def whole(self, name: str) -> None:
        """Write a save to its end: from now on its rows are on disk."""
        if name:
            self.trainer.save(name)
        else:
            self.trainer.finish()
        news = {row["loss"] for row in self.trainer.history} - self.saved
        self.saved |= news
        self.machine.written.update(news)
        self.half = ""

    @rule(rows=st.integers(1, 12), part=st.sampled_from([0.0, 0.4, 0.99, 1.0]))
    def save(self, rows: int, part: float) -> None:
        """A new save, at first perhaps only a part of it."""
        if self.half:
            self.whole(self.half)
        for _ in range(rows):
            number = float(next(self.machine.ids))
            self.trainer.log(10 * len(self.trainer.history) + 10, number)
        name = f"checkpoint-{10 * len(self.trainer.history)}"
        if part < 1.0:
            self.half = name
            self.trainer.save(name, part)
        else:
            self.whole(name)

    @rule()
    def finish(self) -> None:
        """The state beside the saves, written over what is there."""
        if self.trainer.history and not self.half:
            self.whole("")

    @rule(which=st.integers(0, 9))
    def resume(self, which: int) -> None:
        if self.saved and not self.half:
            saves = self.trainer.saves()
            self.trainer.resume(saves[which % len(saves)].parent.name)

    @rule()
    def rotate(self) -> None:
        """`save_total_limit`: the oldest save goes, once its rows are in another, or read."""
        saves = self.trainer.saves()
        if len(saves) > 2 and not self.half:
            self.machine.settle(1)
            shutil.rmtree(saves[0].parent)

    @rule()
    def copy(self) -> None:
        """The oldest save is copied to another name, with a new time."""
        saves = self.trainer.saves()
        if len(saves) > 1 and not self.half:
            self.machine.settle(1)
            target = self.trainer.path("checkpoint-best")
            self.trainer.write(target, saves[0].read_text())

    @rule()
    def turn(self) -> None:
        self.machine.turn()

    @rule()
    def sweep(self) -> None:
        self.machine.settle(1)

    @rule()
    def kill(self) -> None:
        self.machine.kill()
        self.machine.start()

    @precondition(lambda self: hasattr(self, "machine"))
    @rule()
    def all_is_evaluated(self) -> None:
        if self.half:
            self.whole(self.half)
        self.machine.check()
        assert self.machine.engine is not None
        names = [tracked.name for tracked in self.machine.engine._files.all()]
        assert names == (["a/trainer_state"] if self.saved else [])


class WithoutEvents(Saving):
    """The same, and nobody ever says that anything changed."""

    mode = "none"


class WithLies(Saving):
    """The same, with hints that are lost, late, doubled or invented."""

    mode = "lying"


@pytest.mark.parametrize("kind", [Saving, WithoutEvents, WithLies])
def test_every_row_of_every_save_once(kind: type[Saving], monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows saved and rows evaluated are the same, with state kept in the middle of saves."""
    from hypothesis.stateful import run_state_machine_as_test

    monkeypatch.setattr(reading, "CHUNK_BYTES", 100)
    run_state_machine_as_test(
        kind,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            derandomize="TAILWATCH_TEST_EXAMPLES" not in os.environ,
        ),
    )
