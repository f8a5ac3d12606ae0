"""How long a run has been silent, and how long its silences usually are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

DECAY = 0.98
GAPS_MIN = 3


@dataclass(frozen=True, slots=True)
class Silence:
    """
    What is known of a run that writes nothing.

    Attributes:
        silence_s: Since the last bytes came.
        usual_s: The longest usual silence.
        gaps: How many silences that is drawn from.
        finished: Why the run is known to be over; empty if it is not.
        unfinished: Why it is known not to be; empty if it is not.
    """

    silence_s: float
    usual_s: float
    gaps: int
    finished: str = ""
    unfinished: str = ""


@dataclass(slots=True)
class Arrivals:
    """
    The silences between what arrives, by what stands around them.

    One arrival is all that came in one read: a writer that delivers blocks of rows
    is silent between the blocks. The longest silence of each class fades by 2% with
    each arrival of that class, so an evaluation that takes an hour is remembered
    until the next one, however many rows come between.

    >>> arrivals = Arrivals()
    >>> for gap_s in (10.0, 11.0, 9.0):
    ...     arrivals.add(gap_s, "train")
    >>> arrivals.add(1800.0, "eval")
    >>> round(arrivals.usual_s), arrivals.gaps
    (1800, 4)

    Attributes:
        longest_s: Class ("train", "eval", "save") -> its longest silence, faded.
        gaps: How many silences there were.
    """

    longest_s: dict[str, float] = field(default_factory=dict)
    gaps: int = 0

    def add(self, gap_s: float, kind: str) -> None:
        """A silence of the class *kind* has ended."""
        self.gaps += 1
        self.longest_s[kind] = max(gap_s, DECAY * self.longest_s.get(kind, 0.0))

    @property
    def usual_s(self) -> float:
        """The longest silence that may be expected next, whatever comes."""
        return max(self.longest_s.values(), default=0.0)

    def to_state(self) -> dict[str, Any]:
        """A small dict, for `Arrivals(**state)`."""
        return {"longest_s": dict(self.longest_s), "gaps": self.gaps}
