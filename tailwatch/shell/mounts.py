"""Which file system a path is on: over the network, events of other hosts never come."""

from __future__ import annotations

import os
import re

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


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), text)
