"""run_quiet: a run writes nothing any more, and nobody knows whether it has ended."""

from __future__ import annotations

from typing import ClassVar

from ..core.check_bases import SilenceCheck
from ..core.findings import Severity
from ..core.silence import Silence


class RunQuiet(SilenceCheck):
    """
    What it finds:
        No row for 2 minutes and for 5 times the longest usual silence, of a run of
        which it is not known whether it has ended.

    Why it matters:
        It is the first sign of a hang, and the usual end of a run that says nothing
        when it ends. A fact, and no alarm.

    What it does not find:
        A run that said that it has ended. The first silences of a run: 3 must be known.

    Example:
        >>> from tailwatch.core.silence import Silence
        >>> check = RunQuiet()
        >>> check.tick(Silence(150.0, 12.0, 50)).message
        'no row for 150 s; usually one comes within 12 s, and whether it has ended is not known'

    Source:
        Follows run_stalled, with half of its patience.
    """

    category: ClassVar[str] = "run_quiet"
    severity: ClassVar[Severity] = Severity.INFO
    suggestion: ClassVar[str] = (
        "Nothing to do if the run has ended. If it should be running, look at its process and its "
        "output. A trainer that logs its planned steps lets this be told apart."
    )
    thresholds: ClassVar[dict[str, float]] = {"seconds_min": 120, "factor": 5, "gaps_min": 3}

    def reason(self, silence: Silence) -> str:
        known = silence.finished or silence.unfinished
        return "" if known else "whether it has ended is not known"
