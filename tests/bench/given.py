"""Logs for the tests of what measures on them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from tailwatch.bench.logs import Log, read_logs
from tailwatch.config import load_settings
from tailwatch.diagnose import Target, targets

SETTINGS = load_settings({}, {}, os.devnull)


def log_of(directory: Path, records: Iterable[dict[str, Any]] | str) -> Log:
    """The log of these rows, or of this text."""
    text = records if isinstance(records, str) else "".join(json.dumps(r) + "\n" for r in records)
    path = directory / "run" / "metrics.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    (got,) = read_logs(found_in(directory), SETTINGS, lambda _: None)
    assert isinstance(got, Log)
    return got


def found_in(directory: Path) -> list[Target]:
    """The files of a directory."""
    return [one for one in targets([str(directory)], SETTINGS) if isinstance(one, Target)]


def healthy(rows: int, **more: Any) -> Iterator[dict[str, Any]]:
    """A loss that falls from 3 to 1, with a little noise, and a gradient norm."""
    noise = Random(f"healthy/{rows}")
    for n in range(1, rows + 1):
        loss = (1 + 2 / (1 + n / 20)) * noise.uniform(0.97, 1.03)
        yield {"step": n, "loss": loss, "grad_norm": noise.uniform(0.9, 1.1), **more}
