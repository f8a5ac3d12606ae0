"""One followed file, which is a bytes object, read as the engine reads it."""

from __future__ import annotations

import json

from tailwatch.checks import CHECKS
from tailwatch.core.cursor import Cursor, FileSeen, FileStat
from tailwatch.pump import Pumped
from tailwatch.pump import pump as pump_file
from tailwatch.readers import KeptReader
from tailwatch.tracked import Tracked

BIG = 1 << 20


class FakeFile:
    """An open file that is a bytes object, compared with a cursor as the real follower does."""

    def __init__(
        self, content: bytes, cursor: Cursor, inode: int = 7, mtime_s: float = 500.0
    ) -> None:
        self._content = content
        stat = FileStat(1, inode, 0, len(content), mtime_s)
        received = content[: cursor.received][-64:] == cursor.received_marker
        head = content[cursor.offset :][: len(cursor.received_head)]
        received = received and head == cursor.received_head
        offset = content[: cursor.offset][-64:] == cursor.offset_marker
        self.seen = FileSeen(stat, received and stat.identity == cursor.identity, offset)

    def read(self, offset: int, size: int) -> bytes:
        return self._content[offset : offset + size]

    def hole(self, offset: int) -> int:
        return 0

    def holds(self, marker: bytes, offset: int) -> bool:
        return self._content[:offset][-64:] == marker

    def close(self) -> None:
        pass


def rows(*losses: float, first: int = 1) -> bytes:
    """Rows with these losses."""
    lines = [json.dumps({"step": n, "loss": x}) for n, x in enumerate(losses, first)]
    return "".join(f"{line}\n" for line in lines).encode()


def pump(
    file: Tracked,
    content: bytes,
    size: int = BIG,
    **more: float,
) -> Pumped:
    """Read on in it, when it has this content."""
    return pump_file(file, FakeFile(content, file.cursor, **more), size, 0.0)  # type: ignore[arg-type]


def new_file() -> Tracked:
    """A file of which nothing was read."""
    return Tracked("/runs/a/m.jsonl", "/runs", KeptReader(CHECKS), "a/m")
