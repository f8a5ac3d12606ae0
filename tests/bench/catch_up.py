"""A daemon that finds much to read, against `check` of the same files, both as processes."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.bench.measure_daemon import Say, command_cpu_s, cpu_s, healthy, wait_for_count
from tests.e2e.daemon import command, daemon, environment, write

ROWS = 200_000


def catch_up(say: Say) -> None:
    """Rows a CPU second until all are read and kept; what the start alone costs is taken off."""
    daemon_start_s, check_start_s = _costs(1, 1)
    for files in (1, 20):
        daemon_s, check_s = _costs(files, ROWS // files)
        caught_up, checked = ROWS / (daemon_s - daemon_start_s), ROWS / (check_s - check_start_s)
        what = f"{ROWS:,} rows in {files} file" + "s" * (files > 1)
        say(f"catch-up of run, {what}", "", caught_up, "rows/s")
        say(f"check, {what}", "", checked, "rows/s")
        say(f"catch-up of run, of check, {what}", "at least 0.7", caught_up / checked, "x")


def _costs(files: int, rows: int) -> tuple[float, float]:
    """CPU seconds of a daemon until it has read such files, and of `check`."""
    with tempfile.TemporaryDirectory() as directory:
        runs = Path(directory) / "runs"
        for number in range(files):
            write(runs / f"run{number}" / "metrics.jsonl", healthy(0, rows))
        check = command("check", "--fail-on", "never", "--format", "json", str(runs))
        check_s = command_cpu_s(check, env=environment())
        with daemon(Path(directory)) as tw:
            # Shown is kept: /metrics has nothing that is not on disk.
            wait_for_count(tw, files * rows)
            return cpu_s(tw), check_s
