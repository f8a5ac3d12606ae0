"""Checks that other packages bring: the entry points of the group `tailwatch.checks`."""

from __future__ import annotations

import functools
import json
import re
from importlib.metadata import entry_points
from typing import NamedTuple

from .checks import CATEGORIES, CHECKS
from .core.check import Check
from .core.findings import SEVERITIES, Hold, Severity

GROUP = "tailwatch.checks"
_CATEGORY = re.compile(r"[a-z][a-z0-9_]{0,47}\Z")


class UserChecks(NamedTuple):
    """What was found: the checks, and a line for each that cannot be used."""

    checks: tuple[type[Check], ...]
    troubles: tuple[str, ...]


@functools.cache
def user_checks() -> UserChecks:
    """Load them, once in a process. One that cannot be used hurts no other."""
    checks: dict[str, type[Check]] = {}
    troubles = []
    for point in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        try:
            check = point.load()
            fault = fault_of(check)
        except MemoryError:
            raise
        except Exception as error:  # Whatever a stranger's module does when it is imported.
            fault = f"cannot be loaded: {type(error).__name__}"
        if not fault and check.category in checks:
            fault = f"category {check.category!r} is taken"
        if fault:
            troubles.append(f"check {point.name!r} ({point.value}) is not used: {fault}")
        else:
            checks[check.category] = _as_user(check)
    return UserChecks(tuple(checks.values()), tuple(troubles))


def all_checks() -> tuple[type[Check], ...]:
    """Ours and theirs, worst severity first; ours first within one."""
    both = (*CHECKS, *user_checks().checks)
    return tuple(sorted(both, key=lambda check: SEVERITIES.index(check.severity)))


def fault_of(check: object) -> str:
    """
    Why *check* cannot be used; empty if it can.

    >>> fault_of(7)
    'it is no subclass of tailwatch.core.check.Check'
    """
    if not (isinstance(check, type) and issubclass(check, Check)):
        return "it is no subclass of tailwatch.core.check.Check"
    category = getattr(check, "category", None)
    if not isinstance(category, str) or not _CATEGORY.match(category):
        return "category must be a short name of a-z, 0-9 and _"
    if category in CATEGORIES:
        return f"category {category!r} is one of tailwatch's own"
    for name, kind in (("severity", Severity), ("hold", Hold), ("suggestion", str)):
        if not isinstance(getattr(check, name, None), kind):
            return f"{name} is missing, or is no {kind.__name__}"
    try:
        json.dumps(check().to_state(), allow_nan=False)
    except MemoryError:
        raise
    except Exception as error:
        return f"a new one cannot be made, or saved: {type(error).__name__}"
    return ""


def _as_user(check: type[Check]) -> type[Check]:
    if check.check_set == "user":
        return check
    body = {"check_set": "user", "__doc__": check.__doc__, "__module__": check.__module__}
    return type(check.__name__, (check,), body)
