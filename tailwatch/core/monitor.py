"""One run: its checks, their findings, and what changed."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Any

from ..errors import StateOutdated
from .check import Check, RunConfig, mark
from .check_bases import SilenceCheck
from .curve import Curve, Series
from .findings import (
    Evidence,
    Finding,
    FindingState,
    Lifecycle,
    Mark,
    Transition,
    TransitionKind,
)
from .plain import fields_of
from .rows import Row
from .segments import Course, SegmentTracker
from .silence import Silence
from .watched import Watched, inspect

RECENT_LOSSES = 30
SHAPES_MAX = 256


class RunMonitor:
    """
    Feed the rows of one run to its checks; give back the transitions.

    Knows nothing of files, time or other runs. A check that raises is taken
    out for this segment and named by `take_errors`; the others go on.
    """

    def __init__(
        self,
        checks: Sequence[type[Check]],
        config: RunConfig | None = None,
        *,
        whole_file: bool = False,
    ) -> None:
        self._types = tuple(checks)
        self.config = config or RunConfig()
        self._tracker = None if whole_file else SegmentTracker()
        self.segment = 1
        self._last: Row | Mark | None = None
        self.recent: deque[float] = deque(maxlen=RECENT_LOSSES)
        self.resumes = 0
        self.curve = Curve()
        self._errors: list[tuple[str, str]] = []
        self.watched: list[Watched] = []
        self._begin()

    @property
    def last(self) -> Mark | None:
        """The newest row."""
        return mark(self._last) if isinstance(self._last, Row) else self._last

    def _begin(self) -> None:
        self._errors = self.take_errors()
        self.watched = [Watched(check(), Lifecycle(check.hold)) for check in self._types]
        self._configure()
        self._arrange()

    def _arrange(self) -> None:
        # Looked up once for each shape of rows, not on every row: which checks read it, and
        # which series of the curve.
        self._readers: dict[tuple[Any, ...], tuple[list[Watched], list[Series]]] = {}

    def update(self, row: Row) -> list[Transition]:
        """Take in the next row of the run."""
        transitions: list[Transition] = []
        before = self._tracker.last_step if self._tracker else None
        course = self._tracker.update(row) if self._tracker else Course.SAME
        if course is Course.NEW_SEGMENT:
            self.curve.mark(row, "segment")
            transitions += self._new_segment(row)
        elif course is Course.RESUMED:
            self.curve.mark(row, "resume")
            row.resumed_from = before
            transitions += self._resumed(row)
        self._last = row
        loss = row.values.get("loss")
        if loss is not None and abs(loss) < float("inf"):
            self.recent.append(loss)
        shape = (*row.values, None, *row.nulls)
        readers = self._readers.get(shape)
        if readers is None:
            if len(self._readers) >= SHAPES_MAX:
                self._readers.clear()
            concerned = [w for w in self.watched if w.check.concerns(row)]
            for each in concerned:
                each.fed = each.fed or not each.quarantined
            readers = self._readers[shape] = concerned, self.curve.drawn(row)
        self.curve.update(row, readers[1])
        for each in readers[0]:
            try:
                evidence = each.update(row)
                # Nearly all rows of nearly all checks end here.
                if evidence is None and (each.life.calm or each.quarantined):
                    continue
                if evidence is not None and each.check.check_set == "user":
                    inspect(evidence)
                hovers = evidence is None and each.firing is not None and not each.check.clears()
            except MemoryError:  # Not the check's fault, and it would be taken out for good.
                raise
            except Exception as error:
                each.fail(error)
                continue
            self._advance(each, row, evidence, hovers, transitions)
        return transitions

    def _advance(
        self,
        each: Watched,
        row: Row,
        evidence: Evidence | None,
        hovers: bool,
        transitions: list[Transition],
    ) -> None:
        edge = each.life.advance(evidence is not None, hovers=hovers)
        if edge is not None:
            self._turn(each, edge, evidence, row.timestamp_s, transitions)
        each.pending = None if each.firing else evidence

    def _turn(
        self,
        each: Watched,
        edge: TransitionKind,
        evidence: Evidence | None,
        timestamp_s: float | None,
        transitions: list[Transition],
    ) -> None:
        assert self.last is not None or each.check.hold.rows == 0
        if evidence is None:
            assert each.firing is not None
            evidence = each.firing.evidence
        transition = Transition(
            category=each.check.category,
            severity=each.check.severity,
            kind=edge,
            segment=self.segment,
            mark=self.last or Mark(0, 0, 0),
            evidence=evidence,
            suggestion=each.check.suggestion,
            continues=each.life.continues,
            era=self.segment + self.resumes,
            recent=tuple(self.recent),
            timestamp_s=timestamp_s,
        )
        each.turn(transition)
        transitions.append(transition)

    def _new_segment(self, row: Row) -> list[Transition]:
        transitions = self._resolve([w for w in self.watched if w.firing], row)
        self.segment += 1
        self.recent.clear()
        self._begin()
        return transitions

    def _resumed(self, row: Row) -> list[Transition]:
        self.resumes += 1
        transitions = self._resolve([w for w in self.watched if w.check.latched], row)
        for each in self.watched:
            each.life.rearm()
        return transitions

    def _resolve(self, some: list[Watched], row: Row) -> list[Transition]:
        transitions: list[Transition] = []
        for each in some:
            if edge := each.life.resolve():
                self._turn(each, edge, None, row.timestamp_s, transitions)
        return transitions

    def source_restarted(self) -> None:
        """The file was truncated or replaced; the next row tells whether it is a new segment."""
        if self._tracker is not None:
            self._tracker.source_restarted()

    def configure(self, config: RunConfig) -> None:
        """Take in the run's configuration; what it changes shows at the next row or at rest."""
        self.config = config
        self._configure()

    def _configure(self) -> None:
        for each in self.watched:
            each.ask(partial(each.check.configure, self.config), None)

    def rest(self) -> list[Transition]:
        """The run ended or went quiet: the pending fires, and what is only said then."""
        transitions: list[Transition] = []
        said = {f.category: f.evidence for f in self.diagnose()}
        for each in self.watched:
            evidence = said.get(each.check.category)
            if each.check.check_set != "seed" and each.life.state is FindingState.PENDING:
                evidence = each.pending
            pending = each.life.state is FindingState.PENDING and each.check.told_at_rest
            pending = pending or each.life.hold.rows == 0
            # A configuration that came after the last row has not been looked at yet.
            late = each.life.hold.clear_rows is None
            if evidence and (pending or late) and (edge := each.life.rest(up=True)):
                self._turn(each, edge, evidence, None, transitions)
        return transitions

    def tick(self, silence: Silence) -> list[Transition]:
        """Ask the checks that judge silences; they clear with the next row."""
        transitions: list[Transition] = []
        for each in self.watched:
            if isinstance(each.check, SilenceCheck) and not each.firing:
                evidence = each.ask(partial(each.check.tick, silence), None)
                if evidence and (edge := each.life.advance(True)):
                    self._turn(each, edge, evidence, None, transitions)
        return transitions

    def take_errors(self) -> list[tuple[str, str]]:
        """The checks that raised since this was last asked: category, and kind of error."""
        errors = self._errors
        self._errors = []
        for each in self.watched:
            if each.error:
                errors.append((each.check.category, each.error))
                each.error = ""
        return errors

    def diagnose(self) -> list[Finding]:
        """What the rules say of all rows of this segment, in the order of the checks."""
        found: list[tuple[type[Check], Finding]] = []
        for each in self.watched:
            evidence = each.ask(each.check.diagnose, None)
            # What is made for rows in motion says what it fires; seed rules judge all rows.
            if (
                evidence is None
                and each.firing
                and (each.check.check_set != "seed" or each.quarantined)
            ):
                evidence = each.firing.evidence
            if evidence is not None:
                check = each.check
                finding = Finding(check.category, check.severity, check.suggestion, evidence)
                found.append((type(check), finding))
        spoken = {check.check_set for check, _ in found if not check.alone}
        return [f for check, f in found if not (check.alone and check.check_set in spoken)]

    def firing(self) -> list[Transition]:
        """The findings that stand now, each as it began."""
        return [w.firing for w in self.watched if w.firing]

    def to_state(self) -> dict[str, Any]:
        """What to keep across a restart."""
        return {
            "config": fields_of(self.config),
            "segment": self.segment,
            "last": self.last,
            "recent": list(self.recent),
            "resumes": self.resumes,
            "curve": self.curve.to_state(),
            "tracker": self._tracker.to_state() if self._tracker else None,
            "checks": {w.check.category: w.to_state() for w in self.watched},
        }

    @classmethod
    def from_state(
        cls, checks: Sequence[type[Check]], config: RunConfig | None, state: dict[str, Any]
    ) -> RunMonitor:
        """
        The monitor that `to_state` was called on.

        Raises:
            StateOutdated: The state is of other checks or of another version of
                one: the caller reads the run again from its first byte.
        """
        # Kept, since a segment that begins before the file is looked at again needs it.
        kept = config or RunConfig(**state["config"])
        monitor = cls(checks, kept, whole_file=state["tracker"] is None)
        if state["tracker"] is not None:
            monitor._tracker = SegmentTracker(**state["tracker"])
        monitor.segment = state["segment"]
        monitor._last = Mark(*state["last"]) if state["last"] else None
        monitor.recent.extend(state["recent"])
        monitor.resumes = state["resumes"]
        rows = monitor.last.row if monitor.last else 0
        monitor.curve = Curve.from_state(state.get("curve"), rows)
        saved = state["checks"]
        if set(saved) != {check.category for check in checks}:
            raise StateOutdated("the set of checks has changed")
        monitor.watched = [Watched.from_state(check, saved[check.category]) for check in checks]
        if config is not None:
            monitor.configure(config)
        monitor._arrange()
        return monitor
