"""Whatever happens to files, directories, events and processes: every row on disk, once."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from .harness import Machine

STEPS = int(os.environ.get("TAILWATCH_TEST_STEPS", "25"))
EXAMPLES = int(os.environ.get("TAILWATCH_TEST_EXAMPLES", "30"))
FILES = ("a/m.jsonl", "b/m.jsonl", "b/deep/er/log.jsonl")
LINKS = ("links/{n}.jsonl", "{name}.{n}", "links/{n}.txt", "../link{n}.jsonl")
which = st.sampled_from(FILES)


class Trainers(RuleBasedStateMachine):
    """Three trainers, their files, and a daemon; see the rules."""

    mode = "events"

    @initialize(seed=st.integers(0, 1000))
    def begin(self, seed: int) -> None:
        self.machine = Machine(self.mode, seed)
        self.open: dict[str, BinaryIO] = {}
        self.torn: dict[str, bytes] = {}
        self.links: list[Path] = []
        self.rotated: dict[str, Path] = {}
        self.rotations = 0

    def teardown(self) -> None:
        if hasattr(self, "machine"):
            try:
                for name in list(self.torn):
                    self.finish(name)
                self.machine.check()
            finally:
                for file in self.open.values():
                    file.close()
                self.machine.close()

    def path(self, name: str) -> Path:
        return self.machine.root / name

    def writer(self, name: str) -> BinaryIO:
        """The trainer's handle: it stays with the file when that is renamed."""
        if name not in self.open:
            self.path(name).parent.mkdir(parents=True, exist_ok=True)
            self.open[name] = self.path(name).open("ab", buffering=0)
        return self.open[name]

    def reopen(self, name: str) -> None:
        if name in self.open:
            self.finish(name)
            self.open.pop(name).close()

    @rule(name=which, count=st.integers(1, 30))
    def append(self, name: str, count: int) -> None:
        self.finish(name)
        self.writer(name).write(b"".join(self.machine.row() + b"\n" for _ in range(count)))

    @rule(name=which, part=st.floats(0.05, 0.95))
    def tear(self, name: str, part: float) -> None:
        """Write the first part of a row only."""
        self.finish(name)
        data = self.machine.row() + b"\n"
        cut = max(1, int(len(data) * part))
        self.writer(name).write(data[:cut])
        self.torn[name] = data[cut:]

    def seen(self, name: str) -> None:
        """
        What nobody has ever seen cannot be found again under another name.

        So a row is evaluated, and more are written that are not, before a rotation.
        """
        self.finish(name)
        if name in self.open and self.same(name):
            self.append(name, 1)
            self.machine.settle(1)
            self.append(name, 3)
        else:
            self.machine.settle(1)

    def finish(self, name: str) -> None:
        """The torn row in the file that is written to next: two names may be one file."""
        for each in list(self.torn):
            file = os.fstat(self.open[each].fileno())
            if each == name or self.is_at(name, file):
                self.open[each].write(self.torn.pop(each))

    def is_at(self, name: str, file: os.stat_result) -> bool:
        """Whether that is the file to which the trainer writes next."""
        if name in self.open:
            return os.path.samestat(file, os.fstat(self.open[name].fileno()))
        return self.path(name).exists() and os.path.samestat(file, self.path(name).stat())

    @rule(name=which, line=st.sampled_from([b"garbage", b"", b"[1]", b'{"torn', b"\xff\xfe"]))
    def bad_line(self, name: str, line: bytes) -> None:
        self.finish(name)
        self.writer(name).write(line + b"\n")

    @rule(name=which, size=st.sampled_from([1, 100, 300_000]))
    def hole(self, name: str, size: int) -> None:
        """What a truncation under a writer without O_APPEND leaves."""
        self.finish(name)
        file = self.writer(name)
        os.ftruncate(file.fileno(), os.fstat(file.fileno()).st_size + size)

    @rule()
    def turn(self) -> None:
        self.machine.turn()

    @rule()
    def sweep(self) -> None:
        self.machine.settle(1)

    @rule()
    def minutes_later(self) -> None:
        """So much later that a run has ended whose file is gone."""
        for name in list(self.torn):
            self.finish(name)
        self.machine.settle(8)

    @rule(
        name=which, reopen=st.booleans(), suffix=st.sampled_from([".jsonl.{}", ".{}", "-{}.jsonl"])
    )
    def rotate_by_rename(self, name: str, reopen: bool, suffix: str) -> None:
        """The file is renamed; the trainer writes on into it, or opens a new one."""
        if self.path(name).exists():
            self.seen(name)
            self.rotations += 1
            rotated = self.path(name.removesuffix(".jsonl") + suffix.format(self.rotations))
            self.path(name).rename(rotated)
            self.rotated[name] = rotated
            if reopen:
                self.reopen(name)

    @rule(name=which)
    def undo_rotation(self, name: str) -> None:
        """What was rotated last gets its name back; what was read in its place may go."""
        rotated = self.rotated.pop(name, None)
        if rotated is not None and rotated.exists():
            self.seen(name)
            self.reopen(name)
            self.machine.settle(1)
            rotated.rename(self.path(name))

    @rule(name=which)
    def create_empty(self, name: str) -> None:
        """logrotate's `create`: a new file that nobody writes to yet."""
        if self.path(name).parent.exists() and not self.path(name).exists():
            self.path(name).touch()

    @rule(name=which)
    def rotate_by_copy(self, name: str) -> None:
        """copytruncate: the content is elsewhere, and the file begins anew."""
        if name in self.open and self.same(name):
            self.seen(name)
            self.rotations += 1
            shutil.copyfile(
                self.path(name), self.path(name).with_suffix(f".jsonl.{self.rotations}")
            )
            os.ftruncate(self.open[name].fileno(), 0)

    @rule(name=which)
    def rotate_to_gzip(self, name: str) -> None:
        """Renamed and packed."""
        if self.path(name).exists():
            self.seen(name)
            self.reopen(name)
            self.rotations += 1
            packed = self.path(name).with_suffix(f".jsonl.{self.rotations}.gz")
            packed.write_bytes(gzip.compress(self.path(name).read_bytes()))
            self.path(name).unlink()

    @rule(name=which)
    def replace_whole(self, name: str) -> None:
        """All rows and one more in a new file, renamed over the old one."""
        if self.path(name).exists() and (name not in self.open or self.same(name)):
            self.finish(name)
            self.reopen(name)
            # A copy is taken for the file that it replaces if that was read, and at the path
            # that its run has. Elsewhere, or while a link keeps a file that nobody has read,
            # it is what a second trainer would leave that begins like the first: another
            # inode, another path, the same first rows.
            if self.path(name).stat().st_nlink > 1 or not self.machine.reads(self.path(name)):
                self.machine.settle(1)
            if not self.machine.reads(self.path(name)):
                return
            new = self.path(name).with_suffix(".tmp")
            new.write_bytes(self.path(name).read_bytes() + self.machine.row() + b"\n")
            new.rename(self.path(name))

    @rule(name=which, refill=st.integers(0, 40))
    def truncate(self, name: str, refill: int) -> None:
        """What is read may be truncated, and filled again: shorter, equal or longer."""
        if name in self.open and self.same(name):
            self.finish(name)
            self.machine.settle(1)
            os.ftruncate(self.open[name].fileno(), 0)
            self.open[name].write(b"".join(self.machine.row() + b"\n" for _ in range(refill)))

    @rule(name=which, refill=st.integers(0, 3))
    def delete(self, name: str, refill: int) -> None:
        """What is read may be deleted, and made again, often on the same inode."""
        if self.path(name).exists():
            self.reopen(name)
            self.machine.settle(1)
            self.path(name).unlink()
            for _ in range(refill):
                self.append(name, 2)

    @rule(name=which, where=st.sampled_from(LINKS))
    def link(self, name: str, where: str) -> None:
        """A second name of the file: one that matches, one that does not, one elsewhere."""
        if self.path(name).exists():
            self.rotations += 1
            link = self.path(where.format(name=name, n=self.rotations))
            link.parent.mkdir(exist_ok=True)
            os.link(self.path(name), link)
            self.links.append(link)

    @rule(index=st.integers(0, 9), to=st.sampled_from(["away", "links/again{n}.jsonl", *FILES]))
    def change_link(self, index: int, to: str) -> None:
        """A second name is changed, goes away, or is put in the place of a file that was read."""
        if not self.links:
            return
        link = self.links.pop(index % len(self.links))
        if to == "away":
            self.unlink(link)
        elif link.exists():  # Its directory may have been moved.
            self.rotations += 1
            new = self.path(to.format(n=self.rotations))
            if to in FILES:
                self.reopen(to)
                self.machine.settle(1)
            else:
                self.links.append(new)
            new.parent.mkdir(parents=True, exist_ok=True)
            link.rename(new)

    def unlink(self, link: Path) -> None:
        """
        A writer that goes on in a file is found by a name of it that matches, or beside its old one.

        Once the last such name is gone the file is on disk where we do not look.
        """
        if not link.exists():
            return  # Its directory may have been moved.
        for name in list(self.open):
            if self.is_at(name, link.stat()) and not self.same(name):
                self.reopen(name)
                self.machine.settle(1)
        link.unlink()

    @rule(count=st.integers(1, 3))
    def move_in(self, count: int) -> None:
        """A directory that comes with files in it."""
        outside = self.machine.directory / f"new{self.rotations}"
        self.rotations += 1
        (outside / "sub").mkdir(parents=True)
        for number in range(count):
            (outside / "sub" / f"{number}.jsonl").write_bytes(self.machine.row() + b"\n")
        outside.rename(self.machine.root / outside.name)

    @rule()
    def move_within(self) -> None:
        """A directory of the tree gets another name."""
        source = self.path("b/deep")
        if source.exists():
            self.seen("b/deep/er/log.jsonl")
            self.reopen("b/deep/er/log.jsonl")
            self.rotations += 1
            source.rename(self.path(f"moved{self.rotations}"))

    def same(self, name: str) -> bool:
        """Whether the trainer's handle is the file at the path."""
        try:
            return os.fstat(self.open[name].fileno()).st_ino == self.path(name).stat().st_ino
        except FileNotFoundError:
            return False

    @rule()
    def kill(self) -> None:
        self.machine.kill()
        self.machine.start()

    @rule(years=st.sampled_from([-10, 10]))
    def clock_jump(self, years: int) -> None:
        self.machine.clock.wall_s += years * 31_536_000

    @precondition(lambda self: hasattr(self, "machine"))
    @rule()
    def all_is_evaluated(self) -> None:
        for name in list(self.torn):
            self.finish(name)
        self.machine.check()


class WithoutEvents(Trainers):
    """The same, and nobody ever says that anything changed."""

    mode = "none"


class WithLies(Trainers):
    """The same, with hints that are lost, late, doubled or invented."""

    mode = "lying"


@pytest.mark.parametrize("kind", [Trainers, WithoutEvents, WithLies])
def test_every_row_once(kind: type[Trainers]) -> None:
    """Rows written and rows evaluated are the same, in each of the three modes."""
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(
        kind,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            # The same programs each time, unless more are asked for.
            derandomize="TAILWATCH_TEST_EXAMPLES" not in os.environ,
        ),
    )
