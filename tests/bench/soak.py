"""
A daemon under a steady load for long: does it grow, does it slow down, does it lose anything.

Writer processes append rows to hundreds of runs in small bursts, some torn; now and then a run
goes NaN for three rows, and a file is rotated by a rename, every other one gzipped after that.
The daemon gets SIGTERM after a sixth of the time and SIGKILL after a third, and is started
again at once. Prints, every minute and at the end, the rows written and evaluated, which must
be equal; memory, descriptors, threads, database and CPU, and their slopes over the last half,
which is of one life; from a row to the scrape that shows its finding, asked about once a second;
and whether each run that went NaN was told once. Ends with 1 if a row or a notice was not right.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import multiprocessing
import re
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.bench.growth import Evaluated, report, sample
from tests.bench.measure_daemon import quantile, run_name
from tests.bench.soak_writers import train
from tests.e2e.daemon import Daemon, Receiver, daemon, receiver, row, wait_for, write
from tests.e2e.trouble import let_sweep

WRITERS = 2
SAMPLE_S = 5.0
SAY_S = 60.0
PROBE_S = 1.0
RECOVERY_ROWS = 75
"""So many good rows, and the next NaN is a new finding that counts again: 20 to clear, 50 more."""
RESTARTS = {1 / 6: signal.SIGTERM, 1 / 3: signal.SIGKILL}
"""Share of the time -> how the daemon is ended."""


class Writers:
    """The processes that write, and in the end what they wrote."""

    def __init__(self, root: Path, runs: int, rate: float) -> None:
        context = multiprocessing.get_context("spawn")
        self._end, self._reports, self._processes = context.Value("i", 0), [], []
        self._totals = [context.Value("q", 0) for _ in range(WRITERS)]
        paths = [str(root / f"group{n % 20}" / f"run{n}" / "metrics.jsonl") for n in range(runs)]
        for number, total in enumerate(self._totals):
            ours, theirs = context.Pipe(duplex=False)
            args = (paths[number::WRITERS], rate / WRITERS, number, self._end, total, theirs)
            self._processes.append(context.Process(target=train, args=args, daemon=True))
            self._reports.append(ours)
            self._processes[-1].start()
        self.written: dict[str, int] = {}
        self.went_nan: list[str] = []
        self.rotations = 0

    def rows(self) -> int:
        return sum(total.value for total in self._totals)

    def alive(self) -> bool:
        return all(process.is_alive() for process in self._processes)

    def stop(self) -> None:
        """End them, and hear what they did."""
        self._end.value = 1
        for reported, process in zip(self._reports, self._processes, strict=True):
            written, went_nan, rotations = reported.recv()
            process.join()
            self.written |= written
            self.went_nan += went_nan
            self.rotations += rotations


class Probe:
    """A run of which every finding is timed, from its row to the end of the scrape with it."""

    _COUNT = re.compile(
        r'^anomaly_findings_total\{category="nan_loss",run="probe/m".*\} (\S+)$', re.M
    )
    _ROWS = re.compile(r"^tailwatch_run_rows_total\{.*\} (\S+)$", re.M)

    def __init__(self, tw: Daemon) -> None:
        self._tw = tw
        self.path = tw.runs / "probe" / "m.jsonl"
        self.rows = self.findings = 0
        self.rows_shown = 0.0
        self.delays_s: list[float] = []
        self.scrapes_s: list[float] = []
        self._write(*[2.0] * RECOVERY_ROWS)

    def _write(self, *losses: float) -> None:
        write(self.path, "".join(row(self.rows + n, loss) for n, loss in enumerate(losses)))
        self.rows += len(losses)

    @contextlib.contextmanager
    def timed(self) -> Iterator[None]:
        """Write a NaN, let the body happen, and wait until a scrape shows it."""
        began_s = time.monotonic()
        self._write(math.nan)
        self.findings += 1
        yield
        wait_for(self.shown, 120, f"finding {self.findings} of the probe is shown")
        self.delays_s.append(time.monotonic() - began_s)
        self._write(*[2.0] * RECOVERY_ROWS)

    def shown(self) -> bool:
        began_s = time.monotonic()
        text = self._tw.get("/metrics")[1]
        found = self._COUNT.search(text)
        if found is None:
            return False
        self.scrapes_s.append(time.monotonic() - began_s)
        self.rows_shown = sum(map(float, self._ROWS.findall(text)))
        assert float(found[1]) <= self.findings, "a finding was counted twice"
        return float(found[1]) == self.findings


class Soak:
    """The daemon, what is done to it, and what was seen."""

    def __init__(self, tw: Daemon, writers: Writers) -> None:
        self._tw, self._writers, self.probe = tw, writers, Probe(tw)
        self.samples: list[tuple[float, ...]] = []
        self.restart_delays_s: dict[str, float] = {}

    def run(self, seconds: float) -> None:
        """Let it last."""
        began_s = time.monotonic()
        restarts = [(began_s + share * seconds, ended_by) for share, ended_by in RESTARTS.items()]
        next_sample_s = next_said_s = began_s
        while (now_s := time.monotonic()) < began_s + seconds:
            assert self._writers.alive(), "a writer has ended"
            if restarts and now_s >= restarts[0][0]:
                self._restart(restarts.pop(0)[1])
            else:
                with self.probe.timed():
                    pass
            if now_s >= next_sample_s:
                next_sample_s += SAMPLE_S
                self.samples.append((now_s - began_s, *sample(self._tw)))
            if now_s >= next_said_s:
                next_said_s += SAY_S
                self._say(now_s - began_s)
            time.sleep(max(0.0, now_s + PROBE_S - time.monotonic()))

    def _restart(self, ended_by: signal.Signals) -> None:
        with self.probe.timed():
            self._tw.signal(ended_by)
            assert self._tw.process is not None
            self._tw.process.wait(timeout=60)
            self._tw.start(ready=False)
        self.restart_delays_s[ended_by.name] = self.probe.delays_s.pop()

    def _say(self, seconds: float) -> None:
        rss, descriptors, threads, *_ = self.samples[-1][1:]
        written = self._writers.rows() + self.probe.rows
        print(
            f"{seconds / 60:5.1f} min: {written:,} rows written, {self.probe.rows_shown:,.0f} "
            f"shown; RSS {rss:.1f} MiB, {descriptors:.0f} descriptors, {threads:.0f} threads; "
            f"last delay {1000 * self.probe.delays_s[-1]:.0f} ms",
            flush=True,
        )

    def report_delays(self) -> None:
        """Print the delays, with and without those that a restart is in."""
        for what, more in (
            ("between restarts", []),
            ("restarts included", list(self.restart_delays_s.values())),
        ):
            ms = [1000 * each for each in self.probe.delays_s + more]
            print(
                f"row to the end of the scrape with it, {what}: median "
                f"{statistics.median(ms):.0f} ms, p99 {quantile(ms, 0.99):.0f} ms, "
                f"worst {max(ms):.0f} ms of {len(ms)}"
            )
        scrape_ms = 1000 * statistics.median(self.probe.scrapes_s)
        print(f"  of which a scrape of all runs takes, median: {scrape_ms:.0f} ms")
        for name, delay_s in self.restart_delays_s.items():
            print(f"  with {name} and a new start in between: {1000 * delay_s:.0f} ms")


def report_notices(tw: Daemon, hook: Receiver, went_nan: list[str]) -> bool:
    """Print whether each run that went NaN was told once, and nothing else; return it."""
    findings = hook.findings()
    nan = {f["id"]: f["run"] for f in findings if f["category"] == "nan_loss"}
    others = Counter(f["category"] for f in findings if f["category"] != "nan_loss")
    expected = {run_name(tw, Path(path)) for path in went_nan} | {"probe/m"}
    notices = Counter(nan.values())
    print(
        f"{len(expected)} runs went NaN, {len(notices)} were told with {len(nan)} notices and "
        f"{len(findings) - others.total() - len(nan)} repeated deliveries; "
        f"not told: {sorted(expected - set(notices))[:5]}; told without: "
        f"{sorted(set(notices) - expected)[:5]}; other findings told: {dict(others)}"
    )
    repeated = {run: n for run, n in notices.items() if n > 1}
    if repeated:
        print(f"  more than one notice (right once an hour): {dict(list(repeated.items())[:5])}")
    return expected == set(notices) and not others


def soak(tw: Daemon, hook: Receiver, chosen: argparse.Namespace) -> bool:
    """Whether all was right."""
    writers = Writers(tw.runs, chosen.runs, chosen.rate)
    went = Soak(tw, writers)
    began_s = time.monotonic()
    went.run(60 * chosen.minutes)
    writers.stop()
    seconds = time.monotonic() - began_s
    written = writers.written | {str(went.probe.path): went.probe.rows}
    with contextlib.suppress(AssertionError):  # The report says what is missing.
        wait_for(lambda: went.probe.shown() and went.probe.rows_shown >= sum(written.values()))
        wait_for(lambda: tw.metric("tailwatch_outbox_pending") == 0, 60)
    let_sweep(tw)  # What would be read twice is.
    assert tw.stop() == 0, tw.all_output()[-2000:]
    evaluated = Evaluated(tw.directory / "state")
    evaluated.count(written)
    print(
        f"\n{chosen.runs} runs, {sum(written.values()) / seconds:,.0f} rows a second for "
        f"{seconds / 60:.1f} minutes, {writers.rotations} rotations"
    )
    right = evaluated.report(written)
    told = report_notices(tw, hook, writers.went_nan)
    went.report_delays()
    report(went.samples)
    report_cpu(went.samples)
    return right and told


def report_cpu(samples: list[tuple[float, ...]]) -> None:
    """Print the share of one core that the daemon took in the last half."""
    first, last = samples[len(samples) // 2], samples[-1]
    share = (last[-1] - first[-1]) / (last[0] - first[0])
    print(f"daemon in the last half: {100 * share:.1f}% of a core, a scrape or two a second in it")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--rate", type=float, default=2000.0, help="rows a second, all runs")
    parser.add_argument("--runs", type=int, default=500)
    chosen = parser.parse_args()
    shown = {"TAILWATCH_MAX_EXPORTED_RUNS": str(chosen.runs + 1)}
    with (
        tempfile.TemporaryDirectory() as directory,
        receiver() as hook,
        daemon(Path(directory), "--sweep-interval", "10s", url=hook.url, **shown) as tw,
    ):
        sys.exit(not soak(tw, hook, chosen))


if __name__ == "__main__":
    main()
