"""A plan is good for all rows of one shape, and for no other."""

from __future__ import annotations

from typing import Any

import pytest

from tailwatch.core.plans import Planner, get, size


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ({"a": 1, "b": 2}, {"a": 3, "b": None}, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False),
        ({"config": {"a": 1}}, {"config": {"b": 1}}, True),
        ({"data": {"a": 1}}, {"data": {"b": 1}}, False),
        ({"data": {"a": 1}}, {"data": 1}, False),
        ({"data": {"a": {"b": 1}}}, {"data": {"a": {"c": 1}}}, False),
        ({"info": {"learner": {}}}, {"info": {"learner": {}}}, True),
    ],
)
def test_shape(one: dict[str, Any], other: dict[str, Any], alike: bool) -> None:
    """Keys make the shape, and those below a key under which a field may be nested."""
    planner = Planner({}, ())
    assert alike == (planner.shape(one) == planner.shape(other))


def test_the_size_of_a_shape() -> None:
    """Every key counts, at any depth."""
    shape = Planner({}, ()).shape({"step": 1, "data": {"a": 1, "b": {"c": 1}}})
    assert size(shape) >= 5


def test_every_candidate_is_there() -> None:
    """A plan leads nowhere in a row of its shape but to a value."""
    record = {"step": 1, "data": {"actor/lr": 2}, "info": {"learner": {"p": {"total_loss": 3}}}}
    plan = Planner({}, ()).plan(record)
    found = {c.field: get(record, c.path) for c in plan.candidates}
    assert found == {"step": 1, "planned_steps": 1, "loss": 3, "learning_rate": 2}
    assert all((c.key is None) == (len(c.path) > 1) for c in plan.candidates)


@pytest.mark.parametrize(
    ("keys", "special", "score"),
    [
        (("step", "loss"), False, False),
        (("mode", "loss"), True, False),
        (("prompt",), True, False),
        (("total_flos",), True, False),
        (("weight_decay",), True, False),
        (("eval_accuracy",), False, True),
        (("bbox/AP",), False, True),
        (("coco/bbox_mAP_50",), False, True),
        (("bbox_mAP",), False, True),
        (("eval_loss",), False, False),
        (("interval", "evaluate", "map"), False, False),
    ],
)
def test_what_the_keys_alone_tell(keys: tuple[str, ...], special: bool, score: bool) -> None:
    """Whether a look at the values is needed, and whether it may be an evaluation."""
    plan = Planner({}, ()).plan(dict.fromkeys(keys, 1))
    assert (special, score) == (plan.special, plan.has_score)
