"""The collector rests while the state is restored, and works again afterwards."""

from __future__ import annotations

import gc
import weakref

import pytest

from tailwatch.garbage import nothing_collected


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

    class Part:
        def __init__(self) -> None:
            self.itself = self

    with nothing_collected():
        part = Part()
    gone = weakref.ref(part)
    del part
    gc.collect()
    assert gone() is not None  # It is no longer looked at.
    with nothing_collected():
        assert gone() is None
    gc.unfreeze()
