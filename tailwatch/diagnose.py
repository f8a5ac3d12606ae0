"""Files read once, as they are: what `check` and `replay` do."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple

from .config import Settings
from .core.check import RunConfig
from .core.fields import FieldMap
from .core.findings import Finding, Transition
from .core.names import distinct_name, run_name
from .core.reader import Observer, RunReader
from .errors import InputError
from .run_configs import find_run_config, read_run_config
from .shell.progress import progress
from .shell.scanner import DirectoryScanner

CHUNK_BYTES = 256 * 1024
STDIN = "-"
NO_FIELDS = "no training fields"
NO_ROWS = "no JSON lines"
NO_FILE = "has no file with the name of a metric file; see --include"


class Target(NamedTuple):
    """A file to read. *named*: the caller gave it by name. *root*: the directory searched."""

    path: str
    root: str | None
    size: int
    named: bool


class Trouble(NamedTuple):
    """A path that could not be read, or held nothing to read."""

    path: str
    reason: str


@dataclass(slots=True)
class Diagnosis:
    """
    What was found in one file.

    Attributes:
        named: The caller gave the file by its name.
        skipped: Why it is no metric file, if it is none.
    """

    run: str
    file: str
    named: bool
    reader: RunReader
    config: RunConfig | None
    transitions: list[Transition]
    skipped: str = ""
    findings: list[Finding] = field(default_factory=list)


def targets(paths: Sequence[str], settings: Settings) -> Iterator[Target | Trouble]:
    """The files that *paths* mean: themselves, or what matches below a directory."""
    for path in paths:
        if path == STDIN:
            yield Target(STDIN, None, 0, True)
            continue
        try:
            info = os.stat(path)
            if stat.S_ISDIR(info.st_mode):
                os.scandir(path).close()
        except OSError as error:
            yield Trouble(path, error.strerror or "cannot be read")
            continue
        except ValueError:
            yield Trouble(path, "is no path")
            continue
        if not stat.S_ISDIR(info.st_mode):
            yield Target(path, None, info.st_size, True)
            continue
        root, empty = os.path.abspath(path), True
        for found in DirectoryScanner([root], settings.wanted).sweep():
            empty = False
            shown = os.path.join(path, os.path.relpath(found.path, root))
            yield Target(shown, path, found.size, False)
        if empty:
            yield Trouble(path, NO_FILE)


class Reading:
    """
    Reads files one after the other, giving each run its name.

    Args:
        settings: Which checks, and how runs are named.
        config_file: The run configuration for all of them; by default each file's own.
        whole_file: Take each file as one segment.
        progress: Called with the number of bytes after each chunk.
    """

    def __init__(
        self,
        settings: Settings,
        config: RunConfig | None = None,
        *,
        whole_file: bool = False,
        progress: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._settings, self._config = settings, config
        self._whole_file, self._progress = whole_file, progress
        self._names: set[str] = set()

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
            config = find_run_config(os.path.abspath(target.path))
        reader = RunReader(
            self._settings.checks,
            config,
            fields=fields_of(target, self._settings),
            whole_file=self._whole_file,
            observer=observer,
        )
        diagnosis = Diagnosis(name, target.path, target.named, reader, config, [])
        try:
            with _open(target.path) as file:
                self._feed(file, diagnosis, each)
        except BrokenPipeError:
            raise  # Not ours: whoever reads our output has gone.
        except OSError as error:
            return Trouble(target.path, error.strerror or "cannot be read")
        if not reader.is_metric:
            if reader.rows:
                diagnosis.skipped = NO_FIELDS
            elif reader.bad_lines or reader.received > reader.offset:
                diagnosis.skipped = NO_ROWS
        diagnosis.findings = reader.monitor.diagnose()
        return diagnosis

    def _feed(
        self,
        file: BinaryIO,
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
            told = tell()
            if reader.skippable:
                diagnosis.skipped = NO_FIELDS
                return
        held += reader.rest()
        if not (reader.bad_lines or reader.received > reader.offset) or reader.rows:
            tell()

    def _name(self, target: Target) -> str:
        if target.path == STDIN:
            return "stdin"
        path = os.path.abspath(target.path)
        root = _absolute(target.root)
        name = run_name(path, root, self._settings.run_pattern)
        name = distinct_name(name, path, root, self._names)
        self._names.add(name)
        return name


def fields_of(target: Target, settings: Settings) -> FieldMap:
    """What the keys of a file mean, by the rules that are for it."""
    return settings.fields.of(os.path.abspath(target.path), _absolute(target.root))


def _absolute(root: str | None) -> str | None:
    return None if root is None else os.path.abspath(root)


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
    config = read_run_config(os.path.abspath(path))
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
    with progress(sum(one.size for one in found if isinstance(one, Target))) as advance:
        reading = Reading(settings, config, whole_file=whole_file, progress=advance)
        for target in found:
            if isinstance(target, Trouble):
                continue
            got = reading.read(target, each)
            if isinstance(got, Trouble):
                troubles.append(got)
            else:
                diagnoses.append(got)
    return diagnoses, troubles
