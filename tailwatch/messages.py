"""What passes between the engine and the world: messages, records, and what is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .core.findings import Severity, Transition
from .core.globs import PathFilter
from .core.notices import Notice
from .core.outbox import Outcome

# Messages into the engine.


class Settled(NamedTuple):
    """A courier's word on one attempt."""

    receiver: str
    outcome: Outcome


class Stop(NamedTuple):
    """Drain and end."""

    reason: str


class Incoming(NamedTuple):
    """
    What came in since the last turn.

    Attributes:
        paths: Files and directories that may have changed.
        sweep: Hints may have been lost: look at everything now.
        messages: In the order in which they came.
    """

    paths: set[str]
    sweep: bool
    messages: list[Settled | Stop]


# What a turn changed.


@dataclass(slots=True)
class RunRecord:
    """What is kept of one followed file."""

    path: str
    name: str
    root: str | None
    state: dict[str, Any]

    def small(self) -> RunRecord | None:
        """What is left once it ended long ago: its counts; None if nothing was counted."""
        if not self.state["tallies"]:
            return None
        # Its eras are counted from 1 again: what was told in one of them is told in none now.
        paged = {what: (at, -1, stands) for what, (at, _, stands) in self.state["paged"].items()}
        gone: dict[str, Any] = {"reader": None, "summary": None, "previous": [], "past": []}
        return RunRecord(self.path, self.name, self.root, self.state | gone | {"paged": paged})


class FindingRecord(NamedTuple):
    """A transition of a run, and when it happened (Unix seconds)."""

    run: str
    transition: Transition
    time_s: float


class OutboxRow(NamedTuple):
    """An unsent notice, and the digest it belongs to, if it does."""

    receiver: str
    notice: Notice
    digest: str | None


@dataclass(slots=True)
class Commit:
    """Everything one turn changed: stored in one transaction, or not at all."""

    runs: dict[str, RunRecord] = field(default_factory=dict)
    moved: list[tuple[str, str]] = field(default_factory=list)
    ended: dict[str, RunRecord] = field(default_factory=dict)
    findings: list[FindingRecord] = field(default_factory=list)
    notices: list[tuple[str, Notice]] = field(default_factory=list)
    digests: list[tuple[str, str, list[str]]] = field(default_factory=list)
    settled: list[tuple[str, list[str], str]] = field(default_factory=list)
    meta: dict[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(
            self.runs
            or self.moved
            or self.ended
            or self.findings
            or self.notices
            or self.digests
            or self.settled
            or self.meta
        )


@dataclass(slots=True)
class Restored:
    """
    What the store held at start.

    Attributes:
        fresh: Nothing: this is the first start.
        runs: To be taken up before anything is committed.
        ended: Runs whose files are gone, the newest: as they were.
    """

    fresh: bool
    runs: Iterable[RunRecord]
    outbox: list[OutboxRow]
    meta: dict[str, Any]
    ended: list[RunRecord] = field(default_factory=list)


# What is shown.


class Standing(NamedTuple):
    """
    A finding that stands now.

    Attributes:
        step, row, offset: Where it began to fire.
        since_s: When, Unix seconds.
        evidence: The numbers behind it. May hold NaN.
    """

    category: str
    severity: Severity
    message: str
    suggestion: str
    step: int | float
    row: int
    since_s: float | None
    offset: int = 0
    segment: int = 1
    evidence: Mapping[str, float] = {}


class Tally(NamedTuple):
    """How often a category went to firing in a run, and when last (Unix seconds)."""

    total: int
    last_s: float | None


NEWS_S = 6.25 * 3600
"""The alert rules that we ship look back so far: six hours, and the quarter of one behind them."""


class RunView(NamedTuple):
    """
    One run as it was at the last commit.

    Attributes:
        last_row_s: When its newest row was written, Unix seconds.
        read_at_s: When its file last gave us bytes, on the monotonic clock.
        run_config: The file that its configuration was read from.
        bad_lines: Lines that were no row.
        since_s: Since when it is in its state, Unix seconds: active, when rows began to
            come; else when the last one was written.
        trouble: Why its file cannot be read now, if it cannot.
        critical_s: When a critical finding of it last went to firing, Unix seconds.
    """

    name: str
    file: str
    state: str
    segment: int
    rows: int
    last_step: float | None
    loss: float | None
    last_row_s: float | None
    read_at_s: float
    lag_bytes: int
    tallies: Mapping[str, Tally]
    standing: Sequence[Standing]
    recent: Sequence[float]
    run_config: str | None = None
    first_step: float | None = None
    bad_lines: int = 0
    since_s: float | None = None
    trouble: str = ""
    critical_s: float | None = None

    def alarming(self, now_s: float) -> bool:
        """Whether a critical finding of it is news, of which an alert may still be made."""
        return self.critical_s is not None and now_s - self.critical_s < NEWS_S


class Skipped(NamedTuple):
    """A file that was looked at and is no run, and why."""

    file: str
    reason: str


class Snapshot(NamedTuple):
    """
    Everything that `/metrics` and the pages show. Never changed once published.

    Attributes:
        skipped: The first of the files that are no runs.
        skipped_total: How many those are in all.
    """

    ready: bool
    runs: Mapping[str, RunView]
    totals: Mapping[tuple[str, ...], float]
    gauges: Mapping[tuple[str, ...], float]
    outbox_oldest_s: float | None
    skipped: Sequence[Skipped] = ()
    skipped_total: int = 0


DROPPED = ("view", "record")
"""Of an ended run: shown for less than the retention, or its counts let go."""
RUN_STATES = ("active", "quiet", "ended")
WATCH_MODES = ("events", "sweep", "missing")


SIZE_UNKNOWN = 1 << 62
"""More than there will ever be: of saves, only reading tells how many bytes of lines they are."""


class FoundFile(NamedTuple):
    """
    A file that the scanner saw.

    Attributes:
        root: None for a file that was named itself.
        inode: Device and inode.
        changed: Differs from what it was if the file may have changed.
        links: How many names it has.
    """

    path: str
    root: str | None
    size: int
    mtime_s: float
    inode: tuple[int, int]
    changed: tuple[int, int, int]
    links: int = 1


class Unreadable(NamedTuple):
    """
    A file that cannot be read now.

    Attributes:
        gone: It is not there at all.
        unfinished: It seems to be being written: nothing to complain of yet.
    """

    reason: str
    gone: bool = False
    unfinished: bool = False


@dataclass(frozen=True, slots=True)
class ReceiverPolicy:
    """
    What one receiver wants to be told of.

    Attributes:
        categories: Empty: of all.
        runs: Names of the runs; None: all.
        resends: Whether it forgets what it is not told again every minute.
        mixes: Whether one message may tell of findings that fire and of others that resolved.
    """

    name: str
    severities: frozenset[str]
    send_resolved: bool = False
    categories: frozenset[str] = frozenset()
    runs: PathFilter | None = None
    resends: bool = False
    mixes: bool = True

    def wants(self, run: str, transition: Transition) -> bool:
        """Whether this receiver is told of *transition* in *run*, limits aside."""
        if transition.kind.value == "resolved" and not self.send_resolved:
            return False
        if transition.severity.value not in self.severities:
            return False
        if self.categories and transition.category not in self.categories:
            return False
        return self.runs is None or self.runs(run)
