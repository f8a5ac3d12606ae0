"""What is kept of a followed file across a restart, and the file as it is taken up again."""

from __future__ import annotations

from typing import Any

from .core.cursor import Cursor
from .core.lines import LineBuffer
from .core.silence import Arrivals
from .errors import StateOutdated
from .messages import RunRecord, Tally
from .paging import Paged
from .readers import KeptReader
from .tracked import NAMES_MAX, Previous, Tracked

_KEPT = (
    "at_path",
    "history_end",
    "history_told",
    "rebuild_end",
    "last_row_s",
    "last_seen_s",
    "at_rest",
    "active_s",
    "mtime_s",
)


def record_of(tracked: Tracked) -> RunRecord:
    """What to keep of it."""
    assert tracked.name is not None
    state: dict[str, Any] = tracked.kept.to_state() | {
        "cursor": tracked.cursor.to_state(),
        "tallies": tracked.tallies,
        "paged": tracked.paged,
        "previous": [each.cursor.to_state() for each in tracked.previous],
        "arrivals": tracked.arrivals.to_state(),
        "aliases": list(tracked.aliases.items())[-NAMES_MAX:],
        "past": [cursor.to_state() for cursor in tracked.past],
    }
    for name in _KEPT:
        state[name] = getattr(tracked, name)
    return RunRecord(tracked.path, tracked.name, tracked.root, state)


def tracked_of(record: RunRecord, kept: KeptReader) -> Tracked:
    """
    The file that `record_of` was called on; to be read again if its state is outdated.

    Args:
        kept: A new reader of the file.
    """
    state = record.state
    cursor, proof = Cursor.from_state(state["cursor"]), None
    try:
        kept.restore(state)
    except StateOutdated:
        state = state | {"rebuild_end": max(cursor.offset, state["rebuild_end"])}
        proof, cursor = cursor, Cursor()
    tracked = Tracked(record.path, record.root, kept, record.name, cursor, proof=proof)
    tracked.heard = kept.summary().heard
    tracked.tallies = {k: Tally(*v) for k, v in state["tallies"].items()}
    tracked.paged = {k: Paged(*v) for k, v in state["paged"].items()}
    for saved in state["previous"]:
        old = Cursor.from_state(saved)
        tracked.previous.append(Previous(old, LineBuffer(offset=old.offset), 0.0))
    tracked.arrivals = Arrivals(**state.get("arrivals", {}))
    tracked.aliases = {path: (inode[0], inode[1]) for path, inode in state.get("aliases", [])}
    tracked.past = [Cursor.from_state(saved) for saved in state["past"]]
    for name in _KEPT:
        if name in state:  # An older version kept fewer.
            setattr(tracked, name, state[name])
    tracked.at_path = tuple(tracked.at_path)
    return tracked
