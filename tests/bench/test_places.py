"""Places: seeded, after the warm-up, within one segment, and only in logs that are long enough."""

from __future__ import annotations

from pathlib import Path

from tailwatch.bench.faults import FAULTS
from tailwatch.bench.places import (
    LOG_ROWS_MIN,
    PLACES,
    SEGMENT_ROWS_MIN,
    Place,
    halts,
    places,
)

from .given import healthy, log_of


def starts(found: list[Place]) -> list[tuple[str, int, float]]:
    return [(place.fault.name, place.rows[0], place.size) for place in found]


def test_the_same_seed_gives_the_same_places(tmp_path: Path) -> None:
    """Places and sizes depend on the log and the seed, and on nothing else."""
    log = log_of(tmp_path, healthy(400))

    assert starts(list(places(log, 1))) == starts(list(places(log, 1)))
    assert starts(list(places(log, 1))) != starts(list(places(log, 2)))
    assert halts(log, 1) == halts(log, 1) != halts(log, 2)


def test_each_kind_that_fits_has_its_places(tmp_path: Path) -> None:
    """A long log gets each kind of fault that suits it so many times, with rows before it."""
    found = list(places(log_of(tmp_path, healthy(900)), 1))
    kinds = [place.fault.name for place in found]

    assert dict.fromkeys(kinds, PLACES) == {kind: kinds.count(kind) for kind in kinds}
    assert {fault.name for fault in FAULTS} - set(kinds) == {"NaN as 0, no norm"}
    for place in found:
        numbers = [row.number for row in place.before]
        assert list(range(place.rows[0] - 19, place.rows[0] + 1)) == numbers
        assert len(place.rows) == place.fault.rows


def test_a_short_log_gets_none(tmp_path: Path) -> None:
    """One row less than the least, and nothing is put into it."""
    log = log_of(tmp_path, healthy(LOG_ROWS_MIN - 1))

    assert list(places(log, 1)) == []
    assert halts(log, 1) == []
    assert list(places(log_of(tmp_path, healthy(LOG_ROWS_MIN)), 1)) != []


def test_faults_stay_in_a_segment(tmp_path: Path) -> None:
    """No fault stands in the first rows of a segment, or goes on into the next."""
    log = log_of(tmp_path, [*healthy(110), *healthy(110), *healthy(110)])
    found = [place for seed in range(20) for place in places(log, seed)]

    assert {1, 2, 3} == {log.rows[place.rows[0]].segment for place in found}
    for place in found:
        assert place.rows[0] % 110 >= SEGMENT_ROWS_MIN
        assert place.rows[0] // 110 == place.rows[-1] // 110


def test_only_rows_with_the_fields_are_meant(tmp_path: Path) -> None:
    """Evaluation rows between are passed over."""
    records = []
    for record in healthy(300):
        records += [record, {"step": record["step"], "eval_loss": 2.0}]
    log = log_of(tmp_path, records)

    for place in places(log, 1):
        assert all("loss" in log.rows[n].row.values for n in place.rows)
        assert {2} == {b - a for a, b in zip(place.rows, place.rows[1:], strict=False)}
