"""
Which key of a trainer's row means what: the alias table.

A source key is tried as it is written; one with dots also as a path into nested
objects (`data.actor/pg_loss` is `row["data"]["actor/pg_loss"]`). The first key
of a field that a row has wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

ALIASES: dict[str, tuple[str, ...]] = {
    "step": (
        "step",
        "global_step",
        "current_steps",
        "iteration",
        "trainer/global_step",
        "train/global_step",
        "_step",
        "num_updates",
        "training_iteration",
        "iter",
        "time/total_timesteps",
    ),
    "epoch": ("epoch", "train/epoch", "_epoch", "current_epoch"),
    "loss": (
        "loss",
        "train_loss",
        "train/loss",
        "total_loss",
        "training_loss",
        "train/loss_mean",
        "lm_loss",
        "lm loss",
        "loss/out",
        "train_mean_nll",
        "dpo_loss",
        "train/opt/loss",
        "data.actor/pg_loss",
        "actor/pg_loss",
    ),
    "eval_loss": (
        "eval_loss",
        "eval/loss",
        "val_loss",
        "val/loss",
        "valid_loss",
        "validation_loss",
        "validation/loss",
        "test_loss",
        "test/nll",
    ),
    "grad_norm": (
        "grad_norm",
        "gradient_norm",
        "train/grad_norm",
        "optim/grad_norm",
        "gnorm",
        "train_grad_norm",
        "grad norm",
        "total_grad_norm",
        "train/opt/grad_norm",
        "data.actor/grad_norm",
        "actor/grad_norm",
    ),
    "learning_rate": (
        "learning_rate",
        "lr",
        "train_lr",
        "train/lr",
        "train/learning_rate",
        "optim/lr",
        "actor/lr",
        "data.actor/lr",
        "base_lr",
    ),
    "timestamp": ("_timestamp", "timestamp", "created_at", "ts", "time"),
}
"""Canonical field -> source keys, best first."""

TRAINING_FIELDS = frozenset({"loss", "eval_loss", "grad_norm", "learning_rate"})
"""A file is a metric file once a row has one of these."""

# (field, source key) -> keys whose presence in the row means it is something else.
_NOT_BESIDE: dict[tuple[str, str], frozenset[str]] = {
    # Hugging Face ends a log with a summary row; its train_loss is the average of the run.
    ("loss", "train_loss"): frozenset({"train_runtime", "total_flos"}),
    # With an epoch beside it, iter counts within the epoch (mmcv) and falls every epoch.
    ("step", "iter"): frozenset({"epoch"}),
}


class _Candidate(NamedTuple):
    field: str
    path: tuple[str, ...]


class FieldMap:
    """
    Find the canonical fields of rows.

    Trainers write the same keys in row after row, so the keys of a row are
    turned into a short plan once, and the plan is kept.

    >>> fields = FieldMap()
    >>> fields.read({"current_steps": 5, "loss": 0.5, "lr": 1e-4, "note": "hi"})
    {'step': 5, 'loss': 0.5, 'learning_rate': 0.0001}
    >>> fields.read({"step": 3, "data": {"actor/pg_loss": None}})
    {'step': 3, 'loss': None}
    >>> fields.read({"train_loss": 1.5, "train_runtime": 360.0})
    {}
    """

    _PLANS_MAX = 256

    def __init__(self, aliases: Mapping[str, tuple[str, ...]] = ALIASES) -> None:
        self._aliases = aliases
        self._plans: dict[tuple[str, ...], list[_Candidate]] = {}

    def read(self, record: Mapping[str, object]) -> dict[str, object]:
        """Return canonical field -> raw value, for the fields that *record* has."""
        keys = tuple(record)
        plan = self._plans.get(keys)
        if plan is None:
            plan = self._plan(record)
            if len(self._plans) >= self._PLANS_MAX:
                self._plans.clear()
            self._plans[keys] = plan
        found: dict[str, object] = {}
        for name, path in plan:
            if name in found:
                continue
            if len(path) == 1:
                found[name] = record[path[0]]
            else:
                value: object = record
                for part in path:
                    if type(value) is not dict or part not in value:
                        break
                    value = value[part]
                else:
                    found[name] = value
        return found

    def _plan(self, record: Mapping[str, object]) -> list[_Candidate]:
        plan = []
        for name, keys in self._aliases.items():
            for key in keys:
                if not _NOT_BESIDE.get((name, key), frozenset()).isdisjoint(record):
                    continue
                if key in record:
                    plan.append(_Candidate(name, (key,)))
                    break  # A flat key is there or not: nothing after it can win.
                path = tuple(key.split("."))
                if len(path) > 1 and path[0] in record:
                    plan.append(_Candidate(name, path))
        return plan
