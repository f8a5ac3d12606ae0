"""The test notice."""

from __future__ import annotations

import pytest

from tailwatch.config_receivers import Receiver
from tailwatch.core.secret import Secret
from tailwatch.trial import attempt_test

from .e2e.daemon import receiver


@pytest.mark.parametrize("kind", ["generic", "slack"])
def test_a_test_notice(kind: str) -> None:
    """Every type of receiver can be sent a test notice."""
    with receiver() as hook:
        outcome = attempt_test(
            Receiver("r", kind, Secret(hook.url), None, frozenset({"critical"}), False)
        )

        assert outcome.kind == "delivered"
        assert "this is a test notice" in str(hook.posts[0].body)
