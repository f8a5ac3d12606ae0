"""The soak's trainers: what they say they wrote is what stands in the files."""

from __future__ import annotations

import gzip
import json
import math
import multiprocessing
import threading
import time
from pathlib import Path
from random import Random

import pytest

from tests.bench import soak_writers
from tests.bench.soak_writers import NAN_ROWS, Run, compress, train


def steps(path: Path) -> list[int]:
    """The steps of all rows of a run, in order, the rotated ones first."""
    text = b""
    for old in sorted(path.parent.glob(f"{path.name}.1*")):
        data = old.read_bytes()
        text += gzip.decompress(data) if old.suffix == ".gz" else data
    return [json.loads(line)["step"] for line in (text + path.read_bytes()).splitlines()]


@pytest.mark.parametrize("packed", [False, True])
def test_no_row_is_lost_to_torn_writes_and_rotation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    """Each step stands there once, though every write ends within a row."""
    monkeypatch.setattr(soak_writers, "TORN", 1.0)
    run = Run(tmp_path / "m.jsonl", Random(1))
    run.write(5)
    assert not run.path.read_bytes().endswith(b"\n")
    old = run.rotate()
    if packed:
        compress(old)
    run.write(5)
    run.flush()

    assert steps(run.path) == list(range(10))
    assert run.rows == 10


def test_a_run_goes_nan_and_recovers(tmp_path: Path) -> None:
    """Just so many rows are NaN."""
    run = Run(tmp_path / "m.jsonl", Random(1))
    run.go_nan()
    run.write(NAN_ROWS + 2)
    run.flush()

    lines = run.path.read_text().splitlines()
    assert ["NaN" in line for line in lines] == [True] * NAN_ROWS + [False] * 2


def test_a_process_reports_what_it_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With rotations all the time: the rows of each path, as they stand in its files."""
    monkeypatch.setattr(soak_writers, "ROTATE_EVERY_S", 0.0)
    paths = [str(tmp_path / f"run{n}" / "m.jsonl") for n in range(400)]
    end, total = multiprocessing.Value("i", 0), multiprocessing.Value("q", 0)
    ours, theirs = multiprocessing.Pipe(duplex=False)
    thread = threading.Thread(target=train, args=(paths, 1e4, 1, end, total, theirs))
    thread.start()
    while total.value < 500:
        assert thread.is_alive()
        time.sleep(0.01)
    end.value = 1
    written, went_nan, rotations = ours.recv()
    thread.join()

    assert list(written) == paths
    assert [steps(Path(path)) for path in paths] == [list(range(n)) for n in written.values()]
    assert sum(written.values()) == total.value >= 500
    assert rotations > 0
    assert went_nan == []


def test_a_process_reports_each_run_of_which_a_nan_stands_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that is to go NaN once more just before the end, and no other."""
    monkeypatch.setattr(soak_writers, "NAN_EVERY_S", 0.05)
    monkeypatch.setattr(soak_writers, "ROTATE_EVERY_S", math.inf)
    paths = [str(tmp_path / f"run{n}" / "m.jsonl") for n in range(20)]
    end, total = multiprocessing.Value("i", 0), multiprocessing.Value("q", 0)
    ours, theirs = multiprocessing.Pipe(duplex=False)
    thread = threading.Thread(target=train, args=(paths, 400.0, 1, end, total, theirs))
    thread.start()
    while total.value < 400:
        assert thread.is_alive()
        time.sleep(0.01)
    end.value = 1
    _, went_nan, _ = ours.recv()
    thread.join()

    assert went_nan == [path for path in paths if "NaN" in Path(path).read_text()] != []
