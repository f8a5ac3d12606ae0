"""Answers as bytes."""

from __future__ import annotations

import json
import math

import pytest

from tailwatch.pages.answer import document, text


def test_a_document_is_json_of_its_status() -> None:
    """What is not ASCII is escaped, so that no client guesses an encoding."""
    answer = document(404, {"run": "\u202eä"})
    assert (answer.status, answer.content_type) == (404, "application/json")
    assert answer.body.isascii()
    assert json.loads(answer.body) == {"run": "\u202eä"}


def test_a_bare_nan_is_our_bug() -> None:
    """No document can hold a NaN that no JSON reader takes: it is an error here already."""
    with pytest.raises(ValueError, match="JSON"):
        document(200, {"loss": math.nan})


def test_a_text_is_one_line() -> None:
    """With its newline, for a terminal."""
    assert text(503, "not yet").body == b"not yet\n"
