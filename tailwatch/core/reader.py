"""One metric file: bytes in, transitions out. Used alike by `run`, `check` and `replay`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..errors import StateOutdated
from .check import Check, RunConfig
from .decoding import objects
from .fields import FieldMap
from .findings import Transition
from .header import Header
from .lines import Line, LineBuffer
from .monitor import RunMonitor
from .observer import Observer
from .plain import fields_of
from .progress import Progress
from .row_maker import RowMaker
from .rows import Row, RowKind
from .runconfig import combined, from_record

SKIP_BYTES = 64 * 1024
"""A file without a training field in so many bytes of lines is no metric file."""
_KEPT = ("rows", "first_line", "first_step", "last_loss", "last_timestamp_s", "heard")


class RunReader:
    r"""
    Turn the bytes of one file into rows, and feed them to its checks.

    Attributes:
        rows: Rows so far, over all segments.
        is_metric: True once a row had a training field.
        bad_lines: Lines that were no row, by reason.
        first_step: The step of the first row that is no metadata.
        progress: How far the run is, as far as it says.
        heard: Evaluation rows so far, whether the last row was one, and the newest step.
        last_loss: The newest loss, finite or not.
        last_timestamp_s: The newest time that the trainer itself wrote (Unix seconds).
        first_line: The first bytes of the first line that was not blank: what tells this
            file from another of the same name.

    >>> from tailwatch.checks import CHECKS
    >>> reader = RunReader(CHECKS)
    >>> [t.category for t in reader.feed(b'{"step": 1, "loss": NaN}\n{"st')]
    ['nan_loss']
    >>> reader.rows, reader.offset, reader.received
    (1, 25, 29)
    """

    def __init__(
        self,
        checks: Sequence[type[Check]],
        config: RunConfig | None = None,
        *,
        fields: FieldMap | None = None,
        whole_file: bool = False,
        observer: Observer | None = None,
    ) -> None:
        self._observer = observer
        self.monitor = RunMonitor(checks, config, whole_file=whole_file)
        self._beside = config
        self._within: RunConfig | None = None
        self._checks, self._whole_file = checks, whole_file
        self._maker = RowMaker(fields or FieldMap())
        self._header: Header | None = None
        self.progress = Progress()
        self.heard = (0, False, 0.0)
        self._lines = LineBuffer(offset=0)
        self._line_bytes = 0
        self.rows = 0
        self.is_metric = False
        self.bad_lines: Counter[str] = Counter()
        self._bad_lines_taken: Counter[str] = Counter()
        self.first_step: int | float | None = None
        self.last_loss: float | None = None
        self.last_timestamp_s: float | None = None
        self.first_line = b""

    def anew(self) -> RunReader:
        """A reader as this one was at first."""
        return RunReader(
            self._checks, self._beside, fields=self._maker.fields, whole_file=self._whole_file
        )

    def configure(self, config: RunConfig | None) -> None:
        """Take in the configuration beside the file; what the log itself says comes after it."""
        self._beside = config
        known = [one for one in (config, self._within) if one is not None]
        self.monitor.configure(combined(known) or config or RunConfig())

    @property
    def offset(self) -> int:
        """Byte offset up to which all is evaluated: where to go on after a restart."""
        return self._lines.resume_offset

    @property
    def received(self) -> int:
        """Byte offset of the next byte to feed: past the offset while a line is torn."""
        return self._lines.received

    @property
    def torn(self) -> bytes:
        """The line that waits for its newline; nothing of one that is too long."""
        return self._lines.tail

    @property
    def skippable(self) -> bool:
        """Whether enough was read without a training field to call it no metric file."""
        return not self.is_metric and self._line_bytes >= SKIP_BYTES

    def feed(self, chunk: bytes, lines: LineBuffer | None = None) -> list[Transition]:
        """Take in the next bytes: of the file, or of an older one whose *lines* were detached."""
        transitions: list[Transition] = []
        for line in (lines or self._lines).feed(chunk):
            # Decided line by line, or what is skipped would depend on the chunks.
            if not self.is_metric:
                if self.skippable:
                    break
                self._line_bytes += SKIP_BYTES if line.too_long else len(line.data) + 1
            transitions += self._take(line)
        return transitions

    def skip(self, hole_bytes: int) -> bool:
        """Pass a hole before a line without being fed its NULs; False within a line."""
        return self._lines.skip(hole_bytes)

    def take_bad_lines(self) -> Counter[str]:
        """The bad lines since this was last asked."""
        news = self.bad_lines - self._bad_lines_taken
        self._bad_lines_taken = self.bad_lines.copy()
        return news

    def end_tail(self, lines: LineBuffer | None = None) -> list[Transition]:
        """No more bytes will come: a last line without its newline counts if it is whole."""
        lines = lines or self._lines
        tail = Line(lines.tail, lines.resume_offset, lines.received)
        found, broken = objects(tail.data)
        if broken or not found:
            return []
        line = lines.take_tail()
        assert line is not None
        return self._take(line)

    def rest(self) -> list[Transition]:
        """The run ended or went quiet: the last word on it, for now."""
        return self.end_tail() + self.monitor.rest()

    def rewind(self) -> None:
        """Forget the torn line: it will be fed again, from `offset`."""
        self.go_to(self.offset)

    def go_to(self, offset: int) -> None:
        """What is fed next stands at *offset*, after a whole line."""
        self._lines = LineBuffer(offset=offset)

    def source_restarted(self) -> LineBuffer:
        """
        The file was truncated or replaced: what follows is read from its first byte.

        Returns the lines of the old one, for what may still come of it.
        """
        lines, self._lines = self._lines, LineBuffer(offset=0)
        self.first_line, self._header = b"", None
        self._maker.source_restarted()
        self.monitor.source_restarted()
        return lines

    def _take(self, line: Line) -> list[Transition]:
        if self._observer is not None:
            self._observer.line(line)
        elif (row := self._maker.of_line(line, self.rows + 1)) is not None:
            return self._follow(row)
        if line.too_long:
            self._bad("too_long")
            return []
        if self._header is None and not self.first_line and Header.begins(line.data):
            self._header = Header()
        if self._header is not None and self._in_header(self._header, line):
            return []
        records, broken = objects(line.data)
        if broken and not (records or line.data.strip(b" \t\r\n\0")):
            return []
        if not self.first_line:
            self.first_line = line.data[:256]
        if broken:
            self._bad(broken)
        transitions: list[Transition] = []
        for record in records:
            transitions += self._evaluate(record, line.offset)
        return transitions

    def _in_header(self, header: Header, line: Line) -> bool:
        """Whether the line is of a header, which is no row."""
        self.first_line = self.first_line or line.data[:256]
        belongs = header.feed(line.data)
        if belongs and not header.complete:
            return True
        lines = header.lines
        described = header.take() if belongs else None
        if described is None:
            self._bad("not_json", lines)
        else:
            self._describe(described)
        self._header = None
        return belongs

    def _bad(self, reason: str, lines: int = 1) -> None:
        self.bad_lines[reason] += lines
        if self._observer is not None and lines:
            self._observer.bad_line(reason)

    def _evaluate(self, record: dict[str, Any], offset: int) -> list[Transition]:
        row = self._maker.of_record(record, self.rows + 1, offset)
        if row.kind is RowKind.METADATA or not self.rows:
            self._describe(record)
        if self._observer is not None:
            self._observer.row(record, row)
        return self._follow(row)

    def _follow(self, row: Row) -> list[Transition]:
        self.progress.update(row)
        evals = row.kind is RowKind.EVAL
        self.heard = (self.heard[0] + evals, evals, self.progress.step or 0.0)
        self.rows += 1
        if self.first_step is None and row.kind is not RowKind.METADATA:
            self.first_step = row.step
        self.is_metric = self.is_metric or row.has_training_field
        self.last_loss = row.values.get("loss", self.last_loss)
        self.last_timestamp_s = row.timestamp_s or self.last_timestamp_s
        return self.monitor.update(row)

    def _describe(self, record: dict[str, Any]) -> None:
        """Take in a configuration that stands in the log itself."""
        if self._within is None and (config := from_record(record)) is not None:
            self._within = replace(config, source="its own first rows")
            self.configure(self._beside)

    def to_state(self) -> dict[str, Any]:
        """What to keep across a restart, `offset` included."""
        return {
            "offset": self.offset,
            "bad_lines": dict(self.bad_lines),
            "fields": self._maker.fields.version,
            **self._maker.to_state(),
            "within": self._within and fields_of(self._within),
            "beside": self._beside and fields_of(self._beside),
            "progress": self.progress.to_state(),
            "header": [self._header.text, self._header.lines] if self._header else None,
            "monitor": self.monitor.to_state(),
            **{name: getattr(self, name) for name in _KEPT},
        }

    @classmethod
    def from_state(
        cls,
        checks: Sequence[type[Check]],
        config: RunConfig | None,
        state: dict[str, Any],
        *,
        fields: FieldMap | None = None,
    ) -> RunReader:
        """
        The reader that `to_state` was called on, to be fed from its `offset`.

        Raises:
            StateOutdated: See `RunMonitor.from_state`; or what the keys mean has changed.
        """
        reader = cls(checks, config, fields=fields)
        if state.get("fields") != reader._maker.fields.version:
            raise StateOutdated("the table of fields has changed")
        reader._maker.restore(state)
        reader._within = state["within"] and RunConfig(**state["within"])
        reader._beside = config or (state["beside"] and RunConfig(**state["beside"]))
        reader.progress = Progress(**state["progress"])
        if state["header"] is not None:
            reader._header = Header(*state["header"])
        reader.monitor = RunMonitor.from_state(checks, config, state["monitor"])
        reader._lines = LineBuffer(offset=state["offset"])
        reader.is_metric = True
        reader.bad_lines.update(state["bad_lines"])
        reader.take_bad_lines()
        for name in _KEPT:
            setattr(reader, name, state[name])
        reader.heard = tuple(state["heard"])
        return reader
