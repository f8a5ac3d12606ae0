"""
Every aim of speed, size and delay, and what is reached: one table.

Each part is measured in a process of its own, and repeated; a figure is the median of all its
repeats, with the smallest and the largest in brackets. `--against REV` measures another commit
too, in a temporary worktree with the tests as they are here, in turn with this one, part by part.
"""

from __future__ import annotations

import argparse
import compileall
import contextlib
import importlib
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.bench.measure_daemon import Figure

ROOT = Path(__file__).parents[2]
PARTS = {
    "speed": ("throughput", "speed", 2),
    "catch-up": ("catch_up", "catch_up", 2),
    "latency": ("delays", "latency", 2),
    "many": ("scale", "many", 1),
    "scrape": ("scale", "scrape", 2),
    "stall": ("delays", "stall", 2),
    "start": ("start", "start", 1),
    "curves": ("curves", "curves", 2),
    "writer": ("writer", "writer", 2),
}
"""The module and function that measure, and how often by default; most repeat themselves too."""

Measured = dict[str, list[Figure]]


def measure_here(part: str) -> None:
    """Measure once in this process; print each figure as a line of JSON."""
    module, function, _ = PARTS[part]
    # No sooner: an older commit may lack what another part needs.
    ask = getattr(importlib.import_module(f"tests.bench.{module}"), function)
    ask(lambda *figure: print(json.dumps(figure), flush=True))


def measure(part: str, tree: Path) -> list[Figure]:
    """The figures of one repeat with the code in *tree*; fewer if it cannot do what is asked."""
    command = [sys.executable, str(tree / "tests" / "bench" / "aims.py"), "--once", part]
    env = os.environ | {"PYTHONPATH": str(tree)}
    ran = subprocess.run(
        command, cwd=tree, env=env, stdout=subprocess.PIPE, text=True, check=False
    )
    if ran.returncode:
        print(f"{part} failed in {tree} with {ran.returncode}", file=sys.stderr)
    return [Figure(*json.loads(line)) for line in ran.stdout.splitlines()]


@contextlib.contextmanager
def worktree(revision: str) -> Iterator[Path]:
    """A temporary worktree of *revision*, with the tests that are here."""
    git = ["git", "-C", str(ROOT), "worktree"]
    with tempfile.TemporaryDirectory() as directory:
        tree = Path(directory) / "tree"
        subprocess.run([*git, "add", "-q", "--detach", str(tree), revision], check=True)
        try:
            shutil.rmtree(tree / "tests")
            shutil.copytree(ROOT / "tests", tree / "tests")
            compileall.compile_dir(tree / "tailwatch", quiet=1)  # As it is here by now.
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def shown(figures: list[Figure]) -> str:
    """The median, the least and the most."""
    if not figures:
        return "-"
    values, unit = [figure.value for figure in figures], figures[0].unit
    middle, least, most = map(_number, (statistics.median(values), min(values), max(values)))
    return f"{middle} {unit} ({least} to {most})"


def _number(value: float) -> str:
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def machine() -> str:
    """What all this was measured on."""
    text = Path("/proc/cpuinfo").read_text()
    model = text.split("model name", 1)[-1].split(":", 1)[-1].splitlines()[0].strip()
    load = os.getloadavg()[0]
    python = platform.python_version()
    return f"{os.cpu_count()} cores, {model}, Python {python}; load before: {load:.1f}"


def table(parts: list[str], repeats: int | None, trees: dict[str, Path]) -> None:
    """Measure part by part, the trees in turn, and print a row as soon as it is known."""
    heads = " | ".join(f"{name}: median (min to max)" for name in trees)
    print(f"{machine()}\n\n| what | aim | {heads} | n |\n|---|---|{'---|' * len(trees)}---|")
    for part in parts:
        found: dict[str, Measured] = {}
        for _ in range(repeats or PARTS[part][2]):
            for name, tree in trees.items():
                for figure in measure(part, tree):
                    found.setdefault(figure.what, {}).setdefault(name, []).append(figure)
        for what, measured in found.items():
            aim = next(iter(measured.values()))[0].aim
            cells = " | ".join(shown(measured.get(name, [])) for name in trees)
            count = min(len(figures) for figures in measured.values())
            print(f"| {what} | {aim} | {cells} | {count} |", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", choices=[*PARTS, []], help="only these")
    parser.add_argument("--repeats", type=int, help="of each part, whatever it has by default")
    parser.add_argument("--against", metavar="REV", help="measure this commit, too")
    parser.add_argument("--once", choices=PARTS, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.once:
        measure_here(chosen.once)
        return
    trees = {"reached": ROOT}
    with contextlib.ExitStack() as stack:
        if chosen.against:
            trees[chosen.against] = stack.enter_context(worktree(chosen.against))
        table(chosen.part or list(PARTS), chosen.repeats, trees)


if __name__ == "__main__":
    main()
