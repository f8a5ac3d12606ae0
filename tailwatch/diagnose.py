"""Files read once, as they are: what `check` and `replay` do."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from .config import Settings
from .core.check import RunConfig
from .core.fields import FieldMap
from .core.findings import Finding, Transition
from .core.names import distinct_name, run_name
from .core.observer import Observer
from .core.reader import RunReader
from .core.trainer_state import beside, is_state, same_training
from .errors import InputError
from .run_configs import find_run_config, read_run_config
from .saves import StateFile
from .shell.progress import progress
from .shell.saves import wanted_by
from .shell.scanner import DirectoryScanner
from .targets import STDIN, Target, Trouble, targets

CHUNK_BYTES = 256 * 1024
NO_FIELDS = "no training fields"
NO_ROWS = "no JSON lines"


@dataclass(slots=True)
class Diagnosis:
    """
    What was found in one file.

    Attributes:
        named: The caller gave the file by its name.
        skipped: Why it is no metric file, if it is none.
        unread: Saves of a trainer's state that could not be read, and why.
    """

    run: str
    file: str
    named: bool
    reader: RunReader
    config: RunConfig | None
    transitions: list[Transition]
    skipped: str = ""
    findings: list[Finding] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)


class Reading:
    """
    Reads files one after the other, giving each run its name.

    Args:
        settings: Which checks, and how runs are named.
        config_file: The run configuration for all of them; by default each file's own.
        whole_file: Take each file as one segment.
        progress: Called with the number of bytes after each chunk.
        keep: Called with each chunk.
    """

    def __init__(
        self,
        settings: Settings,
        config: RunConfig | None = None,
        *,
        whole_file: bool = False,
        progress: Callable[[int], None] = lambda _: None,
        keep: Callable[[bytes], object] = lambda _: None,
    ) -> None:
        self._settings, self._config = settings, config
        self._whole_file, self._progress, self._keep = whole_file, progress, keep
        self._names: set[str] = set()
        self._runs: list[Diagnosis] = []

    def read(
        self,
        target: Target,
        each: Callable[[str, Transition], None] | None = None,
        observer: Observer | None = None,
    ) -> Diagnosis | Trouble:
        """
        Read one file to its end.

        *each* is called with the run and each transition; *observer* sees each line and row.
        """
        name = self._name(target)
        config = self._config
        if config is None and target.path != STDIN:
            config = _config_of(target.path)
        reader = RunReader(
            self._settings.checks,
            config,
            fields=fields_of(target, self._settings),
            whole_file=self._whole_file,
            observer=observer,
        )
        diagnosis = Diagnosis(name, target.path, target.named, reader, config, [])
        if not target.named and is_state(target.path) and (same := self._same_training(target)):
            diagnosis.skipped = same_training(same)
            return diagnosis
        try:
            with self._open(target) as file:
                self._feed(file, diagnosis, each)
                if isinstance(file, StateFile):
                    diagnosis.unread = file.unread
        except BrokenPipeError:
            raise  # Not ours: whoever reads our output has gone.
        except OSError as error:
            return Trouble(target.path, error.strerror or "cannot be read")
        if not reader.is_metric:
            if reader.rows:
                diagnosis.skipped = NO_FIELDS
            elif not _blank(reader):
                diagnosis.skipped = NO_ROWS
        if diagnosis.unread and not reader.received:
            diagnosis.skipped = diagnosis.unread.popitem()[1]
        diagnosis.findings = reader.monitor.diagnose()
        if reader.monitor.config.says_something:
            diagnosis.config = reader.monitor.config
        self._runs.append(diagnosis)
        return diagnosis

    def _same_training(self, target: Target) -> str | None:
        """The run in a metric file beside a trainer's state, which has its rows too."""
        for run in self._runs:
            told = not run.skipped and run.reader.last_loss is not None
            if told and not is_state(run.file) and beside(run.file, target.path):
                return run.run
        return None

    @contextlib.contextmanager
    def _open(self, target: Target) -> Iterator[BinaryIO | StateFile]:
        if is_state(target.path):
            path, wanted = os.path.abspath(target.path), self._settings.wanted
            if target.root is None:
                yield StateFile(path, lambda each: each == path)
            else:
                scanner = DirectoryScanner([target.root], wanted)
                yield StateFile(path, wanted_by(scanner))
            return
        with _open(target.path) as file:
            yield file

    def _feed(
        self,
        file: BinaryIO | StateFile,
        diagnosis: Diagnosis,
        each: Callable[[str, Transition], None] | None,
    ) -> None:
        reader, held = diagnosis.reader, diagnosis.transitions
        told = 0

        def tell() -> int:
            if each is not None and (reader.is_metric or not reader.rows):
                for transition in held[told:]:
                    each(diagnosis.run, transition)
                return len(held)
            return told

        while chunk := file.read(CHUNK_BYTES):
            held += reader.feed(chunk)
            self._progress(len(chunk))
            self._keep(chunk)
            told = tell()
            if reader.skippable:
                diagnosis.skipped = NO_FIELDS
                return
        held += reader.rest()
        if _blank(reader) or reader.rows:
            tell()

    def _name(self, target: Target) -> str:
        if target.path == STDIN:
            return "stdin"
        path = os.path.abspath(target.path)
        root = _absolute(target.root)
        name = run_name(path, root, self._settings.run_pattern)
        name = distinct_name(name, path, root, self._names.__contains__)
        self._names.add(name)
        return name


def _blank(reader: RunReader) -> bool:
    """Whether the file holds nothing, or nothing but blank lines."""
    return not (reader.first_line or reader.bad_lines or reader.received > reader.offset)


def fields_of(target: Target, settings: Settings) -> FieldMap:
    """What the keys of a file mean, by the rules that are for it."""
    return settings.fields.of(os.path.abspath(target.path), _absolute(target.root))


def _absolute(root: str | None) -> str | None:
    return None if root is None else os.path.abspath(root)


def _config_of(path: str) -> RunConfig | None:
    """The configuration of a metric file; its source is relative if *path* is."""
    config = find_run_config(os.path.abspath(path))
    if config is None or config.source is None or os.path.isabs(path):
        return config
    return replace(config, source=os.path.relpath(config.source))


def _open(path: str) -> BinaryIO:
    if path == STDIN:
        return os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=0)
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY)
    return os.fdopen(descriptor, "rb", buffering=0)


def given_config(path: str) -> RunConfig:
    """
    The run configuration that the caller named.

    Raises:
        InputError: *path* names no readable run configuration.
    """
    config = read_run_config(path)
    if config is None:
        raise InputError(f"{path}: cannot be read as a run configuration")
    return config


def read_all(
    paths: Sequence[str],
    settings: Settings,
    run_config: str | None,
    *,
    whole_file: bool,
    each: Callable[[str, Transition], None] | None = None,
) -> tuple[list[Diagnosis], list[Trouble]]:
    """
    Read every file that *paths* mean, in order.

    Raises:
        InputError: *run_config* names no readable run configuration.
    """
    config = None if run_config is None else given_config(run_config)
    found = list(targets(paths, settings))
    troubles = [one for one in found if isinstance(one, Trouble)]
    diagnoses: list[Diagnosis] = []
    with progress(sum(one.size for one in found if isinstance(one, Target))) as bar:
        reading = Reading(settings, config, whole_file=whole_file, progress=bar.advance)

        def tell(run: str, transition: Transition) -> None:
            bar.clear()
            if each is not None:
                each(run, transition)

        for target in found:
            if isinstance(target, Trouble):
                continue
            got = reading.read(target, tell)
            if isinstance(got, Trouble):
                troubles.append(got)
            else:
                diagnoses.append(got)
                diagnoses += _unread(got)
    return diagnoses, troubles


def _unread(diagnosis: Diagnosis) -> Iterator[Diagnosis]:
    """Saves that could not be read, each as a file that was skipped."""
    for path, reason in diagnosis.unread.items():
        shown = os.path.join(os.path.dirname(diagnosis.file), _below(path, diagnosis.file))
        yield dataclasses.replace(diagnosis, file=shown, skipped=reason, unread={})


def _below(path: str, run_path: str) -> str:
    return os.path.relpath(path, os.path.dirname(os.path.abspath(run_path)))
