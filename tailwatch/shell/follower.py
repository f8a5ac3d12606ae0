"""Files: open one, see whether it is the one we knew, read from it."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import struct
import zlib
from typing import Any

import yaml

from ..core.check import RunConfig
from ..core.cursor import MARKER_BYTES, Cursor, FileSeen, FileStat
from ..core.runconfig import CONFIG_NAMES, configured_learning_rate
from ..ports import Unreadable

# _IOR('v', 1, long): the generation of an inode, which tells a reused one apart.
_FS_IOC_GETVERSION = 0x80087601
_PREFIX_READ_BYTES = 1 << 20
CONFIG_BYTES_MAX = 256 * 1024
_YAML_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class LocalFile:
    """An open regular file. See `ports.OpenFile`."""

    def __init__(self, descriptor: int, seen: FileSeen) -> None:
        self._descriptor = descriptor
        self.seen = seen

    def read(self, offset: int, size: int) -> bytes:
        """At most *size* bytes at *offset*."""
        return os.pread(self._descriptor, size, offset)

    def close(self) -> None:
        """Let go of it."""
        os.close(self._descriptor)


class LocalFollower:
    """Regular files of this host's file systems."""

    def open(self, path: str, cursor: Cursor) -> LocalFile | Unreadable:
        """Open *path* and compare it with what was read of it."""
        try:
            # Without O_NONBLOCK a FIFO of a matching name would hang the engine.
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        except (FileNotFoundError, NotADirectoryError):
            return Unreadable("not there", gone=True)
        except OSError as error:
            return Unreadable(error.strerror or "cannot be opened")
        try:
            info = os.fstat(descriptor)
            if not stat.S_ISREG(info.st_mode):
                os.close(descriptor)
                return Unreadable("not a regular file")
            return LocalFile(descriptor, _compare(descriptor, info, cursor))
        except OSError as error:
            os.close(descriptor)
            return Unreadable(error.strerror or "cannot be read")

    def run_config(self, path: str) -> RunConfig | None:
        """The configuration beside the metric file *path*, if there is a readable one."""
        directory = os.path.dirname(path)
        for name in CONFIG_NAMES:
            if config := read_run_config(os.path.join(directory, name)):
                return config
        return None


def read_run_config(path: str) -> RunConfig | None:
    """What checks read of one configuration file; None if it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(CONFIG_BYTES_MAX + 1)
        if len(data) > CONFIG_BYTES_MAX:
            return None
        text = data.decode("utf-8-sig")
        is_json = path.endswith(".json")
        config = json.loads(text) if is_json else yaml.load(text, Loader=_YAML_LOADER)
    except Exception:  # PyYAML leaks KeyError, IndexError and more for a bad `!!int ''`.
        return None
    finally:
        os.close(descriptor)
    if not isinstance(config, dict):
        return None
    return RunConfig(configured_learning_rate(config), path)


def _compare(descriptor: int, info: os.stat_result, cursor: Cursor) -> FileSeen:
    seen = FileStat(info.st_dev, info.st_ino, _generation(descriptor), info.st_size, info.st_mtime)
    if seen.identity == cursor.identity:
        received_same = _marker(descriptor, cursor.received) == cursor.received_marker
        offset_same = _marker(descriptor, cursor.offset) == cursor.offset_marker
        return FileSeen(seen, received_same, offset_same)
    same = info.st_size >= cursor.offset and (
        _marker(descriptor, cursor.offset) == cursor.offset_marker
        and _checksum(descriptor, cursor.offset) == cursor.offset_crc
    )
    return FileSeen(seen, False, same)


def _marker(descriptor: int, offset: int) -> bytes:
    start = max(0, offset - MARKER_BYTES)
    return os.pread(descriptor, offset - start, start)


def _checksum(descriptor: int, size: int) -> int:
    checksum = at = 0
    while at < size:
        chunk = os.pread(descriptor, min(_PREFIX_READ_BYTES, size - at), at)
        if not chunk:
            break
        checksum = zlib.crc32(chunk, checksum)
        at += len(chunk)
    return checksum


def _generation(descriptor: int) -> int:
    try:
        raw = fcntl.ioctl(descriptor, _FS_IOC_GETVERSION, b"\0" * 8)
    except OSError:
        return 0  # tmpfs and network file systems have none.
    return int(struct.unpack("@l", raw)[0])
