"""A pretty-printed configuration before the rows is no row and no bad line."""

from __future__ import annotations

import json

import pytest

from tailwatch.checks import CHECKS
from tailwatch.core.header import HEADER_BYTES_MAX
from tailwatch.core.reader import RunReader

CONFIG = json.dumps({"run": {"init_lr": 1e-4, "list": [{"a": 1}]}, "model": "m"}, indent=4)
ROWS = '{"train_loss": "3.306"}\n{"train_loss": "3.1"}\n'


def read(text: str, cut: int | None = None) -> RunReader:
    data = text.encode()
    reader = RunReader(CHECKS)
    reader.feed(data[:cut])
    if cut is not None:
        reader = RunReader.from_state(CHECKS, None, reader.to_state())
        reader.feed(data[reader.offset :])
    return reader


def test_header_is_passed_wherever_a_restart_falls() -> None:
    """The rows after the header are all there is, whatever the cut."""
    text = f"{CONFIG}\n{ROWS}"
    for cut in [None, *range(len(text))]:
        reader = read(text, cut)
        assert (reader.rows, reader.bad_lines.total(), reader.is_metric) == (2, 0, True)


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        ("{\n", 1),  # Not a header after all.
        ("{\n    torn\n", 2),
        ("{\n    torn\n}\n", 3),
        ("{\n  " + "x" * HEADER_BYTES_MAX + "\n", 2),
    ],
)
def test_what_is_no_header_is_counted(text: str, bad: int) -> None:
    """Lines that were taken for a header and are none are bad lines; the rows are read."""
    reader = read(text + ROWS)
    assert (reader.rows, dict(reader.bad_lines)) == (2, {"not_json": bad})


def test_only_a_file_begins_with_a_header() -> None:
    """A brace on a line of its own after the first row is a bad line."""
    reader = read(f"{ROWS}{{\n{ROWS}")
    assert (reader.rows, dict(reader.bad_lines)) == (4, {"not_json": 1})


def test_a_new_file_may_have_its_own() -> None:
    """A trainer that truncates its log writes its configuration again."""
    reader = read('{\n  "torn": ')
    reader.source_restarted()
    reader.feed(f"{CONFIG}\n{ROWS}".encode())
    reader.source_restarted()
    reader.feed(f"{CONFIG}\n{ROWS}".encode())
    assert (reader.rows, reader.bad_lines.total()) == (4, 0)
