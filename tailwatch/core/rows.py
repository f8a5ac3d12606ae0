"""A row: one JSON object of a metric file, reduced to its canonical numbers."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from . import aliases, labels
from .fields import FieldMap, Sources
from .plans import Found

BAD_LINE_REASONS = ("not_json", "not_object", "too_deep", "too_long")
"""Why a line was counted and passed: the closed label set of `tailwatch_bad_lines_total`."""


_STEP_MAX = 1e18
_NO_POINT = aliases.TRAINING_FIELDS | aliases.SPEED_FIELDS


class RowKind(enum.Enum):
    """What a row is about."""

    TRAIN = "train"
    EVAL = "eval"
    METADATA = "metadata"
    END = "end"
    OTHER = "other"


@dataclass(slots=True)
class Row:
    """
    Attributes:
        number: Which row of the run this is, counted from 1.
        step: The trainer's own step; without one, the step before it, or the row number
            if the run has no steps at all.
        values: Canonical field -> number. NaN and infinities are kept.
        offset: Byte offset of the line this row came from.
        has_step: False if *step* is not the row's own.
        has_training_field: Whether it carries a field that makes a file a metric file,
            even with null as its value.
        timestamp_s: When the trainer says it wrote the row (Unix seconds), if it does.
        kind: What it is about. Only training and evaluation rows have training fields, and
            only rows that are no evaluation a speed.
        evals: Key -> evaluation loss, for each evaluation set.
        nulls: Canonical fields that are there and null.
        rewarded: Whether the run has shown a reward: it is reinforcement learning.
        adversarial: Whether it has shown the loss of a discriminator: its losses rise
            and fall with the other side's.
        resumed_from: The step before it, if the trainer resumed at an earlier one.
    """

    number: int
    step: int | float
    values: dict[str, float]
    offset: int
    has_step: bool = True
    has_training_field: bool = True
    timestamp_s: float | None = None
    kind: RowKind = RowKind.TRAIN
    evals: dict[str, float] = field(default_factory=dict)
    nulls: tuple[str, ...] = ()
    rewarded: bool = False
    adversarial: bool = False
    resumed_from: float | None = None

    @property
    def loss_wanders(self) -> bool:
        """Whether the loss is no measure of progress: a low one is not better."""
        return self.rewarded or self.adversarial

    @property
    def progress(self) -> float | None:
        """How far the run is, 0 to 1, as far as the row says."""
        planned = self.values.get("planned_steps")
        if planned is not None and planned > 0 and self.has_step:
            return self.step / planned
        percent = self.values.get("percent")
        return None if percent is None else percent / 100


def make_row(
    record: Mapping[str, object], fields: FieldMap, sources: Sources, number: int, offset: int
) -> Row:
    """
    Reduce a JSON object to a row; see `steps` for what its step becomes.

    >>> row = make_row({"step": 7, "loss": "nan", "note": "hi"}, FieldMap(), Sources(), 1, 0)
    >>> row.step, row.values, row.kind.value
    (7, {'loss': nan}, 'train')
    """
    return row_of(record, fields.read(record), sources, number, offset)


def row_of(
    record: Mapping[str, object], found: Found, sources: Sources, number: int, offset: int
) -> Row:
    """Make a row of what was *found* in *record*."""
    values, plan = found.values, found.plan
    kind = RowKind.TRAIN
    if plan.special or found.evals:
        kind = _kind(record, found)
    elif "loss" not in values and "grad_norm" not in values:
        kind = _without_loss(found)
    training = kind is RowKind.TRAIN or kind is RowKind.EVAL
    if kind is not RowKind.TRAIN:
        for name in aliases.SPEED_FIELDS if training else _NO_POINT:
            values.pop(name, None)
    if training:
        sources.settle(found)
    else:
        found.evals.clear()
    step = values.pop("step", None)
    has_step = step is not None and abs(step) < _STEP_MAX
    return Row(
        number,
        whole(step) if step is not None and has_step else number,
        values,
        offset,
        has_step,
        training and ("loss" in values or _has_training_field(found, has_step)),
        values.pop("timestamp_s", None),
        kind,
        found.evals,
        found.nulls,
    )


def plain_row(values: dict[str, float], number: int, offset: int) -> Row:
    """Make a row of training of its *values*, which are finite and of the run's own sources."""
    step = values.pop("step", None)
    if step is None or not -_STEP_MAX < step < _STEP_MAX:
        return Row(number, number, values, offset, has_step=False)
    return Row(number, int(step) if step.is_integer() else step, values, offset)


def _kind(record: Mapping[str, object], found: Found) -> RowKind:
    plan, values = found.plan, found.values
    has_loss = "loss" in values
    said = {text.lower() for key in plan.labels if type(text := record[key]) is str}
    if not has_loss and not said.isdisjoint(labels.METADATA_LABELS):
        return RowKind.METADATA
    # What an end or an example says of a loss is no point, unless it is of a step.
    is_point = has_loss and ("step" in values or "epoch" in values)
    if not is_point:
        if (plan.is_summary and not has_loss) or not said.isdisjoint(labels.END_LABELS):
            return RowKind.END
        if any(type(record[key]) in (str, list) for key in plan.data_keys):
            return RowKind.OTHER
    if not said.isdisjoint(labels.EVAL_LABELS):
        _as_evaluation(found)
        return RowKind.EVAL
    if has_loss:
        return RowKind.TRAIN
    if plan.is_metadata and not found.evals:
        return RowKind.METADATA
    return RowKind.EVAL if found.evals else _without_loss(found)


def _as_evaluation(found: Found) -> None:
    """What a row of an evaluation calls its loss is an evaluation loss."""
    loss = found.values.get("loss")
    if loss is not None:
        found.evals.setdefault("loss", loss)
        found.values.setdefault("eval_loss", loss)
    for name in ("loss", "grad_norm", "learning_rate"):
        found.values.pop(name, None)


def _without_loss(found: Found) -> RowKind:
    values = found.values
    if "grad_norm" in values or "reward" in values:
        return RowKind.TRAIN
    # A log that always writes both ends with a row in which both are null.
    if "loss" in found.nulls and "eval_loss" not in found.nulls:
        return RowKind.TRAIN
    counted = "step" in values or "epoch" in values
    if "learning_rate" in values:
        # A rate and no step is how a configuration looks.
        return RowKind.TRAIN if counted else RowKind.METADATA
    return RowKind.EVAL if found.plan.has_score and counted else RowKind.OTHER


def _has_training_field(found: Found, has_step: bool) -> bool:
    if not aliases.TRAINING_FIELDS.isdisjoint(found.nulls):
        return True
    named = found.values.keys() & aliases.TRAINING_FIELDS
    # Rewards are in data sets, too: only with a step do they tell a run.
    return bool(named - {"reward"}) or (bool(named) and has_step)


def whole(step: float) -> int | float:
    """A step as trainers count: 12 for 12.0; one that is no whole number as it is."""
    return int(step) if step.is_integer() else step
