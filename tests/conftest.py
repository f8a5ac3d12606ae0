"""Fixtures for all tests."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def public_path() -> Iterator[Path]:
    """
    A temporary directory that other users can reach.

    pytest makes the directory above `tmp_path` private, anew at each start of any suite.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)
