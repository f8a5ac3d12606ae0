"""The composition root: the daemon on a thread, started and stopped."""

from __future__ import annotations

import dataclasses
import os
import queue
import threading
from pathlib import Path

import pytest

from tailwatch.app import Daemon
from tailwatch.config import Settings, load_settings
from tailwatch.errors import ConfigError, StateUnusable

from .test_demo import Silent


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "runs").mkdir()
    flags = {
        "paths": [str(tmp_path / "runs")],
        "state_dir": str(tmp_path / "state"),
        "web.listen": "127.0.0.1:0",
    }
    return load_settings(flags, {}, os.devnull)


def test_it_starts_and_stops_and_starts(settings: Settings) -> None:
    """A daemon that was stopped leaves nothing behind that keeps the next one from starting."""
    before = threading.active_count()
    for _ in range(3):
        started: queue.Queue[str] = queue.Queue()
        daemon = Daemon(settings, lambda: settings, Silent(), {}, started.put)
        thread = threading.Thread(target=daemon.run)
        thread.start()
        address = started.get(timeout=20)
        daemon.stop()
        thread.join(timeout=20)

        assert address.startswith("127.0.0.1:")
        assert not thread.is_alive()
    assert before == threading.active_count()


def test_what_cannot_start_says_why(settings: Settings) -> None:
    """A port or a state that cannot be used is our error, and lets go of what was taken."""
    no_port = dataclasses.replace(settings, listen="127.0.0.1:99999")
    with pytest.raises(ConfigError, match=r"cannot listen on 127\.0\.0\.1:99999"):
        Daemon(no_port, lambda: settings, Silent(), {}).run()
    bad_state = dataclasses.replace(settings, state_dir="/proc/nowhere")
    with pytest.raises(StateUnusable, match="state directory '/proc/nowhere' cannot be written"):
        Daemon(bad_state, lambda: settings, Silent(), {}).run()
