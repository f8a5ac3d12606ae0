"""Hundreds of runs that go wrong together: few messages, and each finding in one of them."""

from __future__ import annotations

import math
import signal
from pathlib import Path

from tailwatch.core.notices import DIGEST_NOTICES_MAX

from .daemon import daemon, receiver, wait_for
from .load import Storm, told, told_all

RUNS = 200
SPREAD_RUNS, SPREAD_S = 60, 2.0
MESSAGES_A_SECOND = 1


def test_runs_that_go_nan_together_are_a_handful_of_messages(tmp_path: Path) -> None:
    """200 NaNs that are there at once: one message that was first, and full digests."""
    with receiver() as hook, daemon(tmp_path, url=hook.url) as tw:
        storm = Storm(tw, RUNS)
        storm.wait_until_followed()
        with storm.watched():
            tw.signal(signal.SIGSTOP)
            storm.break_out()
            tw.signal(signal.SIGCONT)
        wait_for(told_all(hook, storm.paths))
        wait_for(lambda: tw.metric("tailwatch_outbox_pending") == 0)

        assert dict.fromkeys(storm.paths, 1) == told(hook)
        # While they are being read a message may leave every second: on most machines, one.
        while_reading = 1 + math.floor(storm.worst_delay_s() * MESSAGES_A_SECOND)
        assert hook.attempts <= while_reading + math.ceil(RUNS / DIGEST_NOTICES_MAX)


def test_a_storm_is_one_message_a_second(tmp_path: Path) -> None:
    """However many findings come in a second, the receiver gets one request."""
    with receiver() as hook, daemon(tmp_path, url=hook.url) as tw:
        storm = Storm(tw, SPREAD_RUNS)
        storm.wait_until_followed()
        storm.break_out(SPREAD_S)
        wait_for(told_all(hook, storm.paths))
        wait_for(lambda: tw.metric("tailwatch_outbox_pending") == 0)

        assert dict.fromkeys(storm.paths, 1) == told(hook)
        times = [post.at_s for post in hook.posts]
        # One more, since a request may take its time to arrive.
        assert hook.attempts <= 2 + (times[-1] - times[0]) * MESSAGES_A_SECOND
        assert hook.attempts < SPREAD_RUNS / 5
