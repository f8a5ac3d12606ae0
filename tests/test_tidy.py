"""The rules of style that a machine can hold. Each failure names file and line."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailwatch.checks import CHECKS

ROOT = Path(__file__).parent.parent
PACKAGE, TESTS = ROOT / "tailwatch", ROOT / "tests"
MODULES = sorted(PACKAGE.rglob("*.py"))
TEST_MODULES = sorted(TESTS.rglob("test_*.py"))
FUNCTION_LINES_MAX = 50
MODULE_LINES_MAX = 300

REACHES_OUT = {
    "asyncio", "http", "io", "logging", "os", "pathlib", "queue", "random", "socket", "sqlite3",
    "subprocess", "sys", "tempfile", "threading", "time", "urllib", "prometheus_client",
    "watchdog", "structlog", "click", "yaml", "jinja2",
}  # fmt: skip
IMPURE_CALLS = {"open", "print", "input", "eval", "exec", "now", "utcnow", "today"}

# Who may import what of ours. A name without a dot is a top-level module or package.
ENGINE_SIDE = {
    "core",
    "checks",
    "ports",
    "messages",
    "pump",
    "reading",
    "owners",
    "errors",
    "tracked",
    "files",
    "dispatch",
    "shown",
    "telling",
    "quiet",
    "paging",
    "reminders",
    "readers",
    "records",
    "discovery",
}
MAY_IMPORT: dict[str, set[str]] = {
    "core": {"core", "errors"},
    "checks": {
        "core.check",
        "core.check_bases",
        "core.findings",
        "core.numbers",
        "core.rows",
        "core.silence",
        "core.stats",
        "checks",
    },
    "receivers": {"core.notices", "core.numbers", "core.sparkline", "receivers"},
    "errors": set(),
    "messages": {"core"},
    "ports": {"core", "errors", "messages"},
    "tracked": ENGINE_SIDE,
    "files": ENGINE_SIDE,
    "pump": ENGINE_SIDE,
    "reading": ENGINE_SIDE,
    "owners": ENGINE_SIDE,
    "dispatch": ENGINE_SIDE,
    "shown": ENGINE_SIDE,
    "telling": ENGINE_SIDE,
    "quiet": ENGINE_SIDE,
    "paging": {"core"},
    "reminders": ENGINE_SIDE,
    "readers": {"core", "errors", "packing"},
    "records": ENGINE_SIDE,
    "discovery": ENGINE_SIDE,
    "engine": ENGINE_SIDE,
    "board": {"messages"},
    "packing": set(),
    "runs_table": {"messages", "packing"},
    "schema": set(),
    "run_configs": {"core"},
    "saves": {"core", "messages"},
    "content": {"core"},
    "bench": {"core", "checks", "packing", "bench"},
    "shell.watcher": {"shell.inotify"},
    "shell.metrics_page": {"messages", "shell.exposition"},
    "bench.logs": {"core", "config", "diagnose", "targets"},
    "bench.run": {"bench", "config", "diagnose", "targets", "shell.progress"},
    "pages": {"core", "messages", "ports", "errors", "board", "pages", ""},
    "shell": {
        "core",
        "pages",
        "ports",
        "messages",
        "errors",
        "board",
        "packing",
        "runs_table",
        "schema",
        "run_configs",
        "saves",
        "content",
        "web_config",
        "",
    },
}
PURE = {
    "core", "checks", "receivers", "bench.faults", "bench.replay", "bench.rivals", "bench.score",
    "bench.stall", "bench.table",
}  # fmt: skip
# The one library of each module of the shell, and the only place in which it may be used.
THIRD_PARTY = {
    "msgspec": {"core.decoding", "packing", "config_file"},
    "watchdog": {"shell.watcher"},
    "structlog": {"shell.logs"},
    "prometheus_client": {"shell.exposition", "shell.metrics_page"},
    "yaml": {"run_configs", "web_config"},
    "bcrypt": {"shell.guard"},
    "jinja2": {"pages.rendering"},
    "click": {"cli", "options", "report", "inspection_text", "terminal"},
    "sqlite3": {"shell.archive", "shell.store", "runs_table", "schema"},
}
UNTESTED = {"__init__", "__main__", "errors", "ports", "messages", "observer"}
"""Modules without behaviour of their own."""


# Ways to fail: an assertion, a wait with a limit, or a helper that makes one of them.
_PROVES = r"\bassert|wait_for\(|wait_until\(|comes\(|held\(|machine\.check\(|pytest\.raises\(|run_state_machine|invoke\("


def dotted(path: Path) -> str:
    """`core.rows` for `tailwatch/core/rows.py`."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Every imported module: ours as `tailwatch.x`, others as they are called; and its line."""
    package = ["tailwatch", *path.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            if node.module is None:
                yield from ((f"{name}.{alias.name}", node.lineno) for alias in node.names)
            else:
                yield name, node.lineno


def rule_of(path: Path) -> set[str] | None:
    name = dotted(path)
    return MAY_IMPORT.get(name, MAY_IMPORT.get(name.split(".")[0]))


by_module = pytest.mark.parametrize("path", MODULES, ids=dotted)


@by_module
def test_the_import_table_holds(path: Path) -> None:
    """A module imports of ours only what the table of the design allows."""
    allowed = rule_of(path)
    if allowed is None:
        return
    wrong = []
    for name, line in imports(path):
        if name.split(".")[0] != "tailwatch":
            continue
        ours = name.removeprefix("tailwatch").removeprefix(".")
        ours = "" if ours == "__version__" else ours
        if not any(ours == a or ours.startswith(f"{a}.") for a in allowed if a or not ours):
            wrong.append(f"{path}:{line}: {name}")

    assert wrong == []


@by_module
def test_pure_modules_reach_nothing(path: Path) -> None:
    """Core, checks and receivers import nothing that reaches a file, clock, thread or socket."""
    if not {dotted(path), dotted(path).split(".")[0]} & PURE:
        return
    wrong = [f"{path}:{line}: {name}" for name, line in imports(path) if reaches_out(name)]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if called in IMPURE_CALLS:
                wrong.append(f"{path}:{node.lineno}: {called}()")

    assert wrong == []


def reaches_out(name: str) -> bool:
    return name.split(".")[0] in REACHES_OUT and name != "urllib.parse"


@by_module
def test_each_library_has_its_place(path: Path) -> None:
    """A third-party library is used in its own module and nowhere else."""
    wrong = []
    for name, line in imports(path):
        top = name.split(".")[0]
        known = top in sys.stdlib_module_names or top == "tailwatch"
        if top in THIRD_PARTY and dotted(path) not in THIRD_PARTY[top]:
            wrong.append(f"{path}:{line}: {name}")
        elif not known and top not in THIRD_PARTY:
            wrong.append(f"{path}:{line}: {name} is not in the table")

    assert wrong == []


def test_only_the_command_line_prints_and_exits() -> None:
    """No other module calls print, sys.exit or click.echo."""
    wrong = []
    for path in MODULES:
        if dotted(path) == "cli":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "print", "sys.exit", "exit", "click.echo",
            ):  # fmt: skip
                wrong.append(f"{path}:{node.lineno}")

    assert wrong == []


@pytest.mark.parametrize("path", [*MODULES, *TEST_MODULES], ids=lambda p: str(p.relative_to(ROOT)))
def test_functions_fit_on_a_screen(path: Path) -> None:
    """No function is longer than a screen, its docstring aside."""
    wrong = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            with_doc = ast.get_docstring(node) is not None and len(node.body) > 1
            first = node.body[1] if with_doc else node.body[0]
            assert node.end_lineno is not None
            if node.end_lineno - first.lineno + 1 > FUNCTION_LINES_MAX:
                wrong.append(f"{path}:{node.lineno}: {node.name}")

    assert wrong == []


@by_module
def test_modules_are_short(path: Path) -> None:
    """A module that outgrows its limit is two."""
    assert len(path.read_text().splitlines()) <= MODULE_LINES_MAX


@by_module
def test_tests_mirror_the_package(path: Path) -> None:
    """Every module with behaviour has its test module at the same path."""
    if path.stem in UNTESTED:
        return
    mirrored = TESTS / path.relative_to(PACKAGE).with_name(f"test_{path.name}")

    assert mirrored.exists()


@pytest.mark.parametrize("path", TEST_MODULES, ids=lambda p: str(p.relative_to(TESTS)))
def test_every_test_states_its_truth(path: Path) -> None:
    """Every test has a docstring, and asserts or waits for something."""
    wrong = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            text = ast.unparse(node)
            if not ast.get_docstring(node):
                wrong.append(f"{path}:{node.lineno}: {node.name} says nothing")
            elif not re.search(_PROVES, text):
                wrong.append(f"{path}:{node.lineno}: {node.name} asserts nothing")

    assert wrong == []


@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.category)
def test_a_check_has_its_file_test_and_form(check: type) -> None:
    """The category is the name of the file and the test; the docstring is the form, in order."""
    category = check.category  # type: ignore[attr-defined]
    doc = inspect.getdoc(check) or ""
    places = [
        doc.find(f"{heading}:")
        for heading in (
            "What it finds", "Why it matters", "What it does not find", "Example", "Source",
        )
    ]  # fmt: skip

    assert check.__module__ == f"tailwatch.checks.{category}"
    assert (TESTS / "checks" / f"test_{category}.py").exists()
    assert -1 not in places
    assert sorted(places) == places
    assert ">>>" in doc


def test_the_root_holds_only_what_is_allowed() -> None:
    """Nothing stands at the top level but what the layout fixes, and dot-files."""
    allowed = {
        "pyproject.toml", "tailwatch", "deploy", "tests", "systemd", "README.md", "LICENSE",
        "CHANGELOG.md",
    }  # fmt: skip
    built = {"build", "dist", "PKG-INFO"}
    names = {p.name for p in ROOT.iterdir() if not p.name.startswith(".")}

    assert set() == names - allowed - built
