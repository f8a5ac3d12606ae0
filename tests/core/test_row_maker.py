"""A file is read to the same rows, whether its lines look alike or not."""

from __future__ import annotations

import json
import random
import sys
from typing import Any

import pytest

from tailwatch.checks import CHECKS
from tailwatch.core import row_maker
from tailwatch.core.fields import FieldMap
from tailwatch.core.lines import Line
from tailwatch.core.reader import RunReader
from tailwatch.core.row_maker import ALIKE_MIN, RowMaker
from tests.core.test_shortcuts import RECORDS
from tests.corpus import MAKERS, healthy, lines
from tests.trainers.mutations import mutated


def line(record: dict[str, Any]) -> Line:
    data = json.dumps(record).encode()
    return Line(data, 0, len(data) + 1)


def fed(record: dict[str, Any], rows: int = ALIKE_MIN + 1) -> RowMaker:
    maker = RowMaker(FieldMap())
    for number in range(1, rows + 1):
        maker.of_record(record, number, 0)
    return maker


def everything(data: bytes, monkeypatch: pytest.MonkeyPatch, alike_min: int) -> str:
    monkeypatch.setattr(row_maker, "ALIKE_MIN", alike_min)
    reader = RunReader(CHECKS)
    transitions = reader.feed(data) + reader.rest()
    return repr((transitions, reader.to_state(), reader.bad_lines, reader.monitor.diagnose()))


@pytest.mark.parametrize("name", RECORDS)
def test_a_file_says_the_same_with_and_without_shortcuts(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows, bad lines, findings and state are the same, broken lines between them included."""
    rng, record = random.Random(name), RECORDS[name]
    sound = json.dumps(record)
    made: list[bytes] = []
    for step in range(2000):
        text = sound.replace("10", str(step)).replace("2.5", repr(rng.gauss(2.5, 0.1)))
        made.append(mutated(rng, [text.encode()]) if rng.random() < 0.02 else text.encode())
    data = b"\n".join(made) + b"\n"

    assert everything(data, monkeypatch, 3) == everything(data, monkeypatch, sys.maxsize)


@pytest.mark.parametrize("kind", MAKERS)
def test_healthy_runs_say_the_same(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runs of the corpus, with their evaluations and their summaries."""
    data = lines(healthy(kind, 1, 600))

    assert everything(data, monkeypatch, 3) == everything(data, monkeypatch, sys.maxsize)


def test_a_line_alone_makes_a_row_once_the_rows_look_alike() -> None:
    """Not before, and not for a line that looks otherwise: then they must look alike anew."""
    record = {"step": 1, "loss": 2.5}

    assert fed(record, ALIKE_MIN).of_line(line(record), 99) is None
    maker = fed(record)
    row = maker.of_line(line(record), 99)
    assert row is not None
    assert (row.values, row.step, row.number) == ({"loss": 2.5}, 1, 99)
    assert maker.of_line(line({"step": 2, "eval_loss": 2.5}), 100) is None
    assert maker.of_line(line(record), 101) is None


def test_a_row_that_describes_the_run_is_wanted_whole() -> None:
    """Not what it has of fields alone: its configuration is read from it."""
    config = {"event": "config", "lr": 1e-6, "nested": {"max_steps": 7}}

    assert fed(config).of_line(line(config), 99) is None
    assert (
        fed({"learning_rate": 0.5, "x": 1}).of_line(line({"learning_rate": 0.5, "x": 1}), 9)
        is None
    )


def test_another_file_begins_without_a_shortcut() -> None:
    """Its first line may be of a header, and is kept."""
    record = {"step": 1, "loss": 2.5}
    maker = fed(record)
    maker.source_restarted()

    assert maker.of_line(line(record), 99) is None


def test_what_a_run_has_shown_is_kept() -> None:
    """A reward makes reinforcement learning of it, across a restart, too."""
    maker = fed({"step": 1, "reward": 2.5, "loss": 1.0, "loss_D": 0.5})
    other = RowMaker(FieldMap())
    other.restore(json.loads(json.dumps(maker.to_state())))
    row = other.of_record({"step": 2, "loss": 1.0}, 2, 0)

    assert (row.rewarded, row.adversarial) == (True, True)
    assert other.to_state()["sources"] == maker.to_state()["sources"]
