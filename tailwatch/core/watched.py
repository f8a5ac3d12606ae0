"""A check of one run: its life, what it last said, and whether it can speak."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ..errors import StateOutdated
from .check import Check
from .findings import Evidence, Lifecycle, Mark, Transition, TransitionKind

_WORDS = {
    "loss": ("a loss", "losses"),
    "eval_loss": ("an evaluation loss", "evaluation losses"),
    "grad_norm": ("a gradient norm", "gradient norms"),
    "entropy": ("an entropy", "entropies"),
    "elapsed_s": ("an elapsed time", "elapsed times"),
    "step_time_s": ("a step time", "step times"),
    "kl": ("a KL", "KLs"),
}


class Readiness(NamedTuple):
    """
    Whether a check can speak of the next row.

    Attributes:
        state: "armed", "warming_up" or "off".
        reason: In words, if it is not armed.
        rows: How many rows it has had of those that it warms up for.
        rows_min: How many those are; 0 unless it is warming up.
    """

    category: str
    state: str
    reason: str = ""
    rows: int = 0
    rows_min: int = 0


@dataclass(slots=True)
class Watched:
    """
    A check of one run, its lifecycle, and what its firing finding said.

    Attributes:
        quarantined: It raised, and is out for this segment.
        fed: A row of this segment had all that it reads.
    """

    check: Check
    life: Lifecycle
    firing: Transition | None = None
    quarantined: bool = False
    fed: bool = False

    def readiness(self) -> Readiness:
        """Whether it can speak of the next row, and if not, why."""
        check = self.check
        if self.quarantined:
            return Readiness(check.category, "off", "it failed, and was taken out of this segment")
        if check.reads and not self.fed:
            wanted = " and ".join(in_words(name)[0] for name in check.reads)
            return Readiness(check.category, "off", f"no row has {wanted}")
        waiting = check.waiting()
        if waiting is None:
            return Readiness(check.category, "armed")
        if not waiting.rows_min:
            return Readiness(check.category, "off", waiting.reason)
        noun = in_words(check.reads[0])[1] if check.reads else "rows"
        return Readiness(
            check.category,
            "warming_up",
            f"{waiting.rows} of {waiting.rows_min} {noun}",
            waiting.rows,
            waiting.rows_min,
        )

    def to_state(self) -> dict[str, Any]:
        """What to keep across a restart."""
        firing = self.firing
        return {
            "state_version": self.check.state_version,
            "thresholds": dict(self.check.thresholds),
            "state": self.check.to_state(),
            "life": self.life.to_state(),
            "quarantined": self.quarantined,
            "fed": self.fed,
            "firing": firing
            and {
                "segment": firing.segment,
                "mark": firing.mark,
                "message": firing.evidence.message,
                "values": firing.evidence.values,
                "at": firing.evidence.mark,
                "continues": firing.continues,
                "timestamp_s": firing.timestamp_s,
            },
        }

    @classmethod
    def from_state(cls, check: type[Check], saved: dict[str, Any]) -> Watched:
        """
        The one that `to_state` was called on.

        Raises:
            StateOutdated: The state is of another version of the check.
        """
        for name in ("state_version", "thresholds"):
            ours: Any = getattr(check, name)
            if saved[name] != ours:
                raise StateOutdated(f"{check.category}: {name} is {saved[name]!r}, not {ours!r}")
        return cls(
            check.from_state(saved["state"]),
            Lifecycle.from_state(check.hold, saved["life"]),
            _firing(check, saved["firing"]) if saved["firing"] is not None else None,
            saved["quarantined"],
            saved.get("fed", True),  # Kept since later than the rest.
        )


def _firing(check: type[Check], saved: dict[str, Any]) -> Transition:
    at = saved["at"]
    return Transition(
        category=check.category,
        severity=check.severity,
        kind=TransitionKind.FIRING,
        segment=saved["segment"],
        mark=Mark(*saved["mark"]),
        evidence=Evidence(saved["message"], saved["values"], Mark(*at) if at else None),
        suggestion=check.suggestion,
        continues=saved["continues"],
        timestamp_s=saved["timestamp_s"],
    )


def in_words(field: str) -> tuple[str, str]:
    """
    One of a canonical field, and several.

    >>> in_words("loss"), in_words("learning_rate")
    (('a loss', 'losses'), ('a learning rate', 'learning rates'))
    """
    words = field.replace("_", " ")
    return _WORDS.get(field, (f"a {words}", f"{words}s"))
