"""What checks read of a run's configuration, from its parsed file."""

from __future__ import annotations

from collections.abc import Mapping

from .numbers import number

CONFIG_NAMES = ("config.json", "config.yaml", "config.yml")
"""File names that are looked for beside a metric file, best first."""


def configured_learning_rate(config: object) -> float | None:
    """
    The learning rate in a run configuration, or None.

    A table `training` decides alone; without one the usual places are tried.
    YAML 1.1 reads `2e-4` as text; a numeric text is its number.

    >>> configured_learning_rate({"training": {"lr": 0, "learning_rate": "2e-4"}})
    0.0002
    >>> configured_learning_rate({"optimizer": {"lr": 0.1}})
    0.1
    >>> configured_learning_rate({"training": {}, "lr": 0.1}) is None
    True
    """
    if not isinstance(config, Mapping):
        return None
    if "training" in config:
        training = config["training"]
        if not isinstance(training, Mapping):
            return None
        # A rate of 0 under `lr` is a place holder, as in the seed rules.
        return number(training.get("lr")) or number(training.get("learning_rate"))
    places = ((None, "learning_rate"), (None, "lr"), ("optimizer", "lr"), ("optim", "lr"))
    for table, key in places:
        place = config if table is None else config.get(table)
        if isinstance(place, Mapping) and (rate := number(place.get(key))) is not None:
            return rate
    return None
