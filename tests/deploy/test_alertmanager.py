"""The Alertmanager example: valid, and no alert of ours falls through."""

from __future__ import annotations

import re

import pytest
import yaml

from tests.deploy.metric_names import RULES
from tests.deploy.tools import DEPLOY, amtool, run, said

CONFIG = DEPLOY / "alertmanager" / "alertmanager.yml"
ALERTS = sorted(
    rule["alert"]
    for group in yaml.safe_load(RULES.read_text())["groups"]
    for rule in group["rules"]
    if "alert" in rule
)


def test_configuration_is_valid() -> None:
    """amtool accepts the example configuration."""
    result = run(amtool(), "check-config", CONFIG)
    assert result.returncode == 0, said(result)
    assert "SUCCESS" in result.stdout


@pytest.mark.parametrize("alert", ALERTS)
def test_every_alert_reaches_its_receiver(alert: str) -> None:
    """An alert about training goes to the findings, an alert about the daemon to its health."""
    wanted = "findings" if alert.startswith("TrainingAnomaly") else "health"
    result = run(
        amtool(),
        "config",
        "routes",
        "test",
        f"--config.file={CONFIG}",
        f"--verify.receivers={wanted}",
        f"alertname={alert}",
    )
    assert result.returncode == 0, said(result)


def test_findings_are_grouped_by_category_and_not_by_run() -> None:
    """A disk that fails under 300 runs makes one message and not 300."""
    config = yaml.safe_load(CONFIG.read_text())
    assert config["route"]["group_by"] == ["alertname", "category"]
    nested = [route.get("group_by", []) for route in config["route"]["routes"]]
    assert all("run" not in labels for labels in nested)


def test_end_of_a_finding_alert_is_not_told() -> None:
    """Nobody reads "resolved" because 15 minutes have passed: the run may still be NaN."""
    receivers = {r["name"]: r for r in yaml.safe_load(CONFIG.read_text())["receivers"]}
    assert [c["send_resolved"] for c in receivers["findings"]["slack_configs"]] == [False]


def test_inhibition_names_alerts_that_exist() -> None:
    """Every alert name in an inhibition rule is the name of an alert in the rules."""
    for rule in yaml.safe_load(CONFIG.read_text())["inhibit_rules"]:
        for matcher in rule["source_matchers"] + rule["target_matchers"]:
            pattern = re.fullmatch(r'alertname (?:=|!=|=~) "(.+)"', matcher)
            assert pattern, f"not about an alert name: {matcher}"
            assert any(re.fullmatch(pattern[1], alert) for alert in ALERTS), matcher


def test_slack_url_is_read_from_a_file() -> None:
    """The secret URL is in no file that is committed."""
    text = CONFIG.read_text()
    assert "hooks.slack.com" not in text
    assert "api_url:" not in text
    assert text.count("api_url_file:") == 2
