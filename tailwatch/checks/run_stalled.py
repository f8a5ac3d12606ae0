"""run_stalled: an unfinished run writes nothing any more."""

from __future__ import annotations

from typing import ClassVar

from ..core.check_bases import SilenceCheck
from ..core.findings import Severity
from ..core.silence import Silence


class RunStalled(SilenceCheck):
    """
    What it finds:
        No row for 10 minutes and for 10 times the longest usual silence, of a run
        that is known to be unfinished: a process holds its file open for writing, or
        its step is below the planned steps.

    Why it matters:
        A collective that hangs, a file system that hangs, a process that died: the
        cards stand idle and are paid for, and the log looks as calm as a good one.

    What it does not find:
        The first silences of a run: 3 must be known. A run that ended: one that wrote
        a summary, or reached its planned steps. Silences around evaluations and saved
        models are measured apart.

    Example:
        >>> from tailwatch.core.silence import Silence
        >>> check = RunStalled()
        >>> silence = Silence(700.0, 12.0, 50, unfinished="a process holds its file open")
        >>> check.tick(silence).message
        'no row for 12 min; usually one comes within 12 s, and a process holds its file open'

    Source:
        Hangs of collectives in large runs: Llama 3, Dubey et al. 2024, section 3.3.4.
    """

    category: ClassVar[str] = "run_stalled"
    severity: ClassVar[Severity] = Severity.CRITICAL
    suggestion: ClassVar[str] = (
        "Look at the process: py-spy dump --pid PID shows where it waits, nvidia-smi whether the "
        "cards are busy, dmesg whether one fell off the bus. If it is gone, look at the end of "
        "its output, and start it again from the last saved model."
    )
    thresholds: ClassVar[dict[str, float]] = {"seconds_min": 600, "factor": 10, "gaps_min": 3}

    asks_for_writer: ClassVar[bool] = True

    def reason(self, silence: Silence) -> str:
        return "" if silence.finished else silence.unfinished
