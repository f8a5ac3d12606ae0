"""The Prometheus files: valid, right in every case we know, and each piece of the rules needed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml

from tailwatch.config import load_settings
from tests.deploy.tools import DEPLOY, promtool, run, said

FILES = DEPLOY / "prometheus"
RULES = FILES / "tailwatch.rules.yml"
TESTS = FILES / "tailwatch.rules.test.yml"

# (what is broken, text in the rules, what stands there instead, the case that must notice)
MUTATIONS = [
    (
        "arm 1 gone: only the count",
        "time() - run:anomaly_last_finding_timestamp_seconds:max15m < 15 * 60\n        or\n",
        "",
        "state lost, new finding before the first scrape",
    ),
    (
        "arm 2 gone: only the time",
        "            > (\n",
        "            > (1e9 +\n",
        "finding inside a scrape outage of an hour",
    ),
    (
        "nothing to compare a newborn series with",
        "or\n              0 * run:anomaly_findings_total:max15m\n",
        "",
        "born inside a scrape outage, seen 58 minutes late",
    ),
    (
        "count compared with itself",
        " offset 16m",
        "",
        "finding inside a scrape outage of an hour",
    ),
    (
        "no limit to a finding's age",
        "< 6 * 3600",
        "< 1e9",
        "history at install never fires",
    ),
    (
        "looks back one hour where six are needed",
        "[6h] offset 16m",
        "[1h] offset 16m",
        "run ended, left the exposition, resumed",
    ),
    (
        "a failed scrape ends the alert",
        "(max_over_time(anomaly_last_finding_timestamp_seconds[15m]))",
        "(anomaly_last_finding_timestamp_seconds)",
        "target flaps while firing: one firing",
    ),
    (
        "the host is part of the run's identity",
        "max without (instance, pod, node, container, endpoint)",
        "max without (pod)",
        "run moved to another host, count restored",
    ),
    (
        "the usual increase()",
        'expr: run:anomaly_findings:new15m{severity="critical"}',
        "expr: max without (instance) "
        '(increase(anomaly_findings_total{severity="critical"}[15m])) > 0',
        "born at 1 between two scrapes",
    ),
    (
        "every severity pages",
        'expr: run:anomaly_findings:new15m{severity="critical"}',
        "expr: run:anomaly_findings:new15m",
        "a warning is a ticket and pages nobody",
    ),
    (
        "sweeping taken for missing",
        'mode="missing"',
        'mode="sweep"',
        "a root that cannot be read",
    ),
    (
        "one alert a run where one a host is enough",
        "max without (run) (tailwatch_run_lag_bytes)",
        "tailwatch_run_lag_bytes",
        "far behind the files",
    ),
    (
        "a retry taken for a refusal",
        'outcome="undeliverable"',
        'outcome="retried"',
        "notices that wait",
    ),
]


def test_rules_are_valid() -> None:
    """promtool accepts the rule file."""
    result = run(promtool(), "check", "rules", RULES)
    assert result.returncode == 0, said(result)


def test_example_configuration_is_valid() -> None:
    """promtool accepts prometheus.yml together with the rules that it names."""
    result = run(promtool(), "check", "config", FILES / "prometheus.yml")
    assert result.returncode == 0, said(result)
    assert "1 rule files found" in result.stdout


def test_rules_do_the_right_thing_in_every_case() -> None:
    """Every unit test of the rules is green."""
    result = run(promtool(), "test", "rules", TESTS)
    assert result.returncode == 0, said(result)
    assert "SUCCESS" in result.stdout


def test_every_alert_is_seen_firing_and_not_firing() -> None:
    """The unit tests show each alert once firing and once quiet, so none is always one of them."""
    rules = yaml.safe_load(RULES.read_text())
    alerts = {r["alert"] for g in rules["groups"] for r in g["rules"] if "alert" in r}
    checks = [
        (check["alertname"], bool(check["exp_alerts"]))
        for case in yaml.safe_load(TESTS.read_text())["tests"]
        for check in case["alert_rule_test"]
    ]
    assert set(checks) == {(alert, fires) for alert in alerts for fires in (True, False)}


def test_scrape_job_has_the_name_that_the_rules_ask_for() -> None:
    """The example scrapes port 10836 under the job name that the rules ask for."""
    config = yaml.safe_load((FILES / "prometheus.yml").read_text())
    (job,) = config["scrape_configs"]
    assert f'up{{job="{job["job_name"]}"}}' in RULES.read_text()
    assert all(t.endswith(":10836") for s in job["static_configs"] for t in s["targets"])


def test_ended_runs_are_shown_for_as_long_as_the_rules_look_back() -> None:
    """A run that ends leaves /metrics, by default, only when no rule can find it new any more."""
    look_back = re.search(r"\[(\d+)h\] offset (\d+)m", RULES.read_text())
    assert look_back
    look_back_s = int(look_back[1]) * 3600 + int(look_back[2]) * 60
    assert look_back_s >= 6.25 * 3600
    assert load_settings({}, {"XDG_STATE_HOME": "/state"}).run_retention_s > look_back_s


@pytest.mark.parametrize(
    ("old", "new", "case"), [m[1:] for m in MUTATIONS], ids=[m[0] for m in MUTATIONS]
)
def test_broken_rule_is_noticed(tmp_path: Path, old: str, new: str, case: str) -> None:
    """A rule with one piece broken is still valid, but a unit test turns red."""
    tool = promtool()
    document = yaml.safe_load(TESTS.read_text())
    document["tests"] = [t for t in document["tests"] if t["name"] == case]
    assert len(document["tests"]) == 1, f"no test case is named {case!r}"
    (tmp_path / TESTS.name).write_text(yaml.safe_dump(document))

    shutil.copy(RULES, tmp_path)
    whole = run(tool, "test", "rules", TESTS.name, cwd=tmp_path)
    assert whole.returncode == 0, said(whole)

    text = RULES.read_text()
    assert old in text, "the rules changed: this mutation breaks nothing any more"
    (tmp_path / RULES.name).write_text(text.replace(old, new))
    valid = run(tool, "check", "rules", RULES.name, cwd=tmp_path)
    assert valid.returncode == 0, said(valid)
    broken = run(tool, "test", "rules", TESTS.name, cwd=tmp_path)
    assert broken.returncode != 0, said(broken)
    assert "FAILED" in broken.stdout + broken.stderr, said(broken)
