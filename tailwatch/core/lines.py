"""Split a stream of bytes into whole lines, whatever the chunk boundaries."""

from __future__ import annotations

from typing import NamedTuple

LINE_BYTES_MAX = 1 << 20


class Line(NamedTuple):
    """
    One complete line, without its newline.

    Attributes:
        data: The bytes of the line, without NULs before it. Empty if the line was too long.
        offset: Byte offset at which the line begins, a hole of NULs before it included.
        end_offset: Byte offset just after the newline: a safe resume point.
        too_long: True if the line was longer than the limit and was dropped.
    """

    data: bytes
    offset: int
    end_offset: int
    too_long: bool = False


class LineBuffer:
    r"""
    Accumulate chunks; give back each line once its newline has arrived.

    >>> buffer = LineBuffer(offset=0)
    >>> buffer.feed(b'{"step": 1}\n{"st')
    [Line(data=b'{"step": 1}', offset=0, end_offset=12, too_long=False)]
    >>> buffer.feed(b'ep": 2}\n')
    [Line(data=b'{"step": 2}', offset=12, end_offset=24, too_long=False)]
    >>> buffer.resume_offset
    24
    """

    def __init__(self, *, offset: int, line_bytes_max: int = LINE_BYTES_MAX) -> None:
        assert offset >= 0
        assert line_bytes_max > 0
        self._tail: list[bytes] = []
        self._tail_bytes = 0
        # A hole of NULs before a line is what copytruncate leaves. It is no part of the line,
        # may be gigabytes long, and is passed only with the line that follows it.
        self._hole_bytes = 0
        self._line_offset = offset
        self._received = offset
        self._line_bytes_max = line_bytes_max
        self._discarding = False

    @property
    def resume_offset(self) -> int:
        """Offset of the first byte that is not part of a returned line."""
        return self._line_offset

    @property
    def received(self) -> int:
        """Offset of the next byte to feed."""
        return self._received

    @property
    def tail(self) -> bytes:
        """The torn line that waits for its newline."""
        return b"".join(self._tail)

    def feed(self, chunk: bytes) -> list[Line]:
        """Append *chunk*; return the lines it completed, oldest first."""
        self._received += len(chunk)
        head, *rest = chunk.split(b"\n")
        self._hold(head)
        if not rest:
            return []
        lines = [self._finish()]
        offset = self._line_offset
        for piece in rest[:-1]:
            end = offset + len(piece) + 1
            piece = piece.lstrip(b"\0")
            too_long = len(piece) > self._line_bytes_max
            lines.append(Line(b"" if too_long else piece, offset, end, too_long))
            offset = end
        self._line_offset = offset
        self._hold(rest[-1])
        return lines

    def skip(self, hole_bytes: int) -> bool:
        """
        Pass a hole of so many NULs without being fed them.

        False if it is within a line that could still be one: then it is part of it.
        """
        if not self._tail_bytes:
            self._hole_bytes += hole_bytes
        elif self._tail_bytes + hole_bytes > self._line_bytes_max:
            self._tail_bytes += hole_bytes
            self._discarding = True
            self._tail.clear()
        else:
            return False
        self._received += hole_bytes
        return True

    def take_tail(self) -> Line | None:
        """
        End the torn line here, as if its newline had come.

        For a run at rest, and only after the caller has seen that the tail is
        a whole JSON object. None if there is no tail.
        """
        if not self._tail_bytes or self._discarding:
            return None
        line = Line(self.tail, self._line_offset, self._received)
        self._tail.clear()
        self._tail_bytes = self._hole_bytes = 0
        self._line_offset = self._received
        return line

    def _finish(self) -> Line:
        data = b"" if self._discarding else self.tail
        end = self._line_offset + self._hole_bytes + self._tail_bytes + 1
        line = Line(data, self._line_offset, end, self._discarding)
        self._tail.clear()
        self._tail_bytes = self._hole_bytes = 0
        self._discarding = False
        self._line_offset = end
        return line

    def _hold(self, piece: bytes) -> None:
        if not self._tail_bytes and piece.startswith(b"\0"):
            stripped = piece.lstrip(b"\0")
            self._hole_bytes += len(piece) - len(stripped)
            piece = stripped
        # A writer that never sends a newline must not grow our memory.
        self._tail_bytes += len(piece)
        if self._tail_bytes > self._line_bytes_max:
            self._discarding = True
            self._tail.clear()
        elif piece:
            self._tail.append(piece)
