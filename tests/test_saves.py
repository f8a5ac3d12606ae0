"""The saves of a run on disk: which is read, in which order, and what is left alone."""

from __future__ import annotations

import os
import random
import shutil
import time
from pathlib import Path

import pytest

from tailwatch import saves as module
from tailwatch.core import trainer_state
from tailwatch.core.cursor import Cursor, Resume, decide
from tailwatch.core.decoding import decode
from tailwatch.messages import Unreadable
from tailwatch.saves import UNFINISHED_S, Saves, StateFile

from .trainer import Trainer


class Reader:
    """Reads the run of a trainer as the engine does, `size` bytes at a time."""

    def __init__(self, trainer: Trainer, size: int = 1000) -> None:
        self.path, self.size = str(trainer.out / "trainer_state.json"), size
        self.saves, self.cursor, self.data = Saves(), Cursor(), b""

    def restart(self) -> None:
        """Another process goes on from the state that was kept."""
        self.saves, self.cursor = Saves(), Cursor.from_state(self.cursor.to_state())
        self.data = self.data[: self.cursor.offset]

    def once(self) -> bytes | str:
        """One read; the reason, if nothing can be read."""
        opened = self.saves.open(self.path, self.cursor)
        if isinstance(opened, Unreadable):
            return opened.reason
        step = decide(self.cursor, opened.seen)
        assert isinstance(step, Resume)
        if step.rewind:
            self.cursor.rewind()
            self.data = self.data[: self.cursor.offset]
        self.cursor.identity, self.cursor.trail = opened.seen.stat.identity, opened.seen.trail
        chunk = opened.read(self.cursor.received, self.size)
        assert opened.seen.stat.size >= self.cursor.received + len(chunk)
        self.cursor.advance(chunk)
        self.data += chunk
        return chunk

    def steps(self) -> list[int]:
        """The steps of the rows so far, once all there is has been read."""
        while isinstance(chunk := self.once(), bytes) and chunk:
            pass
        return [decode(line)["step"] for line in self.data.splitlines()]


@pytest.fixture
def trainer(tmp_path: Path) -> Trainer:
    return Trainer(tmp_path / "out", time_s=1e9)


def steps(*spans: tuple[int, int]) -> list[int]:
    """10, 20, ... as the trainer logs them, from after the first of each span to the second."""
    return [step for first, last in spans for step in range(first + 10, last + 1, 10)]


@pytest.mark.parametrize("size", [7, 100, 100_000])
def test_saves_are_read_as_they_come(trainer: Trainer, size: int) -> None:
    """Each save adds its rows, whatever was deleted before, and the last one at the end."""
    trainer.limit = 2
    reader = Reader(trainer, size)
    for last in (50, 100, 150, 200):
        trainer.log_to(last)
        trainer.save()
        assert steps((0, last)) == reader.steps()
    trainer.history.append({"step": 200, "train_runtime": 3.5, "train_loss": 2.0})
    trainer.finish()
    assert [*steps((0, 200)), 200] == reader.steps()
    assert reader.once() == b""


def test_both_attempts_after_a_silence(trainer: Trainer) -> None:
    """What was written while nobody looked: the first attempt, then the second after its resume."""
    for last in (500, 700):
        trainer.log_to(last)
        trainer.save()
    trainer.resume("checkpoint-500")
    trainer.log_to(1000, loss=3.0)
    trainer.save()
    assert steps((0, 700), (500, 1000)) == Reader(trainer).steps()


def test_resume_after_the_save_was_deleted(trainer: Trainer) -> None:
    """The place of a resume is known by the checksum of a save that need not exist any more."""
    reader = Reader(trainer)
    trainer.limit = 1
    for last in (50, 100):
        trainer.log_to(last)
        trainer.save()
        reader.steps()
        if last == 50:
            kept = list(trainer.history)
    trainer.history = kept
    trainer.log_to(200, loss=3.0)
    trainer.save()
    assert steps((0, 100), (50, 200)) == reader.steps()


def test_resume_after_the_save_was_read_in_part(trainer: Trainer) -> None:
    """A torn line of a save that is gone is dropped, if the next one does not have it."""
    trainer.log_to(50)
    trainer.save()
    reader = Reader(trainer, size=70)
    reader.steps()
    trainer.log_to(100)
    trainer.save()
    reader.once()
    assert reader.cursor.received > reader.cursor.offset
    done = reader.data.count(b"\n")
    shutil.rmtree(trainer.out / "checkpoint-100")
    trainer.resume("checkpoint-50")
    trainer.log_to(200, loss=3.0)
    trainer.save()
    assert [*steps((0, done * 10)), *steps((50, 200))] == reader.steps()
    losses = [decode(line)["loss"] for line in reader.data.splitlines()]
    assert max(losses[:done]) < 2.5 < min(losses[done:])


def test_half_written_save(trainer: Trainer) -> None:
    """Nothing is taken of a half-written document, whatever its size; then all of it, once."""
    reader = Reader(trainer)
    trainer.log_to(50)
    trainer.save()
    reader.steps()
    trainer.log_to(100)
    for part in (0.0, 0.3, 0.9):
        trainer.save(part=part)
        assert reader.once() == "checkpoint-100: not a whole JSON document"
        assert steps((0, 50)) == reader.steps()
    trainer.save()
    assert steps((0, 100)) == reader.steps()


def test_broken_save_hides_no_other(trainer: Trainer) -> None:
    """Rows of the saves before and after a broken one are read."""
    trainer.log_to(50)
    trainer.save(part=0.5)
    trainer.log_to(100)
    trainer.save()
    trainer.log_to(150)
    trainer.save(part=0.5)
    reader = Reader(trainer)
    assert steps((0, 100)) == reader.steps()
    assert reader.once() == "checkpoint-150: not a whole JSON document"


def test_unfinished_or_broken(trainer: Trainer) -> None:
    """A document that was written to just now may become whole; an old one is broken."""
    trainer.log_to(50)
    path = trainer.save(part=0.5)
    reader = Reader(trainer)
    for age_s, unfinished in ((UNFINISHED_S - 30, True), (UNFINISHED_S + 1, False)):
        at = time.time() - age_s
        os.utime(path, (at, at))
        opened = reader.saves.open(reader.path, reader.cursor)
        assert isinstance(opened, Unreadable)
        assert (opened.unfinished, opened.gone) == (unfinished, False)


def test_no_save(trainer: Trainer) -> None:
    """Without a save, or without even the directory, the run is gone."""
    reader = Reader(trainer)
    assert reader.saves.open(reader.path, Cursor()) == Unreadable("not there", gone=True)
    trainer.out.mkdir()
    assert reader.saves.open(reader.path, Cursor()) == Unreadable("not there", gone=True)
    assert reader.saves.inode(reader.path) is None


def test_other_training_in_the_same_place(trainer: Trainer) -> None:
    """A training that does not go on from any save is read from its first row."""
    reader = Reader(trainer)
    trainer.log_to(100)
    trainer.save()
    reader.steps()
    trainer.history.clear()
    trainer.log_to(60, loss=5.0)
    trainer.save()
    assert steps((0, 100), (0, 60)) == reader.steps()


@pytest.mark.parametrize("restarted", [False, True])
def test_copies_in_any_order(trainer: Trainer, restarted: bool) -> None:
    """Older saves that are copied in later, or whose times are in no order, add nothing."""
    reader = Reader(trainer)
    for last in (50, 100, 150):
        trainer.log_to(last)
        trainer.save()
    saves = [path.parent for path in trainer.saves()]
    for place, at in zip(saves, (3, 2, 4), strict=True):
        os.utime(place / "trainer_state.json", (1e9 + at, 1e9 + at))
    assert steps((0, 150)) == reader.steps()
    if restarted:
        reader.restart()
    shutil.copytree(saves[0], trainer.out / "checkpoint-best")
    assert steps((0, 150)) == reader.steps()
    trainer.log_to(200)
    trainer.save()
    assert steps((0, 200)) == reader.steps()


def test_clock_that_was_set_back(trainer: Trainer) -> None:
    """A later step counts, though its file seems to be older."""
    reader = Reader(trainer)
    trainer.log_to(100)
    trainer.save()
    reader.steps()
    trainer.time_ns = 10**17
    for last in (150, 200):
        trainer.log_to(last)
        trainer.save()
        assert steps((0, last)) == reader.steps()


def test_saves_of_one_moment(trainer: Trainer) -> None:
    """Saves with the same time are read by their steps, the last one after all of them."""
    trainer.time_ns = None
    for last in (90, 100):
        trainer.log_to(last)
        trainer.save()
    trainer.log_to(110)
    trainer.finish()
    for path in [*trainer.saves(), trainer.out / "trainer_state.json"]:
        os.utime(path, ns=(10**18, 10**18))
    assert steps((0, 110)) == Reader(trainer).steps()


def test_unchanged_saves_are_not_read_again(
    trainer: Trainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once read, or found broken, a save costs a look at its directory."""
    reader = Reader(trainer, size=100)
    for last in (50, 100):
        trainer.log_to(last)
        trainer.save()
    trainer.save("checkpoint-7", part=0.5)
    read: list[bytes] = []
    real = module.state_lines
    monkeypatch.setattr(module, "state_lines", lambda data: read.append(data) or real(data))
    reader.steps()
    assert len(read) == 3
    count = len(read)
    for _ in range(3):
        reader.once()
    assert len(read) == count
    reader.restart()
    reader.steps()
    assert len(read) == 5  # The last one, for its end, and the broken one.


def test_memory_is_bounded(trainer: Trainer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are kept up to a limit, and no longer than they are needed."""
    readers = [Reader(Trainer(trainer.out / name), size=50) for name in "abc"]
    shared = Saves()
    for reader in readers:
        other = Trainer(Path(reader.path).parent)
        other.log_to(500)
        other.save()
        reader.saves = shared
    monkeypatch.setattr(module, "LINES_KEPT_BYTES", 3_000)
    for reader in readers:
        reader.once()
        assert len(shared._lines) == 1
    assert [steps((0, 500))] * 3 == [reader.steps() for reader in readers]
    shutil.rmtree(trainer.out / "c" / "checkpoint-500")
    readers[2].once()
    assert len(shared._known[readers[2].path]) == 0
    readers[0].restart()
    readers[0].saves = shared
    shared.release(readers[0].path)
    readers[0].cursor = Cursor()
    readers[0].once()
    assert len(shared._lines) == 1
    shutil.rmtree(trainer.out / "a" / "checkpoint-500")
    readers[0].once()
    assert len(shared._lines) == 0
    for reader in readers:
        shared.release(reader.path)
    assert (shared._lines, shared._known) == ({}, {})


def test_too_long_document(trainer: Trainer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A document above the limit is named so and never read."""
    monkeypatch.setattr(module, "DOCUMENT_BYTES_MAX", 100)
    trainer.log_to(100)
    trainer.save()
    assert Reader(trainer).once() == f"checkpoint-100: {trainer_state.TOO_LONG.reason}"


def test_save_that_may_not_be_read(trainer: Trainer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal is named, and the same file is tried again: permissions change without a trace."""
    trainer.log_to(50)
    trainer.save()
    reader = Reader(trainer)
    with monkeypatch.context() as refused:
        refused.setattr(module, "_document", lambda _: trainer_state.Unfit("Permission denied"))
        assert reader.once() == "checkpoint-50: Permission denied"
        file = StateFile(reader.path, lambda _: True)
        assert (file.read(100), file.unread) == (
            b"",
            {reader.path: "checkpoint-50: Permission denied"},
        )
    assert steps((0, 50)) == reader.steps()


def test_strange_saves(trainer: Trainer) -> None:
    """Links, FIFOs and directories of the name are no saves."""
    trainer.log_to(50)
    trainer.save()
    os.symlink(trainer.out / "checkpoint-50", trainer.out / "checkpoint-60")
    for number, make in ((70, os.mkfifo), (80, os.mkdir)):
        place = trainer.out / f"checkpoint-{number}"
        place.mkdir()
        make(place / "trainer_state.json")
    (trainer.out / "checkpoint-90").touch()
    (trainer.out / "checkpoint-95").mkdir()
    link = trainer.out / "checkpoint-95" / "trainer_state.json"
    link.symlink_to(trainer.out / "checkpoint-50" / "trainer_state.json")
    reader = Reader(trainer)
    assert steps((0, 50)) == reader.steps()
    assert [save.name for save in reader.saves._list(reader.path)] == ["checkpoint-50"]


def test_moved_run_is_known(trainer: Trainer) -> None:
    """A moved directory goes on from where the cursor was; another one does not."""
    reader = Reader(trainer)
    trainer.log_to(50)
    trainer.save()
    reader.steps()
    trainer.out.rename(trainer.out.with_name("moved"))
    moved = str(trainer.out.with_name("moved") / "trainer_state.json")
    other = Trainer(trainer.out.with_name("other"))
    other.log_to(60, loss=7.0)
    other.save()
    assert reader.saves.continues(moved, reader.cursor)
    assert not reader.saves.continues(reader.path, reader.cursor)
    assert not reader.saves.continues(str(other.out / "trainer_state.json"), reader.cursor)
    assert not reader.saves.continues(moved, Cursor())


def test_state_file_reads_all(trainer: Trainer) -> None:
    """As a file, a run is all rows of its saves; a save that is named alone is its own."""
    for last in (500, 700):
        trainer.log_to(last)
        trainer.save()
    trainer.resume("checkpoint-500")
    trainer.log_to(600, loss=3.0)
    alone = str(trainer.save("checkpoint-600"))
    trainer.save("checkpoint-650", part=0.5)
    whole = StateFile(str(trainer.out / "trainer_state.json"), lambda _: True)
    data = b"".join(iter(lambda: whole.read(100), b""))
    assert steps((0, 700), (500, 600)) == [decode(line)["step"] for line in data.splitlines()]
    assert whole.unread == {
        str(trainer.path("checkpoint-650")): "not a whole JSON document",
    }
    one = StateFile(alone, lambda path: path == alone)
    assert steps((0, 600)) == [decode(line)["step"] for line in one.read(100_000).splitlines()]


@pytest.mark.parametrize("seed", range(20))
def test_every_row_once(trainer: Trainer, seed: int) -> None:
    """
    Saves, halves of saves, rotations, resumes, small reads, and kills between any of them.

    The oracle: each row, by a loss of its own, exactly once, and both attempts in order.
    """
    rng, reader, losses, written = random.Random(seed), Reader(trainer, 90), 0, []
    for _ in range(40):
        act = rng.random()
        saves = trainer.saves()
        if act < 0.3:
            for _ in range(rng.randint(1, 5)):
                losses += 1
                trainer.log(10 * len(trainer.history) + 10, float(losses))
            for part in (0.2, 0.8, 1.0):
                trainer.save(f"checkpoint-{10 * len(trainer.history)}", part)
                reader.once()
            written += [r["loss"] for r in trainer.history if r["loss"] not in written]
        elif act < 0.4 and saves:
            trainer.resume(rng.choice(saves).parent.name)
        elif act < 0.5 and len(saves) > 2:
            reader.steps()
            shutil.rmtree(saves[0].parent)
        elif act < 0.7:
            reader.restart()
        else:
            reader.once()
    reader.steps()
    assert written == [decode(line)["loss"] for line in reader.data.splitlines()]
