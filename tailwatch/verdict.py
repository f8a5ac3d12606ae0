"""Is it a metric file; if not, why not, and what to do about it."""

from __future__ import annotations

import glob
import os
from typing import NamedTuple

from .core.names import escape
from .core.observations import Observations, shortened
from .core.reader import RunReader
from .core.rows import RowKind
from .diagnose import NO_FIELDS, NO_ROWS, Diagnosis
from .followed import Followed
from .targets import STDIN

_MAPPED = ("loss", "eval_loss", "grad_norm", "learning_rate", "reward", "step")
_KEYS_SHOWN = 6
_KEY_CHARS_MAX = 60
_FORMS = (
    (b"\x1f\x8b", "it is compressed (gzip)"),
    (b"\x28\xb5\x2f\xfd", "it is compressed (zstd)"),
    (b"PK\x03\x04", "it is a zip archive, as PyTorch saves models"),
    (b"PAR1", "it is a Parquet file"),
    (b"SQLite format 3", "it is an SQLite database"),
    (b":W&B", "it is a binary log of wandb"),
)
NOT_THE_TRAINERS = "see the trainer's own output: did it start, and does it log to this file?"
ONE_A_LINE = "let the trainer write a file with one JSON object a line"


class Verdict(NamedTuple):
    """
    What a file is to tailwatch.

    Attributes:
        reason: Why it is no metric file, for programs: "empty", "no_json", "data_set",
            "no_training_fields", "not_regular" or "skipped"; None if it is one.
        message: The same for people.
        advice: What to do, one step each.
    """

    reason: str | None
    message: str
    advice: tuple[str, ...] = ()


def judge(diagnosis: Diagnosis, seen: Observations) -> Verdict:
    """Say what the file is that was read."""
    reader = diagnosis.reader
    if diagnosis.skipped not in ("", NO_FIELDS, NO_ROWS):
        return Verdict("skipped", diagnosis.skipped)
    if reader.is_metric:
        return Verdict(None, "a metric file")
    if reader.first_line.strip() in (b"{", b"["):
        text = "it is one JSON document over many lines, and not one object a line"
        return Verdict("no_json", text, (ONE_A_LINE,))
    if not reader.rows:
        return _without_rows(reader)
    return _without_fields(diagnosis, seen)


def _without_rows(reader: RunReader) -> Verdict:
    first = reader.first_line or reader.torn[:256]
    if not reader.received:
        return Verdict("empty", "it is empty", (NOT_THE_TRAINERS,))
    if not first.strip():
        return Verdict("empty", "it holds no row yet", (NOT_THE_TRAINERS,))
    if not reader.bad_lines and first.lstrip().startswith(b"{"):
        text = "it holds the beginning of one line; a row counts with its newline"
        return Verdict("empty", text)
    return Verdict("no_json", f"no line of it is a JSON object: {_form(first)}", (ONE_A_LINE,))


def _form(first: bytes) -> str:
    for magic, form in _FORMS:
        if first.startswith(magic):
            return form
    if b"\0" in first:
        return "it is binary"
    if b"{" not in first and first.count(b",") + first.count(b"\t") >= 2:
        return "it looks like a table (CSV)"
    return "it looks like text"


def _without_fields(diagnosis: Diagnosis, seen: Observations) -> Verdict:
    keys = [key for key, count in seen.data_keys.most_common(_KEYS_SHOWN) if count]
    mapping = suggested_map(seen)
    advice = (mapped_by(mapping, diagnosis.file),) if mapping else ()
    if keys and seen.kinds[RowKind.OTHER] == diagnosis.reader.rows:
        shown = ", ".join(escape(key) for key in keys)
        return Verdict("data_set", f"it looks like a data set: {shown}", advice)
    kinds = {kind for kind, count in seen.kinds.items() if count}
    if kinds <= {RowKind.METADATA, RowKind.END}:
        text = "it holds only rows that describe the run: its configuration, or its end"
        return Verdict("no_training_fields", text, advice or (NOT_THE_TRAINERS,))
    rows = diagnosis.reader.rows
    where = f"its first {rows} rows (64 KiB)" if diagnosis.reader.skippable else _all_rows(rows)
    text = f"no loss, evaluation loss, gradient norm or learning rate in {where}"
    if seen.keys.feeding("reward"):
        text += "; a reward counts only in a row with a step"
    return Verdict("no_training_fields", text, advice)


def _all_rows(rows: int) -> str:
    return "its only row" if rows == 1 else f"any of its {rows} rows"


def suggested_map(seen: Observations) -> dict[str, str]:
    """For each field that no key feeds, the key that looks most like it."""
    best: dict[str, tuple[int, int, str]] = {}
    for hint in seen.keys.hints():
        # The one in most rows; a sum has a shorter name than its parts.
        rank = (-hint.rows, len(hint.key), hint.key)
        if not seen.keys.feeding(hint.field) and rank < best.get(hint.field, (0, 0, "")):
            best[hint.field] = rank
    return {field: best[field][2] for field in _MAPPED if field in best}


def mapped_by(mapping: dict[str, str], file: str) -> str:
    """
    The rule that would map the keys so: lines of the settings after a line for a person.

    >>> print(mapped_by({"loss": "objective"}, "runs/exp1/m.jsonl"))
    say what its keys mean, if this is right:
    [[fields]]
    paths = ["m.jsonl"]
    map.loss = "objective"
    """
    lines = ["say what its keys mean, if this is right:", "[[fields]]"]
    if file != STDIN:
        lines.append(f"paths = [{_quoted(glob.escape(os.path.basename(file)))}]")
    lines += [f"map.{field} = {_quoted(key)}" for field, key in mapping.items()]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    """A string of TOML, in printable characters; what TOML cannot hold is replaced."""
    return '"' + "".join(map(_toml, text)) + '"'


def _toml(char: str) -> str:
    code = ord(char)
    if char in '"\\':
        return "\\" + char
    if 0xD800 <= code <= 0xDFFF:
        return "\N{REPLACEMENT CHARACTER}"
    return char if char.isprintable() else f"\\U{code:08x}"


def unfollowed(found: Followed) -> Verdict | None:
    """Why the daemon does not look at a file, whatever is in it; None if it does."""
    if found.yes:
        return None
    relative = shortened(escape(found.relative), _KEY_CHARS_MAX)
    if found.outside:
        return Verdict(
            "outside",
            "it is below none of the paths that are followed",
            ("add its directory to paths",),
        )
    if found.link is not None:
        return Verdict(
            "link",
            f"{escape(found.link)} is a symbolic link, which is not followed below a directory",
            ("add the file, or what the link points to, to paths",),
        )
    if found.exclude is not None:
        text = f"the pattern {escape(found.exclude)} of exclude matches {relative}"
        return Verdict("excluded", text, ("take the pattern out of exclude",))
    name = escape(glob.escape(os.path.basename(found.relative)))
    return Verdict(
        "not_included",
        f"no pattern of include matches {relative}",
        (f'add "**/{name}" to include, or the file itself to paths',),
    )
