"""Which file system a path is on: over the network, events of other hosts never come."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

READ_AGAIN_S = 60.0
ANSWERS_MAX = 10_000
MOUNTINFO = "/proc/self/mountinfo"
# Writes of other hosts, or of the server, make no inotify event on these.
REMOTE_TYPES = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "lustre", "gpfs", "beegfs", "ceph", "glusterfs"),
        *("afs", "coda", "9p", "virtiofs", "orangefs", "pvfs2", "wekafs", "panfs", "ocfs2"),
        *(
            "gfs2",
            "vboxsf",
            "vmhgfs",
            "prl_fs",
            "davfs",
            "ncpfs",
            "acfs",
            "dvs",
            "fuse",
            "fuseblk",
        ),
    }
)


def is_remote(path: str, mountinfo: str = MOUNTINFO) -> bool:
    """
    Whether *path* is on a network or FUSE file system.

    False where it cannot be told: the sweep finds every row in any case.
    """
    try:
        real = os.path.realpath(path)
        with open(mountinfo, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.readlines()
    except OSError:
        return False
    kind, longest = "", -1
    for line in lines:
        # proc(5): ... (5) mount point ... " - " (9) file system type ...
        left, _, right = line.partition(" - ")
        fields = left.split()
        if len(fields) < 5 or not right.split():
            continue
        point = _unescape(fields[4])
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        # Of mounts on the same point the last one is seen.
        if inside and len(point) >= longest:
            kind, longest = right.split()[0], len(point)
    return kind in REMOTE_TYPES or kind.startswith("fuse.")


class Mounts:
    """Answers for many paths; the table of mounts is read again once a minute."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._answers: dict[str, bool] = {}
        self._read_s = monotonic()

    def remote(self, path: str) -> bool:
        """Whether *path* is on a network or FUSE file system."""
        now_s = self._monotonic()
        if now_s - self._read_s > READ_AGAIN_S or len(self._answers) > ANSWERS_MAX:
            self._answers.clear()
            self._read_s = now_s
        directory = os.path.dirname(path)
        if directory not in self._answers:
            self._answers[directory] = is_remote(path)
        return self._answers[directory]


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), text)
