"""Hints and messages for the engine: none is lost, and the bell always rings."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from tailwatch.core.outbox import Outcome
from tailwatch.messages import Incoming, Settled, Stop
from tailwatch.shell import inbox as inbox_module
from tailwatch.shell.inbox import ThreadInbox
from tests.shell.helpers import PATIENCE_S


@pytest.fixture
def nervous() -> Iterator[None]:
    """Threads take turns as often as they can, so that races show."""
    old_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(old_s)


def test_nothing_came() -> None:
    """An empty inbox gives an empty turn after its time."""
    began_s = time.monotonic()
    assert Incoming(set(), False, []) == ThreadInbox().take(0.05)
    assert time.monotonic() - began_s >= 0.04


@pytest.mark.parametrize("timeout_s", [0.0, -1.0])
def test_no_time_to_wait(timeout_s: float) -> None:
    """With no time left, what is there is taken at once."""
    inbox = ThreadInbox()
    assert Incoming(set(), False, []) == inbox.take(timeout_s)
    inbox.hint("/a")
    assert Incoming({"/a"}, False, []) == inbox.take(timeout_s)


def test_hints_of_one_path_are_one() -> None:
    """However often a path changes between two turns, it is looked at once."""
    inbox = ThreadInbox()
    for path in ("/a", "/b", "/a"):
        inbox.hint(path)
    assert Incoming({"/a", "/b"}, False, []) == inbox.take(PATIENCE_S)
    assert Incoming(set(), False, []) == inbox.take(0.0)


def test_messages_keep_their_order() -> None:
    """Messages come out as they went in, each once."""
    inbox = ThreadInbox()
    sent = [Settled("a", Outcome("delivered", str(n))) for n in range(5)]
    for message in [*sent, Stop("SIGTERM")]:
        inbox.post(message)
    assert [*sent, Stop("SIGTERM")] == inbox.take(PATIENCE_S).messages
    assert inbox.take(0.0).messages == []


def test_sweep_is_asked_for_once() -> None:
    """A wish for a sweep is for the next turn only."""
    inbox = ThreadInbox()
    inbox.sweep()
    assert [inbox.take(0.0).sweep, inbox.take(0.0).sweep] == [True, False]


@pytest.mark.parametrize("ring", ["hint", "sweep", "post"])
def test_each_kind_wakes_a_waiting_engine(ring: str) -> None:
    """Whatever comes ends the wait at once."""
    inbox = ThreadInbox()
    calls = {"hint": ("/a",), "sweep": (), "post": (Stop("x"),)}
    timer = threading.Timer(0.05, getattr(inbox, ring), calls[ring])
    timer.start()
    began_s = time.monotonic()
    assert Incoming(set(), False, []) != inbox.take(PATIENCE_S)
    assert time.monotonic() - began_s < PATIENCE_S / 2
    timer.join()


def test_too_many_hints_become_a_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hints beyond the limit cost no memory: everything will be looked at instead."""
    monkeypatch.setattr(inbox_module, "HINTS_MAX", 10)
    inbox = ThreadInbox()
    for n in range(25):
        inbox.hint(f"/{n}")
    incoming = inbox.take(0.0)
    assert (len(incoming.paths), incoming.sweep) == (10, True)
    inbox.hint("/again")
    assert Incoming({"/again"}, False, []) == inbox.take(0.0)


@pytest.mark.usefixtures("nervous")
def test_no_ring_is_lost_under_concurrent_hints() -> None:
    """Every hint of many threads is in some turn, and no turn waits while one is there."""
    inbox, threads_number, each = ThreadInbox(), 4, 2000
    seen: set[str] = set()

    def tell(number: int) -> None:
        for n in range(each):
            inbox.hint(f"/{number}/{n}")
            if n % 100 == 0:
                inbox.post(Settled(str(number), Outcome("delivered", str(n))))

    threads = [threading.Thread(target=tell, args=(n,)) for n in range(threads_number)]
    for thread in threads:
        thread.start()
    messages: list[Settled | Stop] = []
    longest_s, end_s = 0.0, time.monotonic() + PATIENCE_S
    while (len(seen), len(messages)) != (threads_number * each, 80) and time.monotonic() < end_s:
        began_s = time.monotonic()
        incoming = inbox.take(PATIENCE_S)
        longest_s = max(longest_s, time.monotonic() - began_s)
        seen |= incoming.paths
        messages += incoming.messages
    for thread in threads:
        thread.join()
    assert (threads_number * each, 80) == (len(seen), len(messages))
    assert longest_s < PATIENCE_S / 2  # A lost ring would have waited it out.


@pytest.mark.usefixtures("nervous")
def test_no_sweep_is_lost() -> None:
    """A wish for a sweep that comes while the last one is taken is for the next turn."""
    inbox, rounds = ThreadInbox(), 3000
    turn = threading.Event()

    def ask() -> None:
        for _ in range(rounds):
            inbox.sweep()
            assert turn.wait(PATIENCE_S)
            turn.clear()

    thread = threading.Thread(target=ask)
    thread.start()
    answered = 0
    end_s = time.monotonic() + PATIENCE_S
    while answered < rounds and time.monotonic() < end_s:
        if inbox.take(1.0).sweep:
            answered += 1
            turn.set()
    thread.join()
    assert rounds == answered


@pytest.fixture
def on_signal() -> Iterator[ThreadInbox]:
    """An inbox to which SIGUSR1 posts a message, on the main thread, as SIGTERM does."""
    inbox = ThreadInbox()
    old = signal.signal(signal.SIGUSR1, lambda *_: inbox.post(Stop("SIGUSR1")))
    yield inbox
    signal.signal(signal.SIGUSR1, old)


def test_signal_wakes_the_waiting_main_thread(on_signal: ThreadInbox) -> None:
    """A message from a signal handler ends the wait that the signal interrupted."""
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1))
    timer.start()
    began_s = time.monotonic()
    assert [Stop("SIGUSR1")] == on_signal.take(PATIENCE_S).messages
    assert time.monotonic() - began_s < PATIENCE_S / 2
    timer.join()


def test_signals_at_any_instant_deadlock_nothing(on_signal: ThreadInbox) -> None:
    """Signals in the middle of taking and hinting neither hang the engine nor get lost."""
    over, sent = threading.Event(), 0

    def fire() -> None:
        nonlocal sent
        while not over.is_set() and sent < 300:
            os.kill(os.getpid(), signal.SIGUSR1)
            sent += 1
            time.sleep(0.0005)  # So that signals do not merge; nothing waits for this.

    def hint() -> None:
        n = 0
        while not over.is_set():
            n += 1
            on_signal.hint(f"/{n % 100}")

    threads = [threading.Thread(target=fire), threading.Thread(target=hint)]
    for thread in threads:
        thread.start()
    got, end_s = 0, time.monotonic() + PATIENCE_S
    while threads[0].is_alive() and time.monotonic() < end_s:
        got += len(on_signal.take(0.01).messages)
    over.set()
    for thread in threads:
        thread.join()
    got += len(on_signal.take(0.05).messages)
    assert 0 < got <= sent
    os.kill(os.getpid(), signal.SIGUSR1)
    assert [Stop("SIGUSR1")] == on_signal.take(PATIENCE_S).messages
