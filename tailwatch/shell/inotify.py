"""What the system says that this process watches by inotify."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping, Set

ASK_SWEEPS = 12
"""With thousands of directories, to ask costs more than all else of a sweep in which nothing is
new; so it is done in every twelfth of those."""


class InotifyWatches:
    """Tells which directories are not watched; libraries may believe that they watch them."""

    def __init__(self) -> None:
        self._whole: Mapping[str, Set[int]] = {}
        self._sweeps = 0

    def unwatched(self, directories: Mapping[str, Set[int]]) -> dict[str, Set[int]]:
        """
        The inodes without a watch, of those below each root: root -> inodes.

        Where all of the very same directories were watched a moment ago, they are still.
        """
        self._sweeps += 1
        if directories == self._whole and self._sweeps < ASK_SWEEPS:
            return {}
        watched = _watched_inodes() if directories else set()
        found = {root: inodes - watched for root, inodes in directories.items()}
        self._whole, self._sweeps = ({} if any(found.values()) else directories), 0
        return found


def _watched_inodes() -> set[int]:
    """The inodes that this process has inotify watches on: what is really watched."""
    inodes: set[int] = set()
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/self/fd/{name}") != "anon_inode:inotify":
                    continue
                with open(f"/proc/self/fdinfo/{name}") as info:
                    found = re.findall(r"^inotify wd:\S+ ino:([0-9a-f]+)", info.read(), re.M)
                inodes.update(int(inode, 16) for inode in found)
    return inodes
