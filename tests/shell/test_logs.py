"""Log lines: JSON that every reader accepts, a terminal for people, and no secret in a traceback."""

from __future__ import annotations

import io
import json
import logging
import math
import os
import pty
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from tailwatch.shell.logs import configure_logs


@pytest.fixture(autouse=True)
def _logging_as_it_was(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`configure_logs` sets up the whole process: put it back after each test."""
    monkeypatch.delenv("JOURNAL_STREAM", raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    root, watchdog = logging.getLogger(), logging.getLogger("watchdog")
    handlers, level, watchdog_level = root.handlers[:], root.level, watchdog.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    watchdog.setLevel(watchdog_level)
    structlog.reset_defaults()


def strict(text: str) -> list[dict[str, Any]]:
    """The lines as JSON, refusing NaN and the infinities."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"bare {constant}")

    return [json.loads(line, parse_constant=refuse) for line in text.splitlines()]


def test_line_is_json_with_its_facts() -> None:
    """A line is one JSON object with event, level, time in UTC and the facts."""
    stream = io.StringIO()
    configure_logs("info", "json", stream).warning("file_unreadable", file="/a", bytes=3)
    (line,) = strict(stream.getvalue())
    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "file_unreadable", "level": "warning", "file": "/a", "bytes": 3}


def test_numbers_that_json_has_not_are_text() -> None:
    """NaN and the infinities, at any depth, are written as text."""
    stream = io.StringIO()
    log = configure_logs("info", "json", stream)
    log.info("x", a=math.nan, b=[math.inf, {"c": -math.inf}], d=1.5)
    (line,) = strict(stream.getvalue())
    assert (line["a"], line["b"], line["d"]) == ("nan", ["inf", {"c": "-inf"}], 1.5)


def test_undecodable_path_is_valid_in_any_encoding() -> None:
    """A path that is no UTF-8 comes out as plain ASCII JSON."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", write_through=True)
    path = os.fsdecode(b"/caf\xff")
    configure_logs("info", "json", stream).info("x", file=path, other="ü")
    (line,) = strict(raw.getvalue().decode("ascii"))
    assert (path, "ü") == (line["file"], line["other"])


def test_line_break_in_a_fact_makes_no_second_line() -> None:
    """Nothing from outside can forge a line."""
    stream = io.StringIO()
    configure_logs("info", "json", stream).info("x", file='a\n{"event": "forged"}\r\x1b[2J')
    assert [line["event"] for line in strict(stream.getvalue())] == ["x"]
    assert "\x1b" not in stream.getvalue()


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        ("debug", ["a", "b", "c", "d"]),
        ("info", ["b", "c", "d"]),
        ("warning", ["c", "d"]),
        ("error", ["d"]),
    ],
)
def test_level_is_the_least_that_is_shown(level: str, shown: list[str]) -> None:
    """Lines below the chosen level are not written."""
    stream = io.StringIO()
    log = configure_logs(level, "json", stream)
    log.debug("a")
    log.info("b")
    log.warning("c")
    log.error("d")
    assert shown == [line["event"] for line in strict(stream.getvalue())]


def test_lines_of_libraries_have_the_same_form() -> None:
    """What a library logs is one JSON line with level and time as well."""
    stream = io.StringIO()
    configure_logs("info", "json", stream)
    logging.getLogger("some.module").warning("value %s", 7)
    (line,) = strict(stream.getvalue())
    assert (line["event"], line["level"]) == ("value 7", "warning")


@pytest.mark.parametrize("level", ["debug", "info", "error"])
def test_watchdog_is_heard_from_warnings_on(level: str) -> None:
    """watchdog's line an event never comes; its word on lost events always reaches listeners."""
    stream = io.StringIO()
    configure_logs(level, "json", stream)
    library = logging.getLogger("watchdog.observers.inotify_c")
    heard: list[str] = []
    listener = logging.Handler()
    listener.emit = lambda record: heard.append(record.getMessage())  # type: ignore[method-assign]
    library.addHandler(listener)
    try:
        library.debug("in-event <InotifyEvent>")
        library.warning("Inotify queue overflow")
    finally:
        library.removeHandler(listener)
    assert heard == ["Inotify queue overflow"]
    expected = [] if level == "error" else ["Inotify queue overflow"]
    assert expected == [line["event"] for line in strict(stream.getvalue())]


def _breaks() -> None:
    secret_local = "SECRET" + "MARKER"
    raise RuntimeError(f"broken after {len(secret_local)} letters")


@pytest.mark.parametrize("style", ["json", "console"])
def test_traceback_has_no_locals(style: str) -> None:
    """A traceback says where it broke, and shows no local variable: one could be a secret."""
    stream = io.StringIO()
    log: Any = configure_logs("info", style, stream)
    try:
        _breaks()
    except RuntimeError:
        log.error("bug", exc_info=True)
        logging.getLogger("some.module").exception("theirs")
    text = stream.getvalue()
    assert text.count("broken after 12 letters") == 2
    assert "_breaks" in text
    assert "SECRETMARKER" not in text
    if style == "json":
        assert [line["event"] for line in strict(text)] == ["bug", "theirs"]


# For whom.


def on_terminal(style: str, **facts: Any) -> str:
    """What a person on a terminal sees of one line."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as stream:
        configure_logs("info", style, stream).info("run_found", **facts)
        stream.flush()
        shown = os.read(ours, 65536).decode()
    os.close(ours)
    return shown


def test_terminal_gets_lines_for_people() -> None:
    """On a terminal "auto" is a line to be read, with colour."""
    shown = on_terminal("auto", run="exp1")
    assert "run_found" in shown
    assert "\x1b[" in shown
    assert not shown.lstrip().startswith("{")


def test_no_colour_when_it_is_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR is honoured."""
    monkeypatch.setenv("NO_COLOR", "1")
    shown = on_terminal("auto", run="exp1")
    assert "run=exp1" in shown
    assert "\x1b" not in shown


def test_json_is_json_on_a_terminal_too() -> None:
    """Who asks for JSON gets it everywhere."""
    assert strict(on_terminal("json", run="exp1").strip())[0]["run"] == "exp1"


def test_auto_is_json_without_a_terminal() -> None:
    """In a pipe, a file or a container "auto" is JSON; console has no colour there."""
    stream = io.StringIO()
    configure_logs("info", "auto", stream).info("x")
    assert [line["event"] for line in strict(stream.getvalue())] == ["x"]
    stream = io.StringIO()
    configure_logs("info", "console", stream).info("x", run="a")
    assert "\x1b" not in stream.getvalue()


def test_journal_gets_priorities(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under journald every line begins with the priority of its level; the rest is JSON."""
    monkeypatch.setenv("JOURNAL_STREAM", "8:1234")
    stream = io.StringIO()
    log = configure_logs("debug", "auto", stream)
    log.debug("a")
    log.info("b")
    log.warning("c")
    log.error("d")
    logging.getLogger("some.module").critical("e")
    logging.getLogger("some.module").info("f")
    lines = stream.getvalue().splitlines()
    assert [line[:3] for line in lines] == ["<7>", "<6>", "<4>", "<3>", "<2>", "<6>"]
    assert list("abcdef") == [line["event"] for line in strict("\n".join(x[3:] for x in lines))]


def test_default_stream_is_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Results go to standard output; the log never does."""
    configure_logs("info", "json").info("x")
    out, err = capsys.readouterr()
    assert (out, [line["event"] for line in strict(err)]) == ("", ["x"])
