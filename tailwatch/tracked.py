"""One followed file: where we are in it, what its run's checks say, what was counted and told."""

from __future__ import annotations

from dataclasses import dataclass, field

from .core.check import RunConfig
from .core.cursor import Cursor
from .core.findings import Transition, TransitionKind
from .core.lines import LineBuffer
from .core.reader import RunReader
from .core.silence import Arrivals
from .core.trail import Trail
from .messages import SIZE_UNKNOWN, FoundFile, Tally
from .paging import Paged
from .readers import KeptReader

REST_S = 600.0
REST_GAPS = 10
ALIASES_MAX = 256
NAMES_MAX = 8
"""So many names of one file are looked at: what became of it may lie beside any."""
PAST_MAX = 16


@dataclass(slots=True)
class Previous:
    """A file that the run was in before, for as long as something may still come of it."""

    cursor: Cursor
    lines: LineBuffer
    quiet_s: float


@dataclass(slots=True)
class Tracked:
    """
    A followed file.

    Attributes:
        kept: Its reader.
        name: The run's name; None until a row has a training field.
        held: Transitions of a file that is no run yet.
        history_end: Bytes below this were there before the first start: they page nobody.
        backlog_end: Bytes below this were there when this process first saw the file.
        rebuild_end: Bytes below this were evaluated before, by other code: not counted again.
        last_row_s: When the newest row was written, as far as we know (Unix seconds).
        last_seen_s: When the file last gave us bytes, or was first seen (Unix seconds).
        read_at_s: The same on the monotonic clock.
        look_s: Until when (monotonic) its silence says nothing new.
        arrivals: The silences between live reads.
        heard: What the reader had heard at the last of them: see `RunReader.heard`.
        writer: A process that was seen to hold the file open for writing, in this silence.
        sought_writer: Whether one was looked for.
        aliases: Other paths under which its files were seen -> device and inode: hard links,
            and where they were moved.
        previous: Files that it was before a rotation, from which something may still come.
        past: Where we were in files that are done with: to know them under other names.
        proof: Where we were, if the file is to be read again: only if it is still that
            file has anything of it been counted.
        active_s: Since when rows come (Unix seconds); None while none do.
        at_path: The identity of the file that was last read at the path.
        gone_s: Since when (monotonic) nothing is at the path; None while something is.
        left: Whether the file that we were in was found, when the path last had another.
        given_up: Nothing is at the path, and nothing of it is known elsewhere.
        doubt_s: Since when (monotonic) a network file system says what we do not believe.
    """

    path: str
    root: str | None
    kept: KeptReader
    name: str | None = None
    cursor: Cursor = field(default_factory=Cursor)
    tallies: dict[str, Tally] = field(default_factory=dict)
    paged: dict[str, Paged] = field(default_factory=dict)
    held: list[Transition] = field(default_factory=list)
    history_end: int = 0
    history_told: bool = False
    backlog_end: int = 0
    rebuild_end: int = 0
    last_row_s: float | None = None
    last_seen_s: float = 0.0
    read_at_s: float = 0.0
    look_s: float = 0.0
    arrivals: Arrivals = field(default_factory=Arrivals)
    heard: tuple[int, bool, float] = (0, False, 0.0)
    writer: int | None = None
    sought_writer: bool = False
    at_rest: bool = False
    active_s: float | None = None
    aliases: dict[str, tuple[int, int]] = field(default_factory=dict)
    previous: list[Previous] = field(default_factory=list)
    past: list[Cursor] = field(default_factory=list)
    proof: Cursor | None = None
    at_path: tuple[int, ...] = (0, 0, 0)
    gone_s: float | None = None
    doubt_s: float | None = None
    left: bool = False
    given_up: bool = False
    skipped: bool = False
    complaint: str = ""
    mtime_s: float = 0.0
    lag_bytes: int = 0
    changed: tuple[int, int, int] = (0, 0, 0)

    @property
    def reader(self) -> RunReader:
        """What is fed with its bytes; look at `kept` for what is known of a run at rest."""
        return self.kept.reader

    @property
    def gone(self) -> bool:
        """Whether nothing is at the path."""
        return self.gone_s is not None

    @property
    def unsettled(self) -> bool:
        """Whether something may come of a file that it was in, or of its path."""
        return self.gone_s is not None or self.left or bool(self.previous)

    def cursors(self) -> list[Cursor]:
        """Where we are in its file, and were in those that it was before."""
        return [self.cursor, *(each.cursor for each in self.previous), *self.past]

    def was_there(self, found: FoundFile) -> None:
        """All that the file holds now was there when this process first saw it."""
        self.backlog_end = found.size
        trail = self.cursor.trail or Trail()
        if found.size == SIZE_UNKNOWN and not trail.until_ns:
            self.cursor.trail = trail._replace(until_ns=found.changed[1])

    def as_it_was(self, found: FoundFile) -> bool:
        """Whether an earlier process read all of it, and nobody wrote to it since."""
        cursor, settled = self.cursor, self.proof is None and not self.previous
        same = (found.inode, found.size, found.mtime_s) == (
            cursor.identity[:2],
            cursor.offset,
            self.mtime_s,
        )
        return self.name is not None and settled and same and cursor.trail is None

    def names_of(self, cursor: Cursor) -> list[str]:
        """Other paths of the file that *cursor* is in, the newest last."""
        inode = cursor.identity[:2]
        return [path for path, each in self.aliases.items() if each == inode][-NAMES_MAX:]

    def others(self, cursor: Cursor) -> list[Cursor]:
        """Where we were in the other files of the run."""
        return [each for each in self.cursors() if each is not cursor]

    def also_at(self, inode: tuple[int, int], path: str) -> None:
        """One of its files was seen under another path."""
        if len(self.aliases) >= ALIASES_MAX:
            self.aliases.clear()
        self.aliases.pop(path, None)  # The newest is last.
        self.aliases[path] = inode

    def done_with(self, cursor: Cursor) -> None:
        """Nothing more is expected of a file; only its place is kept, to know it again."""
        if not cursor.offset:
            return
        self.past.append(cursor)
        # First those go that were not seen under another name.
        away = [each for each in self.past if not self.names_of(each)]
        if len(away) > PAST_MAX:
            self.forget(away[0])
        elif len(self.past) > ALIASES_MAX:
            self.forget(self.past[0])

    def forget(self, cursor: Cursor) -> None:
        """The file of *cursor*, which is not the present one, is no longer ours."""
        self.previous = [each for each in self.previous if each.cursor is not cursor]
        self.past = [each for each in self.past if each is not cursor]

    def arrived(self, now_s: float, monotonic_s: float) -> None:
        """Bytes came: note the time, and the silence before them."""
        if self.cursor.received > self.backlog_end:
            self.arrivals.add(monotonic_s - self.read_at_s, self._gap_kind())
        self.heard = self.reader.heard
        self.writer, self.sought_writer = None, False
        self.read_at_s, self.last_seen_s, self.look_s = monotonic_s, now_s, 0.0
        self.last_row_s = self._time(self.reader.last_timestamp_s, self.cursor.offset, now_s)
        if self.active_s is None:
            self.active_s = self.last_row_s

    def _gap_kind(self) -> str:
        """What stood around the silence that has just ended: see `core.silence.Arrivals`."""
        evals, last_was_eval, step = self.heard
        evals_now, _, step_now = self.reader.heard
        if last_was_eval or evals_now > evals:
            return "eval"
        every = self.reader.monitor.config.save_steps
        return "save" if every and step // every != step_now // every else "train"

    def rest_due_s(self) -> float | None:
        """When (monotonic) to call the run quiet if nothing comes. None: it is, or is no run."""
        if self.at_rest or self.name is None or self.lag_bytes:
            return None
        return self.read_at_s + max(REST_S, REST_GAPS * self.arrivals.usual_s)

    def rest(self) -> list[Transition]:
        """The run ended or went quiet."""
        self.at_rest, self.active_s = True, None
        transitions = self.reader.rest()
        if self.reader.offset == self.cursor.received:
            self.cursor.settle_tail()
        return transitions

    def happened_s(self, transition: Transition, now_s: float) -> float:
        """When a transition happened: never now for what was already there, never later."""
        return self._time(transition.timestamp_s, transition.mark.offset, now_s)

    def _time(self, own_s: float | None, offset: int, now_s: float) -> float:
        if own_s is not None and own_s <= now_s:
            return own_s
        return min(now_s, self.mtime_s) if offset < self.backlog_end else now_s

    def known(self, transition: Transition) -> bool:
        """Whether it was counted before, by a version of us whose state could not be read."""
        return transition.mark.offset < self.rebuild_end

    def count(self, transition: Transition, time_s: float) -> None:
        """Add a transition to the tallies, if it is a finding that went to firing."""
        if transition.kind is TransitionKind.FIRING and not transition.continues:
            old = self.tallies.get(transition.category, Tally(0, None))
            self.tallies[transition.category] = Tally(
                old.total + 1, max(time_s, old.last_s or 0.0)
            )

    def fired_s(self, category: str) -> float:
        """When a finding that was told fired last, Unix seconds."""
        tally, paged = self.tallies.get(category), self.paged.get(category)
        if tally and tally.last_s is not None:
            return tally.last_s
        return paged.time_s if paged else 0.0

    def is_history(self, transition: Transition) -> bool:
        """Whether it happened before the first start."""
        return transition.mark.offset < self.history_end

    @property
    def history_due(self) -> bool:
        """Whether the bytes from before the first start are read, and that is not told yet."""
        return not self.history_told and 0 < self.history_end <= self.cursor.received

    def history_read(self) -> bool:
        """Whether the bytes from before the first start have just been read to their end."""
        due = self.history_due
        self.history_told = self.history_told or due
        return due

    def configure(self, config: RunConfig | None) -> None:
        """Take in the run's configuration, if there is one."""
        if config is not None:
            self.reader.configure(config)
            self.look_s = 0.0
