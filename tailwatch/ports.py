"""What the engine needs of the world, as protocols, and the messages that pass between."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from .core.check import RunConfig
from .core.cursor import Cursor, FileSeen
from .core.findings import Severity, Transition
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
    findings: list[FindingRecord] = field(default_factory=list)
    notices: list[tuple[str, Notice]] = field(default_factory=list)
    digests: list[tuple[str, str, list[str]]] = field(default_factory=list)
    settled: list[tuple[str, list[str], str]] = field(default_factory=list)
    meta: dict[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(
            self.runs or self.findings or self.notices or self.digests or self.settled or self.meta
        )


@dataclass(slots=True)
class Restored:
    """What the store held at start. *fresh*: nothing, this is the first start."""

    fresh: bool
    runs: list[RunRecord]
    outbox: list[OutboxRow]
    meta: dict[str, Any]


# What is shown.


class Standing(NamedTuple):
    """A finding that stands now."""

    category: str
    severity: Severity
    message: str
    suggestion: str
    step: int | float
    row: int
    since_s: float | None


class Tally(NamedTuple):
    """How often a category went to firing in a run, and when last (Unix seconds)."""

    total: int
    last_s: float | None


class RunView(NamedTuple):
    """One run as it was at the last commit."""

    name: str
    file: str
    state: str
    segment: int
    rows: int
    last_step: float | None
    loss: float | None
    last_row_s: float | None
    last_seen_s: float
    lag_bytes: int
    tallies: Mapping[str, Tally]
    standing: Sequence[Standing]
    recent: Sequence[float]


class Snapshot(NamedTuple):
    """Everything that `/metrics` and the pages show. Never changed once published."""

    ready: bool
    runs: Mapping[str, RunView]
    totals: Mapping[tuple[str, ...], float]
    gauges: Mapping[tuple[str, ...], float]
    outbox_oldest_s: float | None


RUN_STATES = ("active", "quiet", "ended")
WATCH_MODES = ("events", "sweep", "missing")


# The world.


class Clock(Protocol):
    """Wall and monotonic time, in seconds."""

    def wall(self) -> float:
        """Unix seconds."""

    def monotonic(self) -> float:
        """Seconds that never jump."""


class Log(Protocol):
    """Structured log lines: an event's name and its facts."""

    def debug(self, event: str, **facts: Any) -> Any:
        """For those who look for a fault."""

    def info(self, event: str, **facts: Any) -> Any:
        """A change of state."""

    def warning(self, event: str, **facts: Any) -> Any:
        """Something is wrong, and we go on."""

    def error(self, event: str, **facts: Any) -> Any:
        """Something is lost, or will be."""


class FoundFile(NamedTuple):
    """A file that the scanner saw. *root* is None for a file that was named itself."""

    path: str
    root: str | None
    size: int
    mtime_s: float
    changed: tuple[int, int, int]


class Unreadable(NamedTuple):
    """A file that cannot be read now. *gone*: it is not there at all."""

    reason: str
    gone: bool = False


class OpenFile(Protocol):
    """A file held open, so that what was seen of it and what is read belong together."""

    seen: FileSeen

    def read(self, offset: int, size: int) -> bytes:
        """At most *size* bytes at *offset*. May be short."""

    def close(self) -> None:
        """Let go of it."""


class Follower(Protocol):
    """Files, as the engine sees them."""

    def open(self, path: str, cursor: Cursor) -> OpenFile | Unreadable:
        """Open *path* and compare it with what was read of it."""

    def run_config(self, path: str) -> RunConfig | None:
        """The configuration beside the metric file *path*, if there is a readable one."""


class Scanner(Protocol):
    """Directories, as the engine sees them."""

    def roots(self) -> list[str]:
        """The paths to watch, as absolute paths."""

    def sweep(self) -> Iterable[FoundFile]:
        """Every file that matches, under every root."""

    def find(self, path: str) -> Iterable[FoundFile]:
        """The matching files at or below *path*, which is a hint from the watcher."""

    def missing(self) -> set[str]:
        """Roots that could not be read at the last sweep."""


class Watcher(Protocol):
    """The source of hints."""

    def tend(self, missing: set[str]) -> Mapping[str, str]:
        """Keep watching what can be watched; return root -> one of `WATCH_MODES`."""

    def overflows(self) -> int:
        """How often hints were lost since the start."""


class Inbox(Protocol):
    """Where hints and messages wait for the engine."""

    def take(self, timeout_s: float) -> Incoming:
        """Wait for at most *timeout_s*; return what came in."""


class Store(Protocol):
    """The state on disk."""

    def load(self) -> Restored:
        """All of it."""

    def commit(self, commit: Commit) -> None:
        """Keep all of *commit* or, with StateWriteError, nothing of it."""


class Publisher(Protocol):
    """Where the newest snapshot is left for those who read it."""

    def publish(self, snapshot: Snapshot) -> None:
        """Replace the snapshot."""

    def beat(self, monotonic_s: float) -> None:
        """The engine turns."""


class Courier(Protocol):
    """Sends to one receiver; answers with `Settled`."""

    def post(self, key: str, notices: Sequence[Notice]) -> None:
        """Begin one attempt; returns at once."""


@dataclass(frozen=True, slots=True)
class ReceiverPolicy:
    """What one receiver wants to be told of."""

    name: str
    severities: frozenset[str]
    send_resolved: bool = False

    def wants(self, transition: Transition) -> bool:
        """Whether this receiver is told of *transition*, limits aside."""
        if transition.kind.value == "resolved" and not self.send_resolved:
            return False
        return transition.severity.value in self.severities
