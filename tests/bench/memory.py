"""
The daemon in a memory cgroup: with much to read under the unit's limit, and killed by a tight one.

Needs root and a writable cgroup of its own, version 1 or 2. First a backlog of 1 GB, a line of
10 GiB, and 1,000 runs, under the limit that the unit file states: prints the peak
of what cannot be given back, and how often the limit was met. Then a limit that the kernel
enforces with SIGKILL: prints rows and findings of the lives before and after.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.e2e.daemon import Daemon, command, daemon, receiver, row, wait_for, write
from tests.e2e.trouble import counted, rows

UNIT = Path(__file__).parents[2] / "systemd" / "tailwatch.service"
MIB = 2**20


def unit_limit() -> int:
    """`MemoryMax` of the unit file, bytes."""
    found = re.search(r"^MemoryMax=(\d+)M$", UNIT.read_text(), re.M)
    assert found is not None
    return int(found[1]) * MIB


class Group:
    """A memory cgroup below our own."""

    def __init__(self) -> None:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        below = {controllers: path for _, controllers, path in (x.split(":", 2) for x in lines)}
        self.v1 = "memory" in below
        base = Path("/sys/fs/cgroup") / ("memory" if self.v1 else ".")
        own = below["memory" if self.v1 else ""].lstrip("/")
        self.path = base / own / f"tailwatch-bench-{os.getpid()}"

    def limit(self, size: int) -> None:
        name = "memory.limit_in_bytes" if self.v1 else "memory.max"
        (self.path / name).write_text(str(size))

    def figure(self, name: str) -> int:
        """One line of memory.stat or of the kernel's counts of kills."""
        events = "memory.oom_control" if self.v1 else "memory.events"
        text = (self.path / "memory.stat").read_text() + (self.path / events).read_text()
        return next(int(x.split()[1]) for x in text.splitlines() if x.split()[0] == name)

    def not_cache(self) -> int:
        return self.figure("rss" if self.v1 else "anon")

    def __enter__(self) -> Group:
        self.path.mkdir()
        return self

    def __exit__(self, *_: object) -> None:
        for _ in range(100):
            with contextlib.suppress(OSError):
                return self.path.rmdir()
            time.sleep(0.1)  # The kernel lets go of its processes in its own time.

    def command(self) -> list[str]:
        """The daemon, which enters the group before it begins."""
        enter = f'echo $$ > {self.path}/cgroup.procs\nexec "$@"'
        return ["sh", "-ec", enter, "sh", *command("run")]


@contextlib.contextmanager
def grouped(group: Group, directory: Path, url: str) -> Iterator[Daemon]:
    made = Daemon(directory, url=url)
    made.env["TAILWATCH_MAX_EXPORTED_RUNS"] = "100000"
    made.command = [*group.command(), *made.args]
    try:
        yield made.start(ready=False)
    finally:
        if made.process is not None and made.process.poll() is None:
            made.kill()


def under_the_limit(directory: Path) -> None:
    """A backlog, a hole and many runs; print what they took."""
    runs = directory / "runs"
    expected = {f"backlog{n}/m": 51_200 for n in range(20)} | {f"many/{n}": 2 for n in range(1000)}
    expected["hole"] = 2
    for n in range(20):
        path = runs / f"backlog{n}" / "m.jsonl"
        for first in range(0, 51_200, 1024):
            write(path, "".join(row(first + k, 2.0, pad="x" * 980) for k in range(1024)))
    for n in range(1000):
        write(runs / "many" / f"{n}.jsonl", row(0, 2.0) + row(1, 2.0))
    hole = runs / "hole.jsonl"
    write(hole, row(0, 2.0) + '{"half')
    os.truncate(hole, 10 * 2**30)
    write(hole, "\n" + row(1, 2.0))
    backlog = sum((runs / f"backlog{n}" / "m.jsonl").stat().st_size for n in range(20))
    peak = 0
    with Group() as group, receiver() as hook:
        group.limit(unit_limit())
        began_s = time.monotonic()
        with grouped(group, directory, hook.url) as tw:
            while rows(tw) != expected:
                peak = max(peak, group.not_cache())
                assert tw.process is not None
                assert tw.process.poll() is None, tw.all_output()[-2000:]
                assert time.monotonic() - began_s < 600
                time.sleep(0.2)
            took_s = time.monotonic() - began_s
            status = Path(f"/proc/{tw.process.pid}/status").read_text()  # type: ignore[union-attr]
            most = int(status.split("VmHWM:")[1].split()[0]) / 1024
            bad = counted(tw, "tailwatch_bad_lines_total", reason="too_long")
            kills = group.figure("oom_kill")
    print(
        f"limit {unit_limit() / MIB:.0f} MiB: {backlog / 1e9:.2f} GB of backlog, a line of 10 GiB,"
    )
    print(
        f"  1,000 runs, read in {took_s:.0f} s; {bad:.0f} line(s) too long; killed {kills} times"
    )
    print(f"  peak without cache {peak / MIB:.0f} MiB, of the process {most:.0f} MiB")


def killed(directory: Path) -> None:
    """The kernel kills the daemon; print what the next one makes of it."""
    runs = directory / "runs"
    with Group() as group, receiver() as hook:
        with grouped(group, directory, hook.url) as tw:
            for n in range(50):
                write(runs / "old" / f"{n}.jsonl", row(0, 2.0))
            wait_for(lambda: len(rows(tw)) == 50)
            group.limit(group.not_cache() + 8 * MIB)
            for n in range(4000):
                write(runs / "new" / f"{n}.jsonl", row(0, 2.0) + row(1, math.nan))
                write(runs / "old" / f"{n % 50}.jsonl", row(1 + n // 50, 2.0))
            assert tw.process is not None
            code = tw.process.wait(timeout=120)
            kills = group.figure("oom_kill")
            told = len(hook.findings())
        lives = tw.log_path.read_text().count('"finding_firing"')
        with daemon(directory, url=hook.url, TAILWATCH_MAX_EXPORTED_RUNS="100000") as again:
            expected = {f"new/{n}": 2.0 for n in range(4000)} | {
                f"old/{n}": 81.0 for n in range(50)
            }
            wait_for(lambda: rows(again) == expected, 120)
            wait_for(lambda: len({f["run"] for f in hook.findings()}) == 4000, 300)
            ids = {f["id"] for f in hook.findings()}
            metrics = again.metrics().items()
            nan = [v for k, v in metrics if "anomaly_findings_total" in k and '"nan_loss"' in k]
    print(f"tight limit: exit {code}, {kills} kill(s); {lives} findings and {told} told by then")
    print(f"  after: {sum(expected.values()):.0f} rows, each once; {sum(nan):.0f} NaN findings,")
    print(f"  {len(ids)} notices with {len(hook.findings())} deliveries")


def main() -> None:
    """Measure and print."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    for part in (under_the_limit, killed):
        with tempfile.TemporaryDirectory() as directory:
            part(Path(directory))


if __name__ == "__main__":
    main()
