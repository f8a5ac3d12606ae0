"""Own rules for what keys mean, by the path of the file."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .aliases import ALIASES
from .fields import FieldMap
from .globs import PathFilter

MAPPABLE = (*(name for name in ALIASES if name != "iter"), "eval_loss")
"""The canonical fields that a rule may map a key to."""


@dataclass(frozen=True, slots=True)
class FieldRule:
    """
    One rule.

    Attributes:
        paths: Glob patterns of the files that it is for, relative to their directory.
        map: Canonical field -> the key that holds it, before all that the table says.
        ignore: Keys that mean nothing.
    """

    paths: tuple[str, ...]
    map: Mapping[str, str]
    ignore: tuple[str, ...] = ()


@dataclass(slots=True)
class FieldRules:
    """
    The field map of each file; files under the same rules share one.

    >>> rules = FieldRules([FieldRule(("rl/**",), {"loss": "objective"})])
    >>> rules.of("/runs/rl/m.jsonl", "/runs").read({"objective": 2.0}).values
    {'loss': 2.0}
    >>> rules.of("/runs/m.jsonl", "/runs").read({"objective": 2.0}).values
    {}
    """

    rules: Sequence[FieldRule] = ()
    _filters: list[PathFilter] = field(init=False)
    _maps: dict[tuple[int, ...], FieldMap] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._filters = [PathFilter(rule.paths) for rule in self.rules]

    def of(self, path: str, root: str | None) -> FieldMap:
        """The map for the file *path*, found below *root*; a later rule wins."""
        top = posixpath.dirname(posixpath.dirname(path)) if root is None else root
        relative = posixpath.relpath(path, top) if self.rules else ""
        key = tuple(n for n, wanted in enumerate(self._filters) if wanted(relative))
        if key not in self._maps:
            mapped: dict[str, str] = {}
            ignored: list[str] = []
            for n in key:
                mapped |= self.rules[n].map
                ignored += self.rules[n].ignore
            self._maps[key] = FieldMap(mapped, ignored)
        return self._maps[key]
