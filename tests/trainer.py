"""What Hugging Face's trainer does with its state: saves, rotations and resumes."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any


class Trainer:
    """
    A trainer that saves its state below *out*.

    Args:
        limit: How many saves are kept (`save_total_limit`).
        time_s: When its first save is written (Unix seconds); each later one a second after.
    """

    def __init__(self, out: Path, limit: int | None = None, time_s: float | None = None) -> None:
        self.out, self.limit = out, limit
        self.time_ns = None if time_s is None else int(time_s * 1e9)
        self.history: list[dict[str, Any]] = []

    def log(self, step: int, loss: float, **more: Any) -> None:
        self.history.append({"loss": loss, "step": step, "epoch": step / 100, **more})

    def log_to(self, last_step: int, loss: float = 2.0) -> None:
        """A row every 10 steps, up to *last_step*."""
        first = self.history[-1]["step"] + 10 if self.history else 10
        for step in range(first, last_step + 1, 10):
            self.log(step, loss - step / 10_000)

    def document(self) -> str:
        state = {
            "best_metric": None,
            "epoch": 1.0,
            "global_step": self.history[-1]["step"] if self.history else 0,
            "log_history": self.history,
            "max_steps": 10_000,
            "stateful_callbacks": {"TrainerControl": {"args": {"should_log": False}}},
        }
        return json.dumps(state, indent=2, sort_keys=True) + "\n"

    def path(self, name: str) -> Path:
        return self.out / name / "trainer_state.json"

    def save(self, name: str = "", part: float = 1.0) -> Path:
        """Write a save, or only the first *part* of it; then delete the oldest above the limit."""
        name = name or f"checkpoint-{self.history[-1]['step']}"
        text = self.document()
        path = self.write(self.path(name), text[: int(len(text) * part)])
        if self.limit is not None and part == 1.0:
            for old in self.saves()[: -self.limit]:
                shutil.rmtree(old.parent)
        return path

    def finish(self) -> Path:
        """The last save, beside the others."""
        return self.write(self.out / "trainer_state.json", self.document())

    def write(self, path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if self.time_ns is not None:
            self.time_ns += 1_000_000_000
            os.utime(path, ns=(self.time_ns, self.time_ns))
        return path

    def saves(self) -> list[Path]:
        """Those in directories, oldest first."""
        found = self.out.glob("checkpoint-*/trainer_state.json")
        return sorted(found, key=lambda path: (path.stat().st_mtime_ns, str(path)))

    def resume(self, name: str) -> None:
        """Begin again from a save: its history, and nothing of what came after."""
        self.history = json.loads(self.path(name).read_text())["log_history"]
