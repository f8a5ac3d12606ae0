"""SIGKILL at each step of a delivery: told at least once, and twice only under the same id."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import NamedTuple

import pytest

from .daemon import Daemon, Post, receiver, row, wait_for, write
from .trouble import with_fault

NAN = float("nan")
DIGEST_MIN = 6
MANY = 8


class After(NamedTuple):
    """
    What a death leaves.

    Attributes:
        again: The receiver has taken the message in, and so it comes again.
        kept: The digest is on the disk; None: if there was a second since the last message.
    """

    again: bool
    kept: bool | None


STEPS = {
    "the row is read, nothing is kept": After(again=False, kept=False),
    "the notices are written, not committed": After(again=False, kept=False),
    "the notices are committed": After(again=False, kept=None),
    "a digest is formed, not kept": After(again=False, kept=False),
    "a digest is kept": After(again=False, kept=True),
    "the request is not sent": After(again=False, kept=True),
    "half of the request is sent": After(again=False, kept=True),
    "the receiver has it and has not answered": After(again=True, kept=True),
    "it has answered": After(again=True, kept=True),
    "its answer is not kept": After(again=True, kept=True),
    "its answer is written, not committed": After(again=True, kept=True),
    "its answer is committed": After(again=False, kept=True),
}

KILLS = """
# SIGKILL at a step of the delivery of at least so many findings; the file `given[0]` names both.
import http.client, os, signal
from tailwatch.shell.courier import HttpCourier
from tailwatch.shell.store import SqliteStore

def at(step, findings):
    try:
        least, wanted = open(given[0]).read().split(" ", 1)
    except OSError:
        return
    if step == wanted and findings >= int(least):
        os.unlink(given[0])
        os.kill(os.getpid(), signal.SIGKILL)

def notices(commit):
    return len(commit.notices)

def formed(commit):
    return sum(len(keys) for _, _, keys in commit.digests)

def settled(commit):
    return sum(len(keys) for _, keys, _ in commit.settled)

def steps(owner, method, before, after):
    original = getattr(owner, method)
    def stepped(self, commit):
        for step, findings in before.items():
            at(step, findings(commit))
        got = original(self, commit)
        for step, findings in after.items():
            at(step, findings(commit))
        return got
    setattr(owner, method, stepped)

steps(
    SqliteStore, "_write", {},
    {"the notices are written, not committed": notices,
     "its answer is written, not committed": settled},
)
steps(
    SqliteStore, "commit",
    {"the row is read, nothing is kept": notices,
     "a digest is formed, not kept": formed,
     "its answer is not kept": settled},
    {"the notices are committed": notices,
     "a digest is kept": formed,
     "its answer is committed": settled},
)

attempt, send, under_way = HttpCourier.attempt, http.client.HTTPConnection.send, [0]

def stepped_attempt(self, key, notices):
    under_way[0] = len(notices)
    at("the request is not sent", len(notices))
    outcome = attempt(self, key, notices)
    at("it has answered", len(notices))
    return outcome

def stepped_send(self, data):
    if not data.startswith(b"POST "):
        send(self, data[: len(data) // 2])
        at("half of the request is sent", under_way[0])
        data = data[len(data) // 2 :]
    send(self, data)

HttpCourier.attempt = stepped_attempt
http.client.HTTPConnection.send = stepped_send
"""


@dataclass
class Story:
    """A daemon that was killed at a step of a single notice, and at the same step of a digest."""

    posts: list[Post] = field(default_factory=list)
    broken_off: int = 0
    kept: dict[str, list[str]] = field(default_factory=dict)
    """The digests that were on the disk after the second death, with their members."""


def story(directory: Path, step: str) -> Story:
    directory.mkdir()
    death = directory / "death"
    told = Story()

    def answer(handler: BaseHTTPRequestHandler, attempt: int) -> int:
        count = len(Post(handler.path, handler.headers, handler.body).findings())  # type: ignore[attr-defined]
        least, _, wanted = death.read_text().partition(" ") if death.exists() else ("", "", "")
        if wanted == "the receiver has it and has not answered" and count >= int(least):
            death.unlink()
            tw.signal(signal.SIGKILL)
        return 204

    with receiver() as hook:
        hook.answer = answer
        tw = Daemon(directory, url=hook.url)
        tw.command = [*with_fault(KILLS, death), *tw.args]
        outside = directory / "outside"
        for number in range(MANY):
            write(outside / f"{number}.jsonl", row(1, NAN))
        with contextlib.ExitStack() as stack:
            tw.start()
            stack.callback(lambda: tw.process and tw.process.poll() is None and tw.kill())
            if "digest" not in step:
                death.write_text(f"1 {step}")
                write(tw.runs / "one" / "m.jsonl", row(1, 2.0) + row(2, NAN))
                die_and_start(tw)
                wait_for(lambda: {f["run"] for f in hook.findings()} == {"one/m"})
                wait_for(lambda: tw.metric("tailwatch_outbox_pending") == 0)
            death.write_text(f"{DIGEST_MIN} {step}")
            outside.rename(tw.runs / "many")  # All at once, or nothing would be a digest.
            die_and_start(tw, told)
            runs = {"late/m", *(f"many/{number}" for number in range(MANY))}
            wait_for(lambda: runs <= {f["run"] for f in hook.findings()})
            wait_for(lambda: tw.metric("tailwatch_outbox_pending") == 0)
            assert tw.stop() == 0
        told.posts, told.broken_off = hook.posts, hook.broken_off
    return told


def die_and_start(tw: Daemon, told: Story | None = None) -> None:
    assert tw.process is not None
    assert tw.process.wait(timeout=60) == -signal.SIGKILL
    if told is not None:
        connection = sqlite3.connect(tw.directory / "state" / "tailwatch.db")
        with contextlib.closing(connection):
            for digest, key in connection.execute(
                "SELECT digest, key FROM outbox WHERE digest IS NOT NULL ORDER BY id"
            ):
                told.kept.setdefault(digest, []).append(key)
        # One more, which must not join a digest that the receiver may have.
        write(tw.runs / "late" / "m.jsonl", row(1, 2.0) + row(2, NAN))
    tw.start()


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Future[Story]]:
    """All of them side by side: most of a story is waiting for the next second's message."""
    directory = tmp_path_factory.mktemp("killed")
    with ThreadPoolExecutor(4) as pool:
        return {
            step: pool.submit(story, directory / str(number), step)
            for number, step in enumerate(STEPS)
        }


@pytest.mark.parametrize("step", STEPS)
def test_killed_delivery(stories: dict[str, Future[Story]], step: str) -> None:
    """Each finding is told under one id, and again only what the receiver had when we died."""
    told = stories[step].result()
    kills = 1 if "digest" in step else 2
    ids = [post.id for post in told.posts]
    messages: dict[str, list[str]] = {}
    for post in told.posts:
        members = [finding["id"] for finding in post.findings()]
        assert messages.setdefault(post.id, members) == members

    findings = sorted(each for members in messages.values() for each in members)
    assert MANY + kills == len(findings) == len(set(findings))
    assert len(ids) - len(set(ids)) == (kills if STEPS[step].again else 0)
    assert any(len(members) >= DIGEST_MIN for members in messages.values())
    # A digest that was on the disk when we died is told as it was: same id, same members.
    for digest, members in told.kept.items():
        assert messages[digest] == members
    assert STEPS[step].kept in (None, bool(told.kept))
    assert (told.broken_off == kills) == (step == "half of the request is sent")
