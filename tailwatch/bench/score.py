"""Counts: findings in logs as they are, and faults that were found."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..core.check import Check
from ..core.check_bases import SilenceCheck
from ..core.findings import Severity, Transition
from .rivals import Rival

OURS = "tailwatch"


@dataclass(slots=True)
class Tally:
    """
    What a check, or the rules of a rival, said of logs as they are.

    Attributes:
        findings: Times it fired; soon after it resolved does not count again.
        touched: The runs in which it did.
        runs: Runs that have its fields; for one that judges silences, times of their own.
        rows: Rows that have them; for one that judges silences, the silences.
    """

    findings: int = 0
    touched: set[str] = field(default_factory=set)
    runs: int = 0
    rows: int = 0

    @property
    def per_1000_rows(self) -> float:
        """Findings for each 1,000 of its rows."""
        return 1000 * self.findings / self.rows if self.rows else 0.0


@dataclass(slots=True)
class Found:
    """
    How many of the faults of one kind were found, by whom, and after how many rows.

    Attributes:
        rows: The faulty rows up to the finding, the first being 1, of each fault found.
        by: The category that was first -> how often.
    """

    rows: list[float] = field(default_factory=list)
    by: Counter[str] = field(default_factory=Counter)

    @property
    def median_rows(self) -> float | None:
        """The median of the rows; None if nothing was found."""
        return statistics.median(self.rows) if self.rows else None


@dataclass(slots=True)
class FaultScore:
    """
    Faults of one kind.

    Attributes:
        within_rows: How many faulty rows there were to be found in; None without a limit.
        tried: How many faults.
        runs: In which runs.
        rules: Ours and each rival's name -> what was found.
    """

    within_rows: int | None
    tried: int = 0
    runs: set[str] = field(default_factory=set)
    rules: dict[str, Found] = field(default_factory=dict)

    def share(self, rule: str) -> float:
        """The share that *rule* found, 0 to 1."""
        return len(self.rules[rule].rows) / self.tried if self.tried else 0.0


class Rule(NamedTuple):
    """A name for people, and its checks."""

    name: str
    checks: tuple[type[Check], ...]


class Score:
    """
    All counts of one measurement.

    Attributes:
        checks: Category -> what it said of the logs as they are.
        severities: Category -> severity.
        rivals: The same for each rival.
        faults: Kind of fault -> how it was found.
        failed: Category -> runs in which the check raised.
    """

    def __init__(
        self,
        seed: int,
        checks: Sequence[type[Check]],
        rivals: Sequence[Rival],
        faults: Iterable[tuple[str, int | None]],
    ) -> None:
        self.seed = seed
        self.runs = self.rows = 0
        self.severities = {check.category: check.severity for check in checks}
        self.checks = {check.category: Tally() for check in checks}
        self.rivals = {rival.name: Tally() for rival in rivals}
        self.failed: Counter[str] = Counter()
        self._ours, self._rivals = tuple(checks), tuple(rivals)
        names = [OURS, *self.rivals]
        self.faults = {
            name: FaultScore(within, rules={rule: Found() for rule in names})
            for name, within in faults
        }

    @property
    def rules(self) -> list[Rule]:
        """Ours, and each rival's."""
        return [Rule(OURS, self._ours), *(Rule(r.name, r.checks) for r in self._rivals)]

    def add_clean(
        self, run: str, rows: int, seen: Counter[type[Check]], firings: Iterable[Transition]
    ) -> None:
        """
        A log was replayed as it is.

        Args:
            seen: The rows, or silences, that each check was asked about.
        """
        self.runs += 1
        self.rows += rows
        told = Counter(each.category for each in firings if not each.continues)
        for check in self._ours:
            _add(self.checks[check.category], run, seen[check], told[check.category])
        for rival in self._rivals:
            most = max(seen[check] for check in rival.checks)
            findings = sum(told[check.category] for check in rival.checks)
            _add(self.rivals[rival.name], run, most, findings)

    def add_fault(self, run: str, name: str, found: dict[str, tuple[str, float]]) -> None:
        """
        A fault was tried.

        Args:
            found: Each rule that found it -> the category that was first, and after how
                many rows.
        """
        fault = self.faults[name]
        fault.tried += 1
        fault.runs.add(run)
        for rule, (category, rows) in found.items():
            fault.rules[rule].rows.append(rows)
            fault.rules[rule].by[category] += 1

    def of_severity(self, severity: Severity) -> Tally:
        """All findings of one severity; its rows are all rows."""
        total = Tally(runs=self.runs, rows=self.rows)
        for category, tally in self.checks.items():
            if self.severities[category] is severity:
                total.findings += tally.findings
                total.touched |= tally.touched
        return total


def _add(tally: Tally, run: str, seen: int, findings: int) -> None:
    tally.runs += seen > 0
    tally.rows += seen
    tally.findings += findings
    if findings:
        tally.touched.add(run)


def judges_silences(check: type[Check]) -> bool:
    """Whether it is asked between rows, and not about them."""
    return issubclass(check, SilenceCheck)
