"""Files that were not known: a run that has moved, one that is back, or a new one."""

from __future__ import annotations

from pathlib import Path

from tailwatch.discovery import MOVED_S
from tests.files_kit import ROW, Kit, after_its_end


def test_a_file_that_was_moved_away_is_known_when_it_is_back(tmp_path: Path) -> None:
    """Moved out of sight for minutes, and back under another name: the same run, read on."""
    (tmp_path / "runs").mkdir()
    kit = Kit(tmp_path / "runs")
    path = kit.put("m.jsonl", ROW)
    kit.sweep(1000.0)
    kit.drain()
    Path(path).rename(tmp_path / "away.jsonl")
    after_its_end(kit, 10.0)
    with (tmp_path / "away.jsonl").open("ab") as file:
        file.write(ROW)
    back = tmp_path / "runs" / "back.jsonl"
    (tmp_path / "away.jsonl").rename(back)
    kit.sweep(1000.0, 1000.0)
    kit.drain(1000.0, 1000.0)

    assert list(kit.ended) == [path]
    assert [(t.name, t.path, t.reader.rows) for t in kit.files.all()] == [("m", str(back), 2)]


def test_a_run_that_has_moved_is_followed_where_it_is(tmp_path: Path) -> None:
    """After half a minute at another path the run is there, under its own name."""
    kit = Kit(tmp_path)
    path = Path(kit.put("m.jsonl", ROW))
    kit.sweep(1000.0)
    kit.drain()
    path.rename(tmp_path / "n.jsonl")
    places = []
    for now_s in (0.0, MOVED_S - 1.0, MOVED_S + 1.0):
        kit.sweep(1000.0, now_s)
        kit.drain(1000.0, now_s)
        places += [(t.name, Path(t.path).name, t.reader.rows) for t in kit.files.all()]

    assert places == [("m", "m.jsonl", 1), ("m", "m.jsonl", 1), ("m", "n.jsonl", 1)]
