"""The collector rests while the state is restored, and works again afterwards."""

from __future__ import annotations

import gc

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
