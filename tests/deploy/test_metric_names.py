"""The rules and dashboards use only what the program exports."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailwatch.core.findings import SEVERITIES
from tailwatch.core.outbox import OUTCOMES
from tailwatch.messages import WATCH_MODES
from tests.deploy.metric_names import (
    load,
    names_in,
    names_in_file,
    rule_files,
    rule_test_metric_names,
    used_label_values,
    used_metric_names,
)
from tests.exported import exported_families

EXPORTED = set(exported_families())

# Labels whose values are a closed set, and the one target label that the rules name.
CLOSED = {
    "severity": {severity.value for severity in SEVERITIES},
    "mode": set(WATCH_MODES),
    "outcome": set(OUTCOMES),
    "job": {"tailwatch"},
}


def test_every_metric_in_rules_and_dashboards_is_exported() -> None:
    """No rule, panel or Grafana alert asks for a metric that the program does not export."""
    assert used_metric_names() - EXPORTED == set()


def test_rule_tests_feed_only_exported_metrics() -> None:
    """The unit tests of the rules prove nothing on metrics that do not exist."""
    assert rule_test_metric_names() - EXPORTED == set()


def test_label_values_in_rules_belong_to_their_closed_sets() -> None:
    """A matcher never asks for a label value that cannot occur."""
    wrong = {(k, v) for k, v in used_label_values() if v not in CLOSED.get(k, set())}
    assert wrong == set()


@pytest.mark.parametrize("path", rule_files(), ids=lambda path: path.name)
def test_names_are_found_in_each_file_that_has_expressions(path: Path) -> None:
    """The search for names is not blind: a file of ours with PromQL in it yields names."""
    if "expr" in str(load(path)):
        assert names_in_file(path)
    else:
        assert path.name == "contact-points.yml"


def test_names_leave_out_recorded_rules_and_strings() -> None:
    """A recorded rule, a label value and a quoted word are no metric names."""
    promql = 'run:anomaly_a_total:max15m{job="tailwatch_b"} > run:anomaly_d + tailwatch_c_total'
    assert names_in(promql) == {"tailwatch_c_total"}
