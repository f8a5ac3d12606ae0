"""
What may be spent, in counts that do not depend on the machine.

    pytest -n0 -s tests/costs | grep '^|'

prints the table as it is now. When a count is above its limit: find what is new in it (the
failure names its greatest parts). If that is worth its cost, raise
the limit here and say why in the commit; if not, it is a fault. When a count has fallen, take
both numbers down with it, or the next growth goes unseen.

Measured on CPython 3.11. Calls are the same on 3.13, but for what the standard library does in
Python itself (`asdict`: a turn takes 27% fewer there); instructions are 2 to 5% fewer.
"""

from __future__ import annotations

from typing import NamedTuple


class Limit(NamedTuple):
    """
    A count when it was last looked at, and how far it may grow.

    Counts of calls, statements and system calls are the same each time: one more for a row, a
    file or a run is too many. Instructions and bytes have 5 to 8% left.
    """

    measured: float
    limit: float


LIMITS = {
    # The core, all checks, one row at a time.
    "calls for a small row": Limit(132.3, 133),
    "calls for a wide row": Limit(131, 131.8),
    "calls for a nested row": Limit(110.6, 111.4),
    "instructions for a small row": Limit(2936, 3120),
    "instructions for a wide row": Limit(2953, 3130),
    "instructions for a nested row": Limit(2275, 2410),
    "bytes in flight for a small row": Limit(794, 860),
    "bytes in flight for a wide row": Limit(3568, 3850),
    "bytes in flight for a nested row": Limit(13216, 14200),
    "calls for a row after 100,000, to one after 1,000": Limit(0.97, 0.98),
    "blocks of memory kept for 1,000 rows": Limit(2.6, 5),
    # The engine and its database.
    "SQL statements for a changed run": Limit(1, 1),
    "SQL statements for a turn in which one changed": Limit(4, 4),
    "SQL statements when nothing changed": Limit(0, 0),
    "calls for a turn with one row": Limit(1063, 1070),
    "calls of an idle turn": Limit(51, 51),
    "calls of an idle sweep for each file": Limit(43, 43.5),
    "calls of an idle sweep for each file, 400 to 200": Limit(1, 1.02),
    "calls of an idle sweep, but for its files": Limit(169, 173),
    "calls of twelve idle sweeps with events for each file": Limit(73, 74),
    "bytes of state after 30 rows": Limit(4613, 4850),
    "bytes of state after 10,000 rows": Limit(9509, 9900),
    "bytes of the database for each of 200 runs": Limit(5263, 5550),
    # A daemon under strace.
    "system calls of the engine for a row": Limit(26, 26.9),
    "system calls of the engine for 1,000 rows at once": Limit(14.6, 17),
    "system calls of an idle sweep for each file": Limit(2.04, 2.2),
    # The same, but it varies with when a thread wakes up, and with the load.
    "system calls of the other threads for a row": Limit(2, 3),
    "system calls of idle threads a second": Limit(3, 5),
    "idle wake-ups a second": Limit(7.7, 15),
}


def held(name: str, count: float, parts: str = "") -> None:
    """
    Print a count, and fail if it is above its limit; *parts*: what it is made of.

    Raises:
        AssertionError: It is, or nothing was counted where there was something.
    """
    measured, limit = LIMITS[name]
    print(f"\n| {name} | {count:,.10g} | {measured:,.10g} | {limit:,.10g} |")
    assert count > 0 or not measured, f"{name}: nothing was counted"
    assert count <= limit, f"{name}: {count:.2f} is above {limit} (was {measured}). {parts}"
