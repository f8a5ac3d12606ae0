"""A check at work in one run: its lifecycle, and what it said."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

from ..errors import StateOutdated
from .check import Check
from .findings import Evidence, Lifecycle, Mark, Transition, TransitionKind


@dataclass(slots=True)
class Watched:
    """
    A check of one run, its lifecycle, and what its firing finding said.

    Attributes:
        pending: What it said on the last row, while that is not yet firing.
    """

    check: Check
    life: Lifecycle
    firing: Transition | None = None
    quarantined: bool = False
    pending: Evidence | None = None

    def to_state(self) -> list[Any]:
        """What to keep across a restart, for `from_state`: values without their names."""
        firing, pending = self.firing, self.pending
        return [
            _version(type(self.check)),
            list(self.check.to_state().values()),
            self.life.to_state(),
            self.quarantined,
            pending and [pending.message, pending.values, pending.mark],
            firing
            and [
                firing.segment,
                firing.mark,
                [firing.evidence.message, firing.evidence.values, firing.evidence.mark],
                firing.continues,
                firing.timestamp_s,
            ],
        ]

    @classmethod
    def from_state(cls, check: type[Check], saved: Any) -> Watched:
        """
        What `to_state` was called on.

        Raises:
            StateOutdated: The state is of another version of the check.
        """
        if not isinstance(saved, list) or saved[0] != _version(check):
            raise StateOutdated(f"{check.category}: its rule has changed")
        _, values, life, quarantined, pending, firing = saved
        if firing is not None:
            segment, mark, evidence, continues, timestamp_s = firing
            firing = Transition(
                category=check.category,
                severity=check.severity,
                kind=TransitionKind.FIRING,
                segment=segment,
                mark=Mark(*mark),
                evidence=_evidence(evidence),
                suggestion=check.suggestion,
                continues=continues,
                timestamp_s=timestamp_s,
            )
        return cls(
            check.from_state(dict(zip(check().to_state(), values, strict=True))),
            Lifecycle.from_state(check.hold, life),
            firing,
            quarantined,
            pending and _evidence(pending),
        )


_VERSIONS: dict[tuple[Any, ...], int] = {}


def _version(check: type[Check]) -> int:
    """Tells states apart that mean something else: by the rule, its thresholds, its names."""
    limits = check.thresholds
    key = (check, check.state_version, check.hold, *limits, *limits.values())
    if key not in _VERSIONS:
        rule = (check.state_version, sorted(limits.items()), check.hold, list(check().to_state()))
        _VERSIONS[key] = zlib.crc32(repr(rule).encode())
    return _VERSIONS[key]


def _evidence(saved: list[Any]) -> Evidence:
    message, values, mark = saved
    return Evidence(message, values, mark and Mark(*mark))
