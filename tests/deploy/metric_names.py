"""Which metrics the shipped rules and dashboards ask for.

A rule on a metric that nobody exports is silent for ever, so another test compares these names with
what the program really exports.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from tests.deploy.tools import DEPLOY

RULES = DEPLOY / "prometheus" / "tailwatch.rules.yml"
RULE_TESTS = DEPLOY / "prometheus" / "tailwatch.rules.test.yml"
DASHBOARDS = DEPLOY / "grafana" / "dashboards"
GRAFANA_ALERTING = DEPLOY / "grafana" / "provisioning" / "alerting"

# The keys under which the files keep PromQL ("query" and "definition" are a dashboard variable's).
_PROMQL_KEYS = frozenset({"expr", "query", "definition"})
_STRING = re.compile(r'"(?:\\.|[^"\\])*"' + r"|'(?:\\.|[^'\\])*'")
# A colon on either side means the name of a recorded rule, run:anomaly_findings_total:max15m.
_NAME = re.compile(r"(?<![\w:])(?:anomaly|tailwatch)_\w+(?![\w:])")
_MATCHER = re.compile(r'(\w+)\s*=\s*"([^"$]*)"')


def names_in(promql: str) -> set[str]:
    """The metric names of ours in one expression."""
    return set(_NAME.findall(_STRING.sub('""', promql)))


def rule_files() -> list[Path]:
    """Every file whose metrics must exist."""
    return [RULES, *sorted(DASHBOARDS.glob("*.json")), *sorted(GRAFANA_ALERTING.glob("*.y*ml"))]


def load(path: Path) -> object:
    """A YAML or JSON file as plain Python values."""
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)


def expressions(value: object) -> Iterator[str]:
    """Every PromQL expression anywhere in a loaded file."""
    if isinstance(value, dict):
        for key, child in value.items():
            if key in _PROMQL_KEYS and isinstance(child, str):
                yield child
            else:
                yield from expressions(child)
    elif isinstance(value, list):
        for child in value:
            yield from expressions(child)


def names_in_file(path: Path) -> set[str]:
    """The metric names of ours that one file asks for."""
    return {name for expr in expressions(load(path)) for name in names_in(expr)}


def used_metric_names() -> set[str]:
    """Every anomaly_* and tailwatch_* metric used in rules, dashboards and Grafana alerting."""
    return {name for path in rule_files() for name in names_in_file(path)}


def used_label_values() -> set[tuple[str, str]]:
    """Every (label, value) pair that an expression asks for literally, like mode="missing"."""
    return {
        pair
        for path in rule_files()
        for expr in expressions(load(path))
        for pair in _MATCHER.findall(expr)
    }


def rule_test_metric_names() -> set[str]:
    """The metric names that the unit tests of the rules feed in."""
    document = yaml.safe_load(RULE_TESTS.read_text(encoding="utf-8"))
    return {
        name
        for case in document["tests"]
        for series in case["input_series"]
        for name in names_in(series["series"])
    }
