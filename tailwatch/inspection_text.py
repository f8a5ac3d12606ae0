"""What `tailwatch inspect` prints for a person: as wide as the terminal, else 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

import click

from .core.key_use import Use
from .core.names import escape
from .core.numbers import shown
from .core.observations import Observations, shortened
from .core.runconfig import CONFIG_NAMES
from .core.sparkline import sparkline
from .diagnose import Diagnosis
from .inspection import Inspected, Inspection
from .inspection_document import bad_lines, config_document, last_step, progress_of
from .terminal import wrapped
from .unmatched import Unmatched
from .verdict import Verdict, mapped_by, suggested_map

COLUMNS = 80
_LABEL = 13
_FIELD = 18
_NAMES_SHOWN = 8
_KEY_CHARS_MAX = 40
_STEPS_ARE = {
    "epoch and iter": "counted from epoch and iter",
    "epoch": "whole epochs",
}


class Line(NamedTuple):
    """
    A line, and how far in it goes on when it is too long.

    Attributes:
        whole: Something to be copied: it is broken only where the terminal would do it.
    """

    text: str
    indent: int = 4
    whole: bool = False


def inspection_text(inspected: Inspected, width: int | None = None) -> str:
    """All of it, in *width* cells, if there is a terminal that has so many."""
    parts = [_laid_out(_file(each), width) for each in inspected.files]
    parts += [_laid_out(_left_out(each), width) for each in inspected.left_out if each.count]
    return "\n\n".join(parts) or "no file with the name of a metric file"


def _laid_out(lines: Iterator[Line], width: int | None) -> str:
    narrow = width or COLUMNS
    return "\n".join(
        each
        for line in lines
        for each in wrapped(line.text, width if line.whole else narrow, line.indent)
    )


def _file(one: Inspection) -> Iterator[Line]:
    run = one.diagnosis.run if one.diagnosis else ""
    yield Line(f"{click.style(run, bold=True)}  {escape(one.file)}".strip(), whole=True)
    good = one.verdict.reason is None
    message = one.verdict.message if good else f"no metric file: {one.verdict.message}"
    yield Line("  " + click.style(message, fg="green" if good else "yellow"), 2)
    yield from _advice(one.verdict)
    yield from _followed(one)
    if one.diagnosis is None or one.seen is None:
        return
    if one.diagnosis.reader.rows:
        yield from _trainer(one)
        yield from _rows(one.diagnosis, one.seen)
    yield from _bad_lines(one.diagnosis, one.seen)
    yield from _fields(one.seen)
    if good:
        yield from _torn(one.diagnosis)
        yield from _hints(one)
        yield from _config(one.diagnosis)
        yield from _checks(one.diagnosis)


def _item(label: str, text: str, indent: int = 2, width: int = _LABEL) -> list[Line]:
    """A label and a text, wrapped beside it."""
    return [Line(" " * indent + label.ljust(width) + text, indent + width)]


def _advice(verdict: Verdict) -> Iterator[Line]:
    for advice in verdict.advice:
        first, *settings = advice.split("\n")
        yield from _item("what to do", first)
        for line in settings:
            yield Line(" " * (_LABEL + 4) + line, _LABEL + 6, whole=True)


def _followed(one: Inspection) -> Iterator[Line]:
    if one.unfollowed is not None:
        yield from _item("not followed", one.unfollowed.message)
        yield from _advice(one.unfollowed)
    elif one.followed is not None and one.followed.named:
        yield from _item("name", "it is itself in paths, whatever its name")
    elif one.followed is not None:
        path = shortened(escape(one.followed.relative), 60)
        yield from _item("name", f"{path} matches {escape(one.followed.include or '')} of include")


def _trainer(one: Inspection) -> list[Line]:
    if one.trainer is None:
        return _item("trainer", "unknown")
    return _item("trainer", f"{one.trainer.name} ({', '.join(map(escape, one.trainer.keys))})")


def _torn(diagnosis: Diagnosis) -> Iterator[Line]:
    if torn := diagnosis.reader.received - diagnosis.reader.offset:
        yield from _item("torn", f"the last line has no newline yet and is no row: {torn} bytes")


def _rows(diagnosis: Diagnosis, seen: Observations) -> Iterator[Line]:
    yield from _item(
        "rows", ", ".join(f"{n} {kind.value}" for kind, n in seen.kinds.most_common())
    )
    yield from _item("steps", "; ".join(_steps(diagnosis, seen)))
    if curve := sparkline(list(diagnosis.reader.monitor.recent)):
        yield from _item("recent", f"{curve} (the last losses)")
    if seen.longest is not None:
        gap = seen.longest
        yield from _item(
            "gaps",
            f"longest {_duration(gap.seconds)}, before row {gap.row} (step {shown(gap.step)}); "
            f"median {_duration(seen.gaps.median or 0)}",
        )


def _steps(diagnosis: Diagnosis, seen: Observations) -> Iterator[str]:
    if seen.steps_are == "row":
        yield "the numbers of the rows: no key is a step"
    else:
        text = f"{shown(diagnosis.reader.first_step)} to {shown(last_step(diagnosis, seen))}"
        interval = seen.intervals.median
        yield text if interval is None else f"{text}, every {shown(interval)}"
    if seen.steps_are in _STEPS_ARE:
        yield _STEPS_ARE[seen.steps_are]
    done = progress_of(diagnosis, seen)
    if seen.planned is not None:
        yield f"{shown(seen.planned)} planned" + (f" ({done:.0%} done)" if done else "")
    elif done is not None:
        yield f"{done:.0%} done"
    segments, resumes = diagnosis.reader.monitor.segment, diagnosis.reader.monitor.resumes
    if segments > 1:
        yield f"{segments} segments"
    if resumes:
        yield f"{resumes} resume{'s' * (resumes > 1)}"
    if seen.without_step and seen.with_step:
        yield f"{seen.without_step} row{'s' * (seen.without_step > 1)} without a step"


def _bad_lines(diagnosis: Diagnosis, seen: Observations) -> Iterator[Line]:
    for bad in bad_lines(diagnosis, seen):
        place = f"{bad['count']} {bad['reason']}, the first is line {bad['line']}, "
        yield from _item("bad lines", f"{place}byte {bad['offset']}:")
        if bad["text"]:
            yield Line(" " * 4 + shortened(bad["text"], COLUMNS - 4))


def _fields(seen: Observations) -> Iterator[Line]:
    uses = list(seen.keys.uses.values())
    fed = dict.fromkeys(use.field for use in uses if use.fed)
    if fed:
        yield Line("  fields")
    for field in fed:
        for use in uses:
            if use.field == field and use.fed:
                yield from _item(field, _fed(use), 4, _FIELD)
        for use in uses:
            if use.field == field and not use.fed and (why := _ignored(use)):
                yield from _item("", f"not {_key(use.key)}: {why}", 4, _FIELD)


def _fed(use: Use) -> str:
    first, last = _value(use.field, use.first), _value(use.field, use.last)
    parts = [f"{_key(use.key)}{' (mapped by a setting)' if use.mapped else ''}", _count(use.fed)]
    parts.append(first if first == last else f"{first} to {last}")
    for count, what in ((use.nans, "NaN"), (use.infs, "infinite"), (use.nulls, "null")):
        parts += [f"{count} {what}"] if count else []
    if ignored := _ignored(use):
        parts.append(f"not in others ({ignored})")
    return ", ".join(parts)


def _ignored(use: Use) -> str:
    parts = []
    if use.beaten:
        parts.append(f"{_count(use.beaten)} with a better key")
    if use.doubted:
        parts.append(f"{_count(use.doubted)} passed, since a better key spoke in others")
    if use.withheld and not use.fed:
        parts.append(f"{_count(use.withheld)} that describe the run or are no training")
    return ", ".join(parts)


def _hints(one: Inspection) -> Iterator[Line]:
    assert one.seen is not None
    mapping = suggested_map(one.seen)
    if mapping:
        yield from _advice(Verdict(None, "", (mapped_by(mapping, one.file),)))
    others = [h.key for h in one.seen.keys.hints() if h.key not in mapping.values()]
    if others:
        names = ", ".join(_key(key) for key in others[:_NAMES_SHOWN])
        more = f" and {len(others) - _NAMES_SHOWN} more" if len(others) > _NAMES_SHOWN else ""
        yield from _item("unused", f"look like fields and feed none: {names}{more}")


def _config(diagnosis: Diagnosis) -> Iterator[Line]:
    said = config_document(diagnosis.config)
    if said is None:
        names = ", ".join(CONFIG_NAMES)
        yield from _item("config", f"none beside the file ({names})")
        return
    file = said.pop("file")
    values = ", ".join(f"{k} {_plain(v)}" for k, v in said.items() if v is not None)
    yield from _item("config", f"{file}: {values or 'nothing that checks read'}")


def _plain(value: float | str) -> str:
    return value if isinstance(value, str) else shown(value)


def _checks(diagnosis: Diagnosis) -> Iterator[Line]:
    yield Line("  checks")
    groups: dict[tuple[str, str], list[str]] = {}
    for each in (w.readiness() for w in diagnosis.reader.monitor.watched):
        groups.setdefault((each.state, each.reason), []).append(each.category)
    for state in ("armed", "warming_up", "off"):
        for (of, reason), names in groups.items():
            if of == state:
                text = ", ".join(names) + (f": {reason}" if reason else "")
                yield from _item(state.replace("_", " "), text, 4, _LABEL - 2)


def _left_out(found: Unmatched) -> Iterator[Line]:
    yield Line(click.style(escape(found.directory), bold=True), whole=True)
    more = ", ..." if found.count > len(found.examples) else ""
    names = ", ".join(escape(path) for path in found.examples)
    yield from _item("left out", f"{found.count} that no pattern lets in: {names}{more}")
    if found.metric:
        names = ", ".join(escape(path) for path in found.metric[:_NAMES_SHOWN])
        more = ", ..." if len(found.metric) > _NAMES_SHOWN else ""
        yield from _item("", f"of these, like metric files: {names}{more}")
        yield from _item("what to do", "set include so that it matches them")


def _key(key: str) -> str:
    return shortened(escape(key), _KEY_CHARS_MAX)


def _count(rows: int) -> str:
    return f"{rows} row{'s' * (rows != 1)}"


def _value(field: str, value: float | None) -> str:
    if field == "timestamp_s" and value is not None:
        return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return shown(value)


def _duration(seconds: float) -> str:
    """
    A time for a person.

    >>> _duration(0.25), _duration(62), _duration(1968), _duration(133897)
    ('0.25 s', '62 s', '33 min', '37 h')
    """
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
