"""Trainer states in the daemon: history, pages, moves, and another record of the same training."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Iterator, Sequence

import pytest

from tailwatch import reading
from tailwatch.core.findings import Transition
from tailwatch.core.notices import Notice
from tailwatch.discovery import MOVED_S
from tailwatch.dispatch import Dispatch
from tailwatch.messages import ReceiverPolicy
from tailwatch.saves import UNFINISHED_S
from tailwatch.tracked import Tracked

from .model.harness import Machine
from .shell.helpers import MemoryLog
from .trainer import Trainer

NAN = math.nan


class Post:
    """Takes what is sent and never answers."""

    def post(self, key: str, notices: Sequence[Notice]) -> None:
        pass


class World(Machine):
    """The model's machine, with a receiver; *told*: (run, step) of each page."""

    def __init__(self, mode: str = "none") -> None:
        self.told: list[tuple[str, object]] = []
        super().__init__(mode, dispatch=self._pager)

    def _pager(self) -> Dispatch:
        told, policy = self.told, ReceiverPolicy("pager", frozenset({"critical"}))

        class Pager(Dispatch):
            def tell(self, tracked: Tracked, transition: Transition, *rest: object) -> None:
                before = self.pending()
                super().tell(tracked, transition, *rest)  # type: ignore[arg-type]
                if self.pending() > before:
                    told.append((tracked.name or "", transition.mark.step))

        return Pager([policy], {"pager": Post()})

    def first_start(self) -> None:
        """Start with no state, on what is there."""
        self.kill()
        shutil.rmtree(self.directory / "state")
        self.start()

    def trainer(self, name: str = "a", age_s: float = 0.0) -> Trainer:
        return Trainer(self.root / name, time_s=self.clock.wall() - age_s)

    def tracked(self, name: str) -> Tracked:
        assert self.engine is not None
        return next(each for each in self.engine._files.all() if each.name == name)

    def rows(self) -> dict[str, int]:
        """The rows of each run."""
        self.settle()
        assert self.engine is not None
        return {t.name: t.reader.rows for t in self.engine._files.all() if t.name is not None}


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


def log_nan(trainer: Trainer) -> int:
    """A NaN row; its step."""
    step = int(trainer.history[-1]["step"]) + 10
    trainer.log(step, NAN)
    return step


# History and pages.


def test_nan_in_a_save_is_told_once(world: World) -> None:
    """The NaN that is in every later save too is one page, through a kill and a resume before it."""
    trainer = world.trainer()
    trainer.limit = 2
    trainer.log_to(100)
    trainer.save()
    world.settle()
    step = log_nan(trainer)
    for last in (200, 300):
        trainer.log_to(last)
        trainer.save()
        world.settle()
        world.kill()
        world.start()
    trainer.finish()
    assert world.rows() == {"a/trainer_state": 30}
    assert world.told == [("a/trainer_state", step)]


def test_history_pages_nobody(world: World) -> None:
    """What was in saves before the first start is history; what a later save adds is not."""
    trainer = world.trainer(age_s=7200.0)
    trainer.log_to(100)
    log_nan(trainer)
    for last in (500, 700):
        trainer.log_to(last)
        trainer.save()
    trainer.resume("checkpoint-500")
    trainer.log_to(600, loss=3.0)
    log_nan(trainer)
    trainer.save("checkpoint-600")
    world.first_start()
    assert world.rows() == {"a/trainer_state": 81}
    assert world.told == []
    trainer.time_ns = int(world.clock.wall() * 1e9)
    trainer.log_to(2000)
    step = log_nan(trainer)
    trainer.save()
    world.settle()
    assert world.told == [("a/trainer_state", step)]
    # The first attempt had more bytes than the second at this place, which are no history of it.
    tracked = world.tracked("a/trainer_state")
    assert 0 < tracked.history_end == tracked.backlog_end < tracked.cursor.offset


@pytest.mark.parametrize("chunk", [150, 1 << 18])
def test_standing_trouble_is_told_at_the_end_of_history(
    world: World, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is being written to, and stands NaN after all its history, is one page."""
    monkeypatch.setattr(reading, "CHUNK_BYTES", chunk)
    trainer = world.trainer(age_s=60.0)
    trainer.log_to(100)
    log_nan(trainer)
    trainer.save()
    trainer.log(120, NAN)
    trainer.log(130, NAN)
    trainer.save()
    world.first_start()
    world.settle()
    assert len(world.told) == 1


def test_trouble_that_history_ended_is_not_told(world: World) -> None:
    """A NaN of the first save that the second one has left behind is no page."""
    trainer = world.trainer(age_s=60.0)
    trainer.log_to(100)
    log_nan(trainer)
    trainer.save()
    trainer.log_to(600)
    trainer.save()
    world.first_start()
    world.settle()
    assert (world.told, world.rows()) == ([], {"a/trainer_state": 60})


def test_saves_that_came_while_it_was_down_are_news(world: World) -> None:
    """After a kill in the middle of the history, what was written meanwhile still pages."""
    trainer = world.trainer(age_s=7200.0)
    trainer.log_to(100)
    log_nan(trainer)
    trainer.log_to(5000)
    trainer.save()
    world.kill()
    shutil.rmtree(world.directory / "state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "CHUNK_BYTES", 700)
        world.start()
        world.turn()
        assert 0 < world.tracked("a/trainer_state").reader.rows < 500
        world.kill()
    trainer.time_ns = int(world.clock.wall() * 1e9)
    step = log_nan(trainer)
    trainer.log_to(step + 600)  # It does not stand at the end.
    trainer.save()
    world.start()
    world.settle()
    assert (world.told, world.rows()) == (
        [("a/trainer_state", step)],
        {"a/trainer_state": 561},
    )


def test_old_saves_that_are_copied_in_are_history(world: World) -> None:
    """Saves with an old date page nobody, whenever they come; what follows them does."""
    trainer = world.trainer(age_s=7200.0)
    trainer.log_to(100)
    log_nan(trainer)
    trainer.log_to(1000)
    trainer.save()
    assert (world.rows(), world.told) == ({"a/trainer_state": 100}, [])
    step = log_nan(trainer)
    trainer.save()
    world.settle()
    assert world.told == [("a/trainer_state", step)]


def test_outdated_state_is_read_again_and_told_to_nobody(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the state of other code the saves are read again; only what is new counts."""
    trainer = world.trainer()
    trainer.log_to(100)
    log_nan(trainer)
    for last in (300, 1500):
        trainer.log_to(last)
        trainer.save()
    trainer.resume("checkpoint-300")
    trainer.log_to(400, loss=3.0)
    trainer.save("checkpoint-400")
    world.settle()
    told = list(world.told)
    for name in ("checkpoint-300", "checkpoint-1500"):
        shutil.rmtree(trainer.out / name)
    world.kill()
    monkeypatch.setattr("tailwatch.readers.KeptReader.restore", _outdated)
    world.start()
    world.settle()
    tally = world.tracked("a/trainer_state").tallies["nan_loss"].total
    assert (world.told, tally, world.rows()) == (told, 1, {"a/trainer_state": 40})
    # Below the place at which the old stream ended, but new; and long enough after the page.
    world.turn(3700.0)
    trainer.log_to(1000)
    step = log_nan(trainer)
    trainer.save()
    world.settle()
    assert world.tracked("a/trainer_state").tallies["nan_loss"].total == 2
    assert world.told == [*told, ("a/trainer_state", step)]


def test_save_from_while_it_was_down_counts_beside_outdated_state(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What other code had not read is news, though it is read together with what it had."""
    trainer = world.trainer()
    for last in (100, 2000):
        trainer.log_to(last)
        trainer.save()
    trainer.resume("checkpoint-100")
    trainer.log_to(200, loss=1.5)
    trainer.save()
    world.settle()
    world.kill()
    # The saves that are left have fewer rows than were read.
    for name in ("checkpoint-100", "checkpoint-2000"):
        shutil.rmtree(trainer.out / name)
    step = log_nan(trainer)
    trainer.log_to(900)
    trainer.save()
    monkeypatch.setattr("tailwatch.readers.KeptReader.restore", _outdated)
    world.start()
    assert world.rows() == {"a/trainer_state": 90}
    assert world.told == [("a/trainer_state", step)]


def _outdated(*_: object) -> None:
    from tailwatch.errors import StateOutdated

    raise StateOutdated("other code")


# Trouble.


def test_broken_save_is_named_once(world: World) -> None:
    """A document that stays half-written is named once, when it is old enough, and then read."""
    log = MemoryLog()
    trainer = world.trainer()
    trainer.log_to(50)
    trainer.save()
    world.settle()
    assert world.engine is not None
    world.engine._files._reading.log = log
    trainer.log_to(100)
    broken = trainer.save(part=0.5)
    os.utime(broken)
    world.settle()
    assert log.events() == []
    old_s = broken.stat().st_mtime - UNFINISHED_S - 1
    os.utime(broken, (old_s, old_s))
    trainer.save("checkpoint-50")  # Now it is the older one, and nothing else is new.
    world.settle()
    world.settle()
    named = [facts["reason"] for _, event, facts in log.lines if event == "file_unreadable"]
    assert named == ["checkpoint-100: not a whole JSON document"]
    trainer.save("checkpoint-100")
    assert world.rows() == {"a/trainer_state": 10}


def test_moved_run_goes_on(world: World) -> None:
    """A directory that is moved takes its run with it."""
    trainer = world.trainer()
    trainer.log_to(50)
    trainer.save()
    world.settle()
    trainer.out.rename(world.root / "b")
    world.settle()
    world.turn(MOVED_S)
    trainer.out = world.root / "b"
    trainer.log_to(100)
    trainer.save()
    assert world.rows() == {"a/trainer_state": 10}
    assert world.tracked("a/trainer_state").path == str(world.root / "b" / "trainer_state.json")


def test_run_ends_with_its_last_save(world: World) -> None:
    """Without any save the run has ended; with new ones it goes on."""
    trainer = world.trainer()
    trainer.log_to(50)
    trainer.save()
    world.settle()
    shutil.rmtree(trainer.out)
    world.settle()
    assert world.tracked("a/trainer_state").gone
    trainer.log_to(100)
    trainer.save()
    assert world.rows() == {"a/trainer_state": 10}
    assert not world.tracked("a/trainer_state").gone


# The same training in another file.


def rows_of(trainer: Trainer) -> str:
    return "".join(json.dumps(row) + "\n" for row in trainer.history)


def put(world: World, name: str, text: str) -> None:
    path = world.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (world.clock.wall(), world.clock.wall()))


@pytest.mark.parametrize("mode", ["none", "events", "lying"])
@pytest.mark.parametrize("first", [True, False], ids=["at-start", "live"])
def test_a_metric_file_beside_the_saves_is_read_instead(mode: str, first: bool) -> None:
    """A training that writes both is one run, and pages once, in whatever order we hear of them."""
    world = World(mode)
    try:
        trainer = world.trainer()
        trainer.log_to(100)
        log_nan(trainer)
        # The saves come first by name, and by what was said of them.
        put(world, "a/trainer_log.jsonl", rows_of(trainer))
        trainer.save()
        if first:
            world.first_start()
        else:
            assert world.engine is not None
            world.engine._files.hint([str(trainer.path("checkpoint-110"))])
            world.turn()
        world.settle()
        trainer.log_to(200)
        trainer.save()
        trainer.finish()
        world.kill()
        world.start()
        assert world.rows() == {"a/trainer_log": 11}
        assert len(world.told) == 1
    finally:
        world.close()


def test_a_metric_file_that_comes_later_takes_over(world: World) -> None:
    """From the first row of a metric file on, nothing more is read of the saves."""
    trainer = world.trainer()
    trainer.log_to(100)
    trainer.save()
    world.settle()
    trainer.log_to(200)
    put(world, "a/logging.jsonl", rows_of(trainer))
    trainer.save()
    assert world.rows() == {"a/trainer_state": 10, "a/logging": 20}


@pytest.mark.parametrize(
    "other",
    [
        '{"prompt": "x", "label": "y"}\n' * 9,
        '{"epoch": 1, "eval_loss": 0.5}\n',
        "no json\n",
        "",
    ],
)
def test_other_files_beside_the_saves_do_not_matter(world: World, other: str) -> None:
    """Data, predictions and evaluations are no record of the training."""
    trainer = world.trainer()
    trainer.log_to(100)
    put(world, "a/other.jsonl", other)
    put(world, "b/m.jsonl", rows_of(trainer))
    trainer.save()
    assert world.rows()["a/trainer_state"] == 10
