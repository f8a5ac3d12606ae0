"""Which directories the system says are watched, asked of real inotify."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from watchdog.events import FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from tailwatch.shell.inotify import ASK_SWEEPS, InotifyWatches


@pytest.fixture
def observer() -> Iterator[BaseObserver]:
    made = Observer()
    made.start()
    yield made
    if made.is_alive():
        made.stop()
        made.join()


def inode(path: Path) -> int:
    path.mkdir(exist_ok=True)
    return os.stat(path).st_ino


def test_what_is_not_watched_is_named(tmp_path: Path, observer: BaseObserver) -> None:
    """Of two directories with one watch the other is said, below its own root."""
    watched, other = inode(tmp_path / "a"), inode(tmp_path / "b")
    observer.schedule(FileSystemEventHandler(), str(tmp_path / "a"))

    found = InotifyWatches().unwatched({"/one": {watched}, "/two": {watched, other}})

    assert found == {"/one": set(), "/two": {other}}
    assert InotifyWatches().unwatched({}) == {}


def test_where_all_is_watched_it_is_asked_again_after_some_sweeps(
    tmp_path: Path, observer: BaseObserver
) -> None:
    """A watch that is lost is missed in time; a gap, or another directory, at once."""
    a, b = inode(tmp_path / "a"), inode(tmp_path / "b")
    observer.schedule(FileSystemEventHandler(), str(tmp_path / "a"))
    watches = InotifyWatches()
    assert watches.unwatched({"/r": {a}}) == {"/r": set()}
    observer.unschedule_all()

    answers = [watches.unwatched({"/r": {a}}) for _ in range(ASK_SWEEPS)]

    assert answers == [*[{}] * (ASK_SWEEPS - 1), {"/r": {a}}]
    observer.schedule(FileSystemEventHandler(), str(tmp_path / "a"))
    assert watches.unwatched({"/r": {a}}) == {"/r": set()}
    assert watches.unwatched({"/r": {a, b}}) == {"/r": {b}}
    assert watches.unwatched({"/r": {a, b}}) == {"/r": {b}}
