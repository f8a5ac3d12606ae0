"""Files as tailwatch sees them: what `inspect` finds out."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field

from .config import Settings
from .core.observations import Observations
from .core.trainers import Guess, guess_trainer
from .diagnose import Diagnosis, Reading, fields_of, given_config
from .followed import Followed, followed, followed_root
from .shell.progress import progress
from .targets import NO_FILE, STDIN, Target, Trouble, targets
from .unmatched import Unmatched, unmatched
from .verdict import Verdict, judge, unfollowed


@dataclass(slots=True)
class Inspection:
    """
    One file.

    Attributes:
        file: Its path as the caller gave it.
        verdict: Whether it is a metric file.
        followed: Whether the daemon would look at it; None for standard input.
        unfollowed: Why it would not.
        diagnosis: What was read; None if nothing was.
        seen: What was seen of its rows; None with the diagnosis.
        trainer: Whose keys they are.
    """

    file: str
    verdict: Verdict
    followed: Followed | None = None
    unfollowed: Verdict | None = None
    diagnosis: Diagnosis | None = None
    seen: Observations | None = None
    trainer: Guess | None = None


@dataclass(slots=True)
class Inspected:
    """
    All that was inspected.

    Attributes:
        files: In the order of the paths.
        left_out: For each directory, the files that no pattern lets in.
        troubles: Paths that could not be read.
    """

    files: list[Inspection] = field(default_factory=list)
    left_out: list[Unmatched] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)


def inspect_all(
    paths: Sequence[str], settings: Settings, run_config: str | None, *, whole_file: bool
) -> Inspected:
    """
    Inspect the files that *paths* mean.

    Raises:
        InputError: *run_config* names no readable run configuration.
    """
    config = None if run_config is None else given_config(run_config)
    result = Inspected()
    found = list(targets(paths, settings))
    sizes = sum(one.size for one in found if isinstance(one, Target))
    with progress(sizes) as bar:
        reading = Reading(settings, config, whole_file=whole_file, progress=bar.advance)
        for one in found:
            if isinstance(one, Trouble):
                if one.reason != NO_FILE:
                    result.troubles.append(one)
                continue
            got = _inspect(one, settings, reading)
            if isinstance(got, Trouble):
                result.troubles.append(got)
            else:
                result.files.append(got)
    for path in paths:
        if path != STDIN and os.path.isdir(path) and os.access(path, os.R_OK):
            result.left_out.append(unmatched(path, settings))
    return result


def _inspect(target: Target, settings: Settings, reading: Reading) -> Inspection | Trouble:
    place = None
    if target.path != STDIN:
        place = followed(target.path, target.root, settings)
        try:
            kind = _irregular(os.stat(target.path).st_mode)
        except OSError as error:
            return Trouble(target.path, error.strerror or "cannot be read")
        if kind:
            verdict = Verdict("not_regular", f"it is {kind}, and no regular file")
            return Inspection(target.path, verdict, place, unfollowed(place))
        # Named and given its fields as the daemon does it.
        known = followed_root(os.path.abspath(target.path), settings)
        target = target._replace(root=None if place.named else known or target.root)
    seen = Observations(fields_of(target, settings))
    diagnosis = reading.read(target, observer=seen)
    if isinstance(diagnosis, Trouble):
        return diagnosis
    return Inspection(
        target.path,
        judge(diagnosis, seen),
        place,
        unfollowed(place) if place else None,
        diagnosis,
        seen,
        guess_trainer(seen.keys.keys),
    )


def _irregular(mode: int) -> str | None:
    if stat.S_ISREG(mode):
        return None
    kinds = (
        (stat.S_ISFIFO, "a FIFO"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    return next((name for is_one, name in kinds if is_one(mode)), "something else")
