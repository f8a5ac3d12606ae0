"""What it takes to begin: commands that do next to nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.bench.measure_daemon import Say, command_cpu_s, healthy
from tests.e2e.daemon import command, environment, write

TIMES = 10


def start(say: Say) -> None:
    """CPU of `tailwatch --version`, and of `check` on a file of 100 rows."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "m.jsonl"
        write(path, healthy(0, 100))
        for _ in range(TIMES):
            version_s = command_cpu_s(command("--version"), env=environment())
            say("start: --version, CPU", "under 0.15 s", version_s, "s")
            check_s = command_cpu_s(command("check", str(path)), env=environment())
            say("start: check of 100 rows, CPU", "under 0.3 s", check_s, "s")
