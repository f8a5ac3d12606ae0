"""The documents that programs read."""

from __future__ import annotations

import json
import os

import pytest

from tailwatch.checks import CHECKS
from tailwatch.config import load_settings
from tailwatch.core.check import Check
from tailwatch.core.findings import Evidence, Finding, Severity
from tailwatch.documents import checks_document, ordered, settings_document


def test_findings_are_sorted_worst_first() -> None:
    """Critical before warning before info; within one severity the order is kept."""
    evidence = Evidence("", {}, None)
    given = [
        Finding(name, severity, "", evidence)
        for name, severity in (
            ("a", Severity.INFO),
            ("b", Severity.WARNING),
            ("c", Severity.CRITICAL),
            ("d", Severity.WARNING),
        )
    ]

    assert [finding.category for finding in ordered(given)] == ["c", "b", "d", "a"]


@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.category)
def test_a_check_document_is_plain_json(check: type[Check]) -> None:
    """What is said of a check can be written as strict JSON."""
    (facts,) = checks_document([check])["checks"]

    assert check.category == json.loads(json.dumps(facts, allow_nan=False))["category"]


def test_the_settings_document_is_plain_json() -> None:
    """So can the effective settings, and no secret is in them."""
    url = "https://hooks.example.invalid/T0/B0/x"
    settings = load_settings({"webhook_url": url}, {}, os.devnull)
    text = json.dumps(settings_document(settings), allow_nan=False)

    assert "<secret>" in text
    assert "T0" not in text
