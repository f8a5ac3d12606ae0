"""The whole of `tailwatch bench`: a directory in, a score out."""

from __future__ import annotations

from collections.abc import Sequence

from ..config import Settings
from ..shell.progress import progress
from ..targets import Target, Trouble, targets
from .logs import Log, read_logs
from .measure import measure, new_score
from .score import Score

PROGRESS_BYTES_MIN = 256 * 1024
"""Each byte is read some 20 times over: less is done at once."""


def bench_all(
    paths: Sequence[str], settings: Settings, seed: int, *, rivals: bool
) -> tuple[Score, list[Trouble]]:
    """Measure on every log that *paths* mean; what could not be read comes back by name."""
    found = list(targets(paths, settings))
    troubles = [one for one in found if isinstance(one, Trouble)]
    logs = [one for one in found if isinstance(one, Target)]
    score = new_score(settings.checks, seed, rivals=rivals)
    with progress(sum(log.size for log in logs), PROGRESS_BYTES_MIN) as bar:
        for log in read_logs(logs, settings, bar.advance):
            if isinstance(log, Log):
                measure(log, score)
            else:
                troubles.append(log)
    return score, troubles
