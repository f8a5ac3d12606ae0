"""A missing tool never turns a test green where it counts."""

from __future__ import annotations

import pytest

from tests.deploy.tools import debian_tool, python_tool

FAIL, SKIP = pytest.fail.Exception, pytest.skip.Exception
# Both are caught everywhere: a skip that escapes would skip the test that is here to forbid it.


def test_missing_debian_tool_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """With CI set, a tool that is not installed fails the test that needs it."""
    monkeypatch.setenv("CI", "true")
    with pytest.raises((FAIL, SKIP), match="Debian package prometheus") as raised:
        debian_tool("no-such-tool", "prometheus")
    assert raised.type is FAIL


def test_missing_debian_tool_skips_on_a_laptop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without CI, a tool that is not installed skips the test and says which package has it."""
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises((FAIL, SKIP), match="Debian package prometheus") as raised:
        debian_tool("no-such-tool", "prometheus")
    assert raised.type is SKIP


def test_missing_python_tool_always_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool that pip can install is no reason to skip, in CI or out of it."""
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises((FAIL, SKIP), match="test requirements") as raised:
        python_tool("no-such-tool")
    assert raised.type is FAIL
