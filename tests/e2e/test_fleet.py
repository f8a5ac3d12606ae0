"""A NaN that ten hosts see is one message."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .daemon import receiver, wait_for
from .fleet import NAN, Fleet

HOSTS = 10


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    with receiver() as hook:
        hook.answer = lambda handler, attempt: 200
        made = Fleet(tmp_path, HOSTS, hook)
        yield made
        made.close()


def test_a_nan_that_every_host_sees_is_told_once(fleet: Fleet) -> None:
    """
    Hosts that mount the same runs each count the finding; one alert fires, one message comes.

    So it stays when a host dies, when one starts anew with its state, and when one comes that has
    none: it reads as history what the others told.
    """
    first, late = fleet.daemons[:-1], fleet.daemons[-1]
    fleet.train("shared", 2.0, 1.9)
    fleet.alertmanager.start()
    fleet.start(*first)
    fleet.prometheus.start()
    fleet.train("shared", NAN, NAN)
    wait_for(lambda: fleet.counted("shared") == [1.0] * (HOSTS - 1), fleet.limit_s)
    wait_for(lambda: fleet.scraped("shared") == HOSTS - 1, fleet.limit_s)
    fleet.wait_until_told("shared")

    first[0].kill()
    first[1].stop()
    fleet.start(first[1], late)
    alive = HOSTS - 1
    wait_for(lambda: fleet.counted("shared") == [1.0] * alive, fleet.limit_s)
    # What is told now was seen after all that: whatever else was to come has come before it.
    fleet.train("canary", 2.0, NAN)
    wait_for(lambda: fleet.scraped("canary") == alive, fleet.limit_s)
    fleet.wait_until_told("canary")

    assert fleet.told() == {"shared": 1, "canary": 1}
    assert fleet.listed("canary") == 1
    assert fleet.alerts() == {"shared": 1, "canary": 1}
