"""A trainer's state as lines: whole or not at all, and the same bytes for the same rows."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.core import trainer_state
from tailwatch.core.trainer_state import (
    NO_HISTORY,
    NOT_WHOLE,
    TOO_LONG,
    beside,
    home,
    is_state,
    state_lines,
)

leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
entries = st.dictionaries(
    st.text(max_size=5), leaves | st.lists(leaves, max_size=2) | st.dictionaries(st.text(), leaves)
)
histories = st.lists(entries, max_size=6)


def document(history: Any, indent: int | None = 2) -> bytes:
    state = {"epoch": 1.5, "log_history": history, "trial": {"log_history": [{"loss": 9}]}}
    return json.dumps(state, indent=indent, sort_keys=True).encode()


def same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(
        other, sort_keys=True
    )  # NaN is not equal to itself.


@settings(deadline=None)
@given(histories, st.sampled_from([None, 2]))
def test_each_entry_is_a_line(history: list[dict[str, Any]], indent: int | None) -> None:
    """The lines, decoded one by one, are the entries of the document, in order."""
    lines = state_lines(document(history, indent))
    assert isinstance(lines, bytes)
    assert same(history, [json.loads(line) for line in lines.splitlines()])


@settings(deadline=None)
@given(histories, histories)
def test_a_later_save_begins_with_an_earlier_one(
    history: list[dict[str, Any]], more: list[dict[str, Any]]
) -> None:
    """With the same entries first, the lines have the same bytes first."""
    first, second = state_lines(document(history)), state_lines(document(history + more, None))
    assert isinstance(first, bytes)
    assert isinstance(second, bytes)
    assert second.startswith(first)


def test_resume_writes_the_same_lines() -> None:
    """History that was loaded and saved again gives the bytes that it gave before."""
    history = [{"loss": 0.1 + 0.2, "lr": 1e-05, "n": 10**25, "note": "ä\u2028\ud800", "x": 1e400}]
    saved = document(history)
    assert state_lines(saved) == state_lines(document(json.loads(saved)["log_history"]))


def test_order_of_keys_does_not_matter() -> None:
    """A trainer that loads its history may write the keys of a row in another order."""
    lines = state_lines(b'{"log_history": [{"step": 1, "loss": 2.0}]}')
    assert lines == state_lines(b'{"log_history": [{"loss": 2.0, "step": 1}]}')


def test_nan_stays_bare() -> None:
    """NaN and infinities are written as the trainer writes them."""
    lines = state_lines(document([{"loss": math.nan, "grad_norm": -math.inf}]))
    assert lines == b'{"grad_norm":-Infinity,"loss":NaN}\n'


def test_no_part_of_a_document_is_whole() -> None:
    """Whatever was written of a save so far, nothing is taken from it until all is there."""
    whole = document([{"step": 1, "loss": 2.0}, {"step": 2, "note": "]}"}])
    assert {NOT_WHOLE} == {state_lines(whole[:size]) for size in range(len(whole))}
    assert isinstance(state_lines(whole + b"\n"), bytes)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"{}", NO_HISTORY),
        (b'{"log_history": null}', NO_HISTORY),
        (b'{"log_history": {"a": 1}}', NO_HISTORY),
        (b'{"a": {"log_history": []}}', NO_HISTORY),
        (b"[]", NOT_WHOLE),
        (b'{"log_history": []} {}', NOT_WHOLE),
        (b'{"log_history": [,]}', NOT_WHOLE),
        (b'{"log_history": [1 2]}', NOT_WHOLE),
        (b'{"log_history": [\xff]}', NOT_WHOLE),
        (b'{"log_history": ' + b"[" * 100_000, NOT_WHOLE),
        (b"\0" * 100, NOT_WHOLE),
    ],
)
def test_unfit(data: bytes, why: object) -> None:
    """What is no JSON object, or has no list of rows, is unfit, for a reason."""
    assert state_lines(data) == why


def test_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A document above the limit is not looked into."""
    monkeypatch.setattr(trainer_state, "DOCUMENT_BYTES_MAX", 30)
    assert state_lines(b'{"log_history": []}' + b" " * 12) == TOO_LONG
    assert state_lines(b'{"log_history": []}' + b" " * 11) == b""


@pytest.mark.parametrize(
    ("path", "root", "run"),
    [
        ("/r/a/checkpoint-5/trainer_state.json", "/r", "/r/a/trainer_state.json"),
        ("/r/a/checkpoint-best/trainer_state.json", "/r", "/r/a/trainer_state.json"),
        ("/r/a/trainer_state.json", "/r", "/r/a/trainer_state.json"),
        ("/r/checkpoint-5/trainer_state.json", "/r", "/r/trainer_state.json"),
        ("/r/checkpoint-5/trainer_state.json", "/", "/r/trainer_state.json"),
        ("/r/tmp-checkpoint-5/trainer_state.json", "/r", None),
        *(
            ("/r/checkpoint-5/trainer_state.json", root, "/r/checkpoint-5/trainer_state.json")
            for root in ("/r/checkpoint-5", "/r/checkpoint-5/", None)
        ),
    ],
)
def test_home(path: str, root: str | None, run: str | None) -> None:
    """Saves in numbered directories are of the run above them, if that is below the root."""
    assert home(path, root) == run


def test_names() -> None:
    """States are known by their name, and neighbours by their directory."""
    assert [is_state(p) for p in ("/a/trainer_state.json", "/a/x_trainer_state.json")] == [
        True
    ] * 2
    assert not is_state("/a/state.json")
    assert beside("/a/x", "/a/y")
    assert not beside("/a/x", "/a/b/x")
