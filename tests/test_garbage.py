"""The collector rests while the state is restored, and passes over what stays."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

from tailwatch import garbage
from tailwatch.garbage import nothing_collected, seldom_whole
from tests.costs.following import following


class Part:
    """Not freed when nobody has it: it has itself."""

    def __init__(self) -> None:
        self.itself = self


@pytest.mark.parametrize("fails", [False, True])
def test_it_rests_and_works_again(fails: bool) -> None:
    """Also after an error; what was made meanwhile is not looked through again."""
    before = gc.get_freeze_count()
    try:
        with nothing_collected():
            assert not gc.isenabled()
            kept = [[] for _ in range(1000)]  # type: ignore[var-annotated]
            if fails:
                raise KeyError
    except KeyError:
        pass
    assert gc.isenabled()
    assert gc.get_freeze_count() >= before + len(kept)
    gc.unfreeze()


def test_what_the_last_one_left_is_collected() -> None:
    """At a reload the parts of the old engine, which know each other, leave memory."""

    with nothing_collected():
        part = Part()
    gone = weakref.ref(part)
    del part
    gc.collect()
    assert gone() is not None  # It is no longer looked at.
    with nothing_collected():
        assert gone() is None
    gc.unfreeze()


def test_what_stays_is_passed_over_for_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    """What became garbage before it was looked at goes at once, what was in use then in time."""
    now_s = 0.0
    monkeypatch.setattr(garbage.time, "monotonic", lambda: now_s)
    with seldom_whole():
        old = Part()
        gc.collect()
        frozen, young = gc.get_freeze_count(), Part()
        gone = [weakref.ref(old), weakref.ref(young)]
        del old, young
        gc.collect()
        assert [ref() is None for ref in gone] == [False, True]
        now_s = garbage.WHOLE_S
        gc.collect()
        assert [ref() is None for ref in gone] == [True, True]
        assert frozen > 1000
    assert gc.get_freeze_count() == 0


def test_nothing_of_a_run_is_left_to_the_collector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs that wrote, went wrong, started over and ended have made no cycle that stays."""
    monkeypatch.setattr("tailwatch.files.ENDS_S", -1.0)
    with following(tmp_path, 20) as engine:
        engine.read_all()
        gc.collect()
        gc.disable()
        try:
            engine.train(range(10), range(30, 60))
            for number in range(5):
                with engine.file(number).open("a") as file:
                    file.write('{"step": 60, "loss": NaN}\n{"step": 3, "loss": 1.0}\n')
            engine.read_all()
            for number in range(20):
                engine.file(number).unlink()
            for _ in range(3):
                engine.read_all()
            assert list(engine.followed()) == []
            assert gc.collect() == 0
        finally:
            gc.enable()
