"""What people see at a terminal, on a real one: its width, its colours, and nothing hostile."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tailwatch.pages.answer import Answer
from tailwatch.pages.api import runs_document
from tailwatch.shell.guard import Guard
from tailwatch.shell.web import WebServer
from tailwatch.terminal import cells, fitted, shortened, table, wrapped
from tests.e2e.daemon import command, environment
from tests.shell.helpers import MemoryLog, run_view, snapshot, standing
from tests.terminals import shown

HOSTILE = "\x1b[31m\x1b]0;owned\x07\u202egnp\u2066\x9b31m"
NAMES = [f"{HOSTILE}x", "損失" * 20, "שלום-עולם", "n" * 128, "a b " * 20, "e\u0301" * 60, "❤️" * 30]
COMMANDS = ("check", "replay", "inspect", "checks", "status")
CODE = re.compile(r"\x1b\[[\d;]*m")


class Daemon:
    """Answers `status` as a daemon would whose runs have such names."""

    def answer(self, path: str, accept: str) -> Answer:
        losses = [3.0 - n / 10 for n in range(30)]
        views = [
            run_view(name, recent=losses, standing=[standing()], trouble="t " * 90)
            for name in NAMES
        ]
        return Answer(
            200, "application/json", json.dumps(runs_document(snapshot(*views))).encode()
        )

    def connection_dropped(self) -> None:
        pass


@pytest.fixture(scope="module")
def arguments(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[str]]]:
    """What each command is called with, that it has something hostile to show."""
    runs = tmp_path_factory.mktemp("runs")
    for number, name in enumerate(NAMES):
        lines = [f'{{"step": {n}, "loss": {3 - n / 10}}}' for n in range(20)]
        lines += [f'{{"step": 20, "loss": NaN, "{HOSTILE!r}_loss": 1}}', HOSTILE * 9]
        directory = runs / f"{number}" / name.encode()[:250].decode(errors="ignore")
        directory.mkdir(parents=True)
        (directory / "m.jsonl").write_text("\n".join(lines) + "\n")
    server = WebServer("127.0.0.1:0", Daemon(), Guard(None, MemoryLog()))
    files = {name: [name, str(runs)] for name in ("check", "replay", "inspect")}
    yield files | {"checks": ["checks"], "status": ["status", "--url", f"http://{server.address}"]}
    server.close()


def piped(args: list[str], **env: str) -> str:
    """What a command writes into a pipe."""
    done = subprocess.run(
        command(*args), capture_output=True, text=True, timeout=60, check=False,
        env=environment(LANG="C.UTF-8", **env),
    )  # fmt: skip
    return done.stdout


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("name", COMMANDS)
def test_at_a_terminal(arguments: dict[str, list[str]], name: str, columns: int) -> None:
    """There are colours, no line is broader than the terminal, and nothing else is obeyed."""
    text = shown(*arguments[name], columns=columns)
    plain = CODE.sub("", text)

    assert ("\x1b[32m" if name == "inspect" else "\x1b[31m") in text
    assert [line for line in plain.split("\n") if cell_len(line) > columns] == []
    assert [c for c in plain if not c.isprintable() and c != "\n"] == []
    assert max(map(cell_len, plain.split("\n"))) > columns * 0.6


@pytest.mark.parametrize("name", COMMANDS)
def test_the_words_are_those_of_the_pipe(arguments: dict[str, list[str]], name: str) -> None:
    """A pipe gets the same facts without a code; who wants no colour gets none at a terminal."""
    pipe = piped(arguments[name])
    no_colour = shown(*arguments[name], columns=200, NO_COLOR="1")
    dumb = shown(*arguments[name], columns=200, TERM="dumb")

    assert "\x1b" not in pipe + no_colour + dumb
    assert no_colour == dumb
    if name in ("check", "replay"):
        assert re.sub(r"\s", "", no_colour) == re.sub(r"\s", "", pipe)
    assert "nan_loss" in no_colour
    assert "nan_loss" in pipe
    assert ("█" in no_colour) == ("█" in pipe) == (name in ("check", "inspect", "status"))


def test_json_is_never_coloured(arguments: dict[str, list[str]]) -> None:
    """Nor broken to the width: it is one document, exact, with nothing that is obeyed."""
    for name in ("check", "status"):
        text = shown(*arguments[name], "--format", "json", columns=80)

        assert text.endswith("}\n")
        assert text.count("\n") == 1
        assert text[:-1].isprintable()
        assert len(json.loads(text)["runs"]) == len(NAMES)
    assert {run["run"] for run in json.loads(text)["runs"]} == set(NAMES)


@pytest.mark.parametrize("name", ["check", "replay", "inspect"])
def test_what_is_refused_is_not_obeyed_either(tmp_path: Path, name: str) -> None:
    """Paths that are none, files that are no runs, and settings that are not there."""
    file = tmp_path / f"{HOSTILE}.jsonl"
    file.write_text('{"a": 1}\n')
    texts = [
        shown(name, str(file), str(tmp_path / f"no{HOSTILE}"), NO_COLOR="1"),
        shown(name, str(file), "--config", str(tmp_path / f"no{HOSTILE}"), NO_COLOR="1"),
        shown(name, str(file), "--checks", HOSTILE, NO_COLOR="1"),
    ]

    for text in texts:
        assert [c for c in text if not c.isprintable() and c != "\n"] == []
        assert "\\x1b" in re.sub(r"\s", "", text)


words = st.text(st.sampled_from("a b損e\u0301\u202f—❤\ufe0f界  "), max_size=120)


@given(words, st.integers(20, 60), st.integers(0, 30))
def test_wrapping_loses_nothing(text: str, width: int, indent: int) -> None:
    """All but spaces is still there, in order, and every line fits."""
    lines = wrapped(text, width, indent)

    assert re.sub(" ", "", "".join(lines)) == re.sub(" ", "", text)
    assert all(cell_len(line) <= width for line in lines)


@given(words, st.integers(10, 60))
def test_shortening_keeps_the_ends(text: str, width: int) -> None:
    """What is too long loses its middle."""
    short = shortened(text, width)

    assert cell_len(short) <= width
    head, mark, tail = short.partition("…")
    assert short == text or (mark and text.startswith(head) and text.endswith(tail))


def test_codes_have_no_width() -> None:
    """A coloured text is wrapped as one without colour."""
    text = f"{click.style('critical', fg='red')} {click.style('損' * 30, bold=True)}"
    lines = fitted(text, 40)

    assert cells(text) == 69
    assert click.unstyle(lines) == fitted(click.unstyle(text), 40)
    assert click.unstyle(fitted("  a " + "b " * 30, 40)).split("\n")[1].startswith(" " * 4 + "b")


def test_a_table_gives_way_at_its_ends() -> None:
    """The first column is shortened and the last wrapped below itself; the others stand."""
    rows = [("RUN", "LOSS", "FINDINGS"), ("n" * 90, "0.25", "w " * 60)]
    head, row = table(rows, 80)
    first, *others = row.split("\n")

    assert max(map(len, [head, first, *others])) <= 80
    assert "…" in first
    assert "0.25" in first
    assert {line.index("w") for line in others} == {first.index("w")} == {head.index("FINDINGS")}
    assert table(rows, None)[1] == f"{'n' * 90}  0.25  {'w ' * 60}".rstrip()
