"""deploy/README.md: its figures are counted, its tests are there, its files exist."""

from __future__ import annotations

import ast
import re

import pytest

from tailwatch.checks import CHECKS
from tests.deploy.arithmetic import cost, table
from tests.deploy.tools import DEPLOY, ROOT

README = (DEPLOY / "README.md").read_text()
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", README)


def test_series_are_as_many_as_are_exported() -> None:
    """The counts in the text are those of the registry, with every check that there is."""
    counted = cost()
    said = re.search(
        r"exports (\d+) series for itself and (\d+) for each run, and one more", README
    )
    assert said
    assert (int(said[1]), int(said[2]), 1) == counted


def test_table_of_fleets_is_counted() -> None:
    """The table has what `python -m tests.deploy.arithmetic` prints."""
    section = README.split("## How big it gets", 1)[1].split("## ", 1)[0]
    rows = [line for line in section.splitlines() if re.match(r"\| [\d,]+ \|", line)]
    assert rows == table()


def test_a_run_costs_what_its_checks_and_numbers_cost() -> None:
    """Counted another way: two series for each category, and six for the run."""
    assert cost().run == 2 * len(CHECKS) + 6


@pytest.mark.parametrize(("path", "name"), sorted(set(NAMED)))
def test_each_test_that_is_named_exists(path: str, name: str) -> None:
    """The threat model rests on tests that are there."""
    tree = ast.parse((ROOT / path).read_text())
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_threat_names_its_test() -> None:
    """No row of the threat model is a mere promise."""
    section = README.split("## Who could do what", 1)[1]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    rows = [row for row in rows if not row.startswith("| they | ") and "| test |" not in row]
    assert len(rows) > 12
    assert [row for row in rows if "::test_" not in row] == []


def test_every_file_that_is_named_exists() -> None:
    """The first table names what is there, and everything at the top of deploy/ is in it."""
    first = README.split("\n## ", 1)[0]
    named = set(re.findall(r"^\| `([\w/.-]+)`", first, re.MULTILINE))
    assert [name for name in sorted(named) if not (DEPLOY / name).exists()] == []
    top = {path.name for path in DEPLOY.iterdir()} - {"README.md"}
    assert top == {name.split("/")[0] for name in named}
