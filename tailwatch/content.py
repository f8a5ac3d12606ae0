"""What stands in files on disk, compared with what was read of them."""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import os
import struct
import zlib
from collections.abc import Iterator

from .core.cursor import MARKER_BYTES, Cursor, FileSeen, FileStat

# _IOR('v', 1, long): the generation of an inode, which tells a reused one apart.
_FS_IOC_GETVERSION = 0x80087601
_READ_BYTES = 1 << 20
UNZIPPED_BYTES_MAX = 256 * 1024 * 1024
# Without O_NONBLOCK a FIFO of a matching name would hang the engine.
OPEN_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


def unzipped(path: str, cursor: Cursor) -> int | None:
    """A gzipped sibling, if it begins with all that was read, as a file in memory."""
    descriptor = os.memfd_create("tailwatch", os.MFD_CLOEXEC)
    try:
        checksum = size = 0
        with gzip.open(path) as packed, os.fdopen(os.dup(descriptor), "wb") as plain:
            while (chunk := packed.read(_READ_BYTES)) and size <= UNZIPPED_BYTES_MAX:
                if size < cursor.offset:
                    checksum = zlib.crc32(chunk[: cursor.offset - size], checksum)
                size += len(chunk)
                # Only what was not read is needed, but offsets must stay what they were.
                plain.write(chunk)
        if size >= cursor.offset > 0 and checksum == cursor.offset_crc:
            return descriptor
    except (OSError, EOFError, zlib.error):
        pass
    os.close(descriptor)
    return None


def compare(descriptor: int, info: os.stat_result, cursor: Cursor, remote: bool) -> FileSeen:
    """What is in an open file now, against what was read of it."""
    seen = FileStat(
        info.st_dev,
        info.st_ino,
        _generation(descriptor),
        info.st_size,
        info.st_mtime,
        remote,
        info.st_nlink,
    )
    if seen.identity == cursor.identity:
        head = os.pread(descriptor, len(cursor.received_head), cursor.offset)
        received_same = (
            head == cursor.received_head
            and bytes_before(descriptor, cursor.received) == cursor.received_marker
        )
        offset_same = bytes_before(descriptor, cursor.offset) == cursor.offset_marker
        return FileSeen(seen, received_same, offset_same)
    return FileSeen(seen, False, begins_with(descriptor, info.st_size, cursor))


def begins_with(descriptor: int, size: int, cursor: Cursor) -> bool:
    """Whether a file of so many bytes begins with all that was evaluated of another."""
    return (
        size >= cursor.offset
        and bytes_before(descriptor, cursor.offset) == cursor.offset_marker
        and _checksum(descriptor, cursor.offset) == cursor.offset_crc
    )


@contextlib.contextmanager
def opened(path: str) -> Iterator[int]:
    """A descriptor of what is at *path*, for as long as it is needed."""
    descriptor = os.open(path, OPEN_FLAGS)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def pass_common(one: int, other: int, cursor: Cursor) -> None:
    """Move *cursor* over what two open files have in common behind it, to its last newline."""
    while chunk := os.pread(one, _READ_BYTES, cursor.received):
        copy = os.pread(other, len(chunk), cursor.received)
        if copy != chunk:
            pairs = enumerate(zip(chunk, copy, strict=False))
            differs = (at for at, (a, b) in pairs if a != b)
            cursor.advance(chunk[: next(differs, min(len(chunk), len(copy)))])
            break
        cursor.advance(chunk)
    cursor.rewind()


def bytes_before(descriptor: int, offset: int) -> bytes:
    """The bytes just before *offset*, as many as are kept of them."""
    start = max(0, offset - MARKER_BYTES)
    return os.pread(descriptor, offset - start, start)


def _checksum(descriptor: int, size: int) -> int:
    checksum = at = 0
    while at < size:
        chunk = os.pread(descriptor, min(_READ_BYTES, size - at), at)
        if not chunk:
            break
        checksum = zlib.crc32(chunk, checksum)
        at += len(chunk)
    return checksum


def _generation(descriptor: int) -> int:
    try:
        return int(struct.unpack("@l", fcntl.ioctl(descriptor, _FS_IOC_GETVERSION, b"\0" * 8))[0])
    except OSError:
        return 0  # tmpfs and network file systems have none.
