"""Telling network file systems apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailwatch.shell.mounts import is_remote

TABLE = r"""
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 22 0:40 / /data rw,relatime shared:2 - nfs4 server:/export rw
41 40 0:41 / /data/local rw - xfs /dev/sdb1 rw
42 22 0:42 / /mnt/with\040space rw - fuse.sshfs host: rw
43 22 0:43 / /twice rw - ext4 /dev/sdc1 rw
44 22 0:44 / /twice rw - lustre mgs:/fs rw
short line
45 22 0:45 / /fuse rw -
"""


@pytest.mark.parametrize(
    ("path", "remote"),
    [
        ("/home/x", False),
        ("/data", True),
        ("/data/runs/a", True),
        ("/data/local/runs", False),
        ("/database", False),
        ("/mnt/with space/runs", True),
        ("/twice/runs", True),
        ("/fuse/runs", False),
    ],
)
def test_the_innermost_mount_decides(tmp_path: Path, path: str, remote: bool) -> None:
    """The file system of a path is that of the longest, last mount point above it."""
    table = tmp_path / "mountinfo"
    table.write_text(TABLE)

    assert remote == is_remote(path, str(table))


def test_this_machine(tmp_path: Path) -> None:
    """The kernel's own table can be read, and an absent one is no trouble."""
    assert is_remote(str(tmp_path)) in (False, True)
    assert not is_remote("/proc")
    assert not is_remote("/x", str(tmp_path / "no table"))
