"""What checks of one kind have in common."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

from .check import Check, Gauge, RunConfig, Waiting, mark
from .findings import STANDS, Evidence, Hold, Mark
from .numbers import jsonable, number, shown, spoken
from .rows import Row
from .silence import Silence
from .stats import Ewma


class ConfiguredRateCheck(Check):
    """
    Base of the checks that judge the learning rate of the run's configuration.

    Attributes:
        above: Whether it is a rate above the limit that is wrong.
    """

    above: ClassVar[bool] = True
    hold: ClassVar[Hold] = Hold(rows=1, clear_rows=None)

    def __init__(self) -> None:
        self.since: Mark | None = None
        self.learning_rate: float | None = None

    def judge(self, rate: float) -> str | None:
        """What is wrong with *rate*, in words; None if nothing is."""
        raise NotImplementedError

    def configure(self, config: RunConfig) -> None:
        """Take in the configured rate."""
        self.learning_rate = config.learning_rate

    def update(self, row: Row) -> Evidence | None:
        """The first row is what it speaks at; no later one changes anything."""
        if self.since is None:
            self.since = mark(row)
        return self.diagnose()

    def diagnose(self) -> Evidence | None:
        """What is wrong; with no row there is nothing to say of a run but that."""
        rate = self.learning_rate
        if self.since is None or rate is None or (wrong := self.judge(rate)) is None:
            return None
        values = {"learning_rate": rate, "threshold": self.thresholds["limit"]}
        return Evidence(
            f"the configured learning rate {shown(rate)} is {wrong}", values, self.since
        )

    def waiting(self) -> Waiting | None:
        """It needs a rate, and a row to speak at."""
        if self.learning_rate is None:
            return Waiting(reason="no configuration names a learning rate")
        return None if self.since else Waiting(rows=0, rows_min=1)

    def gauge(self) -> Gauge | None:
        """The rate and its limit."""
        rate, limit = self.learning_rate, self.thresholds["limit"]
        if rate is None:
            return None
        return Gauge("configured learning rate", rate, limit, self.above)

    def to_state(self) -> dict[str, Any]:
        """The first row and the rate, which may be Infinity: as text, for plain JSON."""
        return self.__dict__ | {"learning_rate": jsonable(self.learning_rate)}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The check that `to_state` was called on."""
        return super().from_state(state | {"learning_rate": number(state["learning_rate"])})


class FirstAgainstLastCheck(Check):
    """Base of the checks that compare the newest finite loss with the first one."""

    reads: ClassVar[tuple[str, ...]] = ("loss",)

    def __init__(self) -> None:
        self.rows = 0
        self.first: float | None = None
        self.last = 0.0
        self.last_step: int | float = 0
        self.since: Mark | None = None
        self.wanders = False

    def holds(self) -> bool:
        """Whether the rule holds for the losses so far."""
        raise NotImplementedError

    def up(self, row: Row) -> bool:
        """Take in the loss; one that is not finite leaves the level as it is."""
        loss = row.values["loss"]
        if math.isfinite(loss):
            self.rows += 1
            if self.first is None:
                self.first = loss
            self.last, self.last_step = loss, row.step
            if not self.holds():
                self.since = None
            elif self.since is None:
                self.since = mark(row)
        # Against a first loss, a loss that is no measure of progress means nothing.
        self.wanders = row.loss_wanders
        return self.since is not None and not self.wanders

    def update(self, row: Row) -> Evidence | None:
        """Take in the loss; what it says is what the rule says."""
        return self.diagnose() if self.up(row) else None

    def still_up(self, row: Row) -> Evidence | None:
        """The same without words."""
        return STANDS if self.up(row) else None

    def waiting(self) -> Waiting | None:
        """It compares with a first loss above 0, where a loss measures progress."""
        if self.wanders:
            return Waiting(reason="its loss is no measure of progress: only `check` compares it")
        if self.first is not None and self.first <= 0:
            return Waiting(reason="the first loss is not above 0")
        return super().waiting()


class SpikeCheck(Check):
    """
    Base of the checks that hold a value against its own running mean.

    Attributes:
        what: The value, for people.
        positive_only: Off in a segment whose value was ever zero or below, and in
            reinforcement and adversarial learning: there a ratio says nothing.
    """

    what: ClassVar[str]
    positive_only: ClassVar[bool] = False

    def __init__(self) -> None:
        self.base = Ewma(self.thresholds["alpha"])
        self.off = False
        self.value = 0.0
        self.since: Mark | None = None

    def read(self, row: Row) -> float:
        """The value of a row."""
        return row.values[self.reads[0]]

    def update(self, row: Row) -> Evidence | None:
        """Take in the value; while it is up, the mean stands still."""
        value = self.read(row)
        if not math.isfinite(value):
            return None
        self.off = self.off or (self.positive_only and (value <= 0 or row.loss_wanders))
        if self.off:
            return None
        self.value, limits, usual = value, self.thresholds, self.base.mean
        ready = self.base.n >= limits["warm_up_rows"] and usual > 0
        if not (ready and value >= limits["factor"] * usual and value >= limits["value_min"]):
            self.base.update(value)
            self.since = None
            return None
        if self.since is None:
            self.since = mark(row)
        return Evidence(
            f"{self.what} {shown(value)} at step {shown(row.step)} is {shown(value / usual)} "
            f"times its usual {shown(usual)}, since step {shown(self.since.step)}",
            {
                self.what.replace(" ", "_"): value,
                "baseline": usual,
                "threshold": limits["factor"] * usual,
            },
            self.since,
        )

    def gauge(self) -> Gauge | None:
        """The value, and the factor above its mean that is too much."""
        if self.waiting():
            return None
        return Gauge(self.what, self.value, self.thresholds["factor"] * self.base.mean)

    def clears(self) -> bool:
        """Whether the value is well below the limit again, or no longer judged."""
        return self.off or self.value < self.thresholds["clear_factor"] * self.base.mean


class SilenceCheck(Check):
    """
    Base of the checks that judge how long a run has written nothing; `tick` asks them.

    Attributes:
        asks_for_writer: Whether it matters to it who holds the file open.
    """

    asks_for_writer: ClassVar[bool] = False

    check_set: ClassVar[str] = "extended"
    hold: ClassVar[Hold] = Hold(rows=1, clear_rows=1)

    def reason(self, silence: Silence) -> str:
        """Why this silence concerns the check; empty if it does not."""
        raise NotImplementedError

    def limit_s(self, usual_s: float) -> float:
        """How long a silence must be, where the longest usual one is *usual_s*."""
        return max(self.thresholds["seconds_min"], self.thresholds["factor"] * usual_s)

    def update(self, row: Row) -> Evidence | None:
        """A row ends every silence."""
        return None

    def tick(self, silence: Silence) -> Evidence | None:
        """The level now, between two rows."""
        limit_s, reason = self.limit_s(silence.usual_s), self.reason(silence)
        few = silence.gaps < self.thresholds["gaps_min"]
        if few or not reason or silence.silence_s <= limit_s:
            return None
        return Evidence(
            f"no row for {spoken(silence.silence_s)}; usually one comes within "
            f"{spoken(silence.usual_s)}, and {reason}",
            {"silence_s": silence.silence_s, "usual_s": silence.usual_s, "threshold": limit_s},
            None,
        )
