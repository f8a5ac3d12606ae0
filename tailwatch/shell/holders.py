"""Who holds a file open for writing: this host's processes, as far as we may see them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable

_WRITABLE = os.O_WRONLY | os.O_RDWR
PROCESSES_MAX = 20_000
DESCRIPTORS_MAX = 200_000
"""One look costs no more than this, whatever runs on the host."""


def written_by(paths: Iterable[str], proc: str = "/proc") -> dict[str, int]:
    """
    Path -> a process that holds it open for writing.

    A path that is missing here is not held by any process that we may look into;
    of others nothing is known. Without root these are the processes of our own user.
    """
    wanted: dict[tuple[int, int], str] = {}
    for path in paths:
        with contextlib.suppress(OSError):
            info = os.stat(path)
            wanted[info.st_dev, info.st_ino] = path
    found: dict[str, int] = {}
    looked = 0
    with contextlib.suppress(OSError):
        for name in os.listdir(proc)[:PROCESSES_MAX]:
            if not name.isdigit() or len(found) == len(wanted):
                continue
            try:
                descriptors = os.listdir(f"{proc}/{name}/fd")
            except OSError:
                continue  # Not ours, or gone.
            looked += len(descriptors)
            if looked > DESCRIPTORS_MAX:
                break
            for descriptor in descriptors:
                held = _wanted(f"{proc}/{name}", descriptor, wanted)
                if held is not None:
                    found.setdefault(held, int(name))
    return found


def _wanted(process: str, descriptor: str, wanted: dict[tuple[int, int], str]) -> str | None:
    with contextlib.suppress(OSError, ValueError, IndexError):
        info = os.stat(f"{process}/fd/{descriptor}")
        path = wanted.get((info.st_dev, info.st_ino))
        if path is None:
            return None
        with open(f"{process}/fdinfo/{descriptor}", "rb") as file:
            for line in file:
                if line.startswith(b"flags:"):
                    return path if int(line.split()[1], 8) & _WRITABLE else None
    return None
