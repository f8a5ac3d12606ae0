"""The tables that tell a trainer's keys and labels apart."""

from __future__ import annotations

from tailwatch.core import aliases
from tailwatch.core.aliases import ALIASES, Source
from tailwatch.core.readings import READINGS


def flat(name: str) -> list[Source]:
    members = [one for group in ALIASES[name] for one in _members(group)]
    return [one if isinstance(one, Source) else Source(one) for one in members]


def _members(group: str | Source | tuple[str, ...]) -> list[str | Source]:
    return [group] if isinstance(group, (str, Source)) else list(group)


def test_each_key_stands_once_in_its_field() -> None:
    """No source could never be reached; every reading exists."""
    for name in ALIASES:
        keys = [source.key for source in flat(name)]
        assert len(keys) == len(set(keys)), name
        assert all(source.reading in READINGS for source in flat(name))


def test_training_fields_have_sources() -> None:
    """Every field that makes a metric file is in the table, or has its pattern."""
    assert set(ALIASES) | {"eval_loss"} >= aliases.TRAINING_FIELDS
    assert not any(aliases.EVAL_LOSS.fullmatch(source.key) for source in flat("loss"))
