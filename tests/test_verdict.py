"""What a file is said to be, and what to do: for each way in which it may be none."""

from __future__ import annotations

import gzip
import os
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwatch.config import Settings, load_settings
from tailwatch.core.observations import Observations
from tailwatch.diagnose import Diagnosis, Reading, fields_of
from tailwatch.followed import Followed
from tailwatch.targets import Target
from tailwatch.verdict import Verdict, judge, mapped_by, suggested_map, unfollowed

from .e2e.daemon import row


def look(
    path: Path, data: bytes, settings: Settings | None = None
) -> tuple[Verdict, Observations, Diagnosis]:
    """Judge a file with this content."""
    path.write_bytes(data)
    settings = settings or load_settings({}, {}, os.devnull)
    target = Target(str(path), None, len(data), True)
    seen = Observations(fields_of(target, settings))
    diagnosis = Reading(settings).read(target, observer=seen)
    assert isinstance(diagnosis, Diagnosis)
    return judge(diagnosis, seen), seen, diagnosis


@pytest.mark.parametrize(
    ("data", "reason", "words"),
    [
        (row(1, 2.0).encode(), None, "a metric file"),
        (b"", "empty", "it is empty"),
        (b"\n \n", "empty", "no row yet"),
        (b'{"step": 1, "lo', "empty", "beginning of one line"),
        (b"Epoch 1: loss 3\n", "no_json", "looks like text"),
        (b"step,loss,lr\n1,2,3\n", "no_json", "table"),
        (b"a\0b\nc\n", "no_json", "binary"),
        (gzip.compress(b"x" * 5000, mtime=0), "no_json", "gzip"),
        (b"PK\x03\x04 \n", "no_json", "zip archive"),
        (b'{\n  "log_history": [\n    {"loss": 1}\n  ]\n}\n', "no_json", "over many lines"),
        (b'{"text": "a", "label": 1}\n' * 3, "data_set", "data set: text"),
        (b'{"prompt": "a", "completion": "b"}\n', "data_set", "prompt, completion"),
        (b'{"event": "config", "lr": 1e-6}\n', "no_training_fields", "describe the run"),
        (b'{"x": 1}\n', "no_training_fields", "its only row"),
        (b'{"x": 1}\n' * 3, "no_training_fields", "any of its 3 rows"),
        (b'{"x": 1}\n' * 9000, "no_training_fields", "its first 7282 rows (64 KiB)"),
        (b'{"reward": 1}\n', "no_training_fields", "a reward counts only in a row with a step"),
    ],
)
def test_what_a_file_is(tmp_path: Path, data: bytes, reason: str | None, words: str) -> None:
    """Each kind of file is told from the others, in words that name what it is."""
    verdict, _, diagnosis = look(tmp_path / "m.jsonl", data)

    assert (reason, True) == (verdict.reason, words in verdict.message), verdict
    assert (verdict.reason is None) == diagnosis.reader.is_metric


def test_what_was_skipped_for_another_reason_says_it(tmp_path: Path) -> None:
    """A reason that reading itself gave goes before all others."""
    _, seen, diagnosis = look(tmp_path / "m.jsonl", b"")
    diagnosis.skipped = "the rows are those of another file"

    assert judge(diagnosis, seen).message == "the rows are those of another file"


def test_the_advice_works(tmp_path: Path) -> None:
    """Put into the settings, the rule that is proposed makes the file a metric file."""
    path = tmp_path / 'odd "name" [1].jsonl'
    data = (
        b'{"global_step_no": 1, "my.objective": 2.5, "x": {"g_norm": 1.5}, "aux_loss_part": 1}\n'
    )
    verdict, seen, _ = look(path, data)
    assert verdict.reason == "no_training_fields"
    _, _, rule = verdict.advice[0].partition("\n")
    (tmp_path / "t.toml").write_text(rule)
    settings = load_settings({}, {}, str(tmp_path / "t.toml"))
    again, seen, diagnosis = look(path, data, settings)

    assert again.reason is None
    assert seen.keys.feeding("loss")
    assert seen.keys.feeding("grad_norm")
    assert diagnosis.reader.first_step == 1


def test_the_key_that_is_there_most_often_is_proposed(tmp_path: Path) -> None:
    """Of several that look like a loss, the one in most rows, then the shortest."""
    data = b'{"loss_part_a": 1}\n' + b'{"a_loss_total": 2, "a_loss": 3}\n' * 2
    _, seen, _ = look(tmp_path / "m.jsonl", data)

    assert suggested_map(seen) == {"loss": "a_loss"}


def test_what_is_fed_needs_no_proposal(tmp_path: Path) -> None:
    """A field that some key feeds is not proposed again."""
    _, seen, _ = look(
        tmp_path / "m.jsonl", b'{"step": 1, "loss": 2, "loss_cls": 1, "g_norm": 1}\n'
    )

    assert suggested_map(seen) == {"grad_norm": "g_norm"}


@given(st.text(min_size=1), st.text(st.characters(exclude_characters="/\0"), min_size=1))
def test_a_proposed_rule_is_printable_toml(key: str, name: str) -> None:
    """Whatever the key and the file are called, each line is printable and TOML reads it back."""
    first, _, rule = mapped_by({"loss": key}, f"runs/{name}").partition("\n")
    (read,) = tomllib.loads(rule)["fields"]

    assert all(line.isprintable() for line in (first, *rule.split("\n")))
    assert read["map"]["loss"] == key.encode("utf-8", "replace").decode() or "?" in str(
        key.encode("utf-8", "replace")
    )


def test_standard_input_has_no_path_to_name() -> None:
    """A rule for what came from a pipe is for every file."""
    assert "paths" not in mapped_by({"loss": "x"}, "-")


@pytest.mark.parametrize(
    ("found", "reason", "words"),
    [
        (Followed("/r", "a.txt"), "not_included", "no pattern of include matches a.txt"),
        (Followed("/r", "a", include="*", exclude="a*"), "excluded", "a* of exclude matches a"),
        (Followed("/r", "a", include="*", link="/r/l\x1b"), "link", "/r/l\\x1b is a symbolic"),
        (Followed("/r", "a", include="*", outside=True), "outside", "none of the paths"),
    ],
)
def test_why_it_is_not_followed(found: Followed, reason: str, words: str) -> None:
    """The reason is named with what can be done about it, in printable words."""
    verdict = unfollowed(found)

    assert verdict is not None
    assert (reason, True) == (verdict.reason, words in verdict.message)
    assert verdict.advice
    assert all(text.isprintable() for text in (verdict.message, *verdict.advice))
    assert unfollowed(Followed("/r", "a", include="*")) is None
