"""Rules of one's own: what keys mean, by the path of the file."""

from __future__ import annotations

from tailwatch.core.field_rules import MAPPABLE, FieldRule, FieldRules
from tailwatch.core.fields import FieldMap

RULES = FieldRules(
    [
        FieldRule(("**",), {"loss": "a"}, ("x",)),
        FieldRule(("rl/**", "*.ndjson"), {"loss": "b"}, ("y",)),
    ]
)


def test_rules_add_up_and_the_later_wins() -> None:
    """A file under two rules has the mappings of both, the later's first, and both silences."""
    version = FieldMap({"loss": "b"}, ["x", "y"]).version
    assert RULES.of("/r/rl/deep/m.jsonl", "/r").version == version
    assert RULES.of("/r/m.ndjson", "/r").version == version
    assert RULES.of("/r/m.jsonl", "/r").version == FieldMap({"loss": "a"}, ["x"]).version


def test_a_named_file_is_seen_with_its_directory() -> None:
    """A file that was given by name is matched as `directory/name`."""
    assert RULES.of("/any/rl/m.jsonl", None) is RULES.of("/r/rl/m.jsonl", "/r")


def test_files_under_the_same_rules_share_a_map() -> None:
    """10,000 runs do not have 10,000 maps."""
    none = FieldRules()
    assert none.of("/a/b.jsonl", "/a") is none.of("/c/d.jsonl", None)


def test_every_mappable_field_can_be_mapped() -> None:
    """Whatever a rule may name reaches the row."""
    for name in MAPPABLE:
        value: object = {"timestamp_s": 1.7e9}.get(name, 2.5)
        assert name in FieldMap({name: "own.key"}).read({"own": {"key": value}}).values
