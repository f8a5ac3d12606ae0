"""The readers of all followed files: those at work as they are, the others packed."""

from __future__ import annotations

import math
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from .core.check import Check
from .core.field_rules import FieldRules
from .core.fields import FieldMap
from .core.findings import Severity
from .core.reader import RunReader
from .core.summary import RunSummary, summary_of
from .core.watched import rule_version
from .errors import StateOutdated
from .packing import Alike, pack, unpack

OPEN_MAX = 1000
"""So many runs that go on have their checks ready for the next row. Unpacking one takes less
than the turn that its row needs anyway, and packed it takes a fiftieth of the memory."""
FRESH_MAX = 250
"""The same of those that had work in one turn only: thousands are found at once at a first start,
and memory that they all take together is never given back."""
OPEN_S = 120.0
"""So long a run is ready after its last row, and one that has its next within it goes on."""
OLD_MAX = 20
"""So many are packed in one turn because they had no row for long: each takes half a ms."""


class KeptReader:
    """
    The reader of one file, which is unpacked when it is asked for.

    A reader that was never asked for is not there yet, and takes no memory.

    Args:
        checks: The checks of the run.
        fields: What the keys of its rows mean.
        reader: It, if there is one.
        among: All readers, of which it is one.

    Attributes:
        used_s: When (monotonic) it last had work.
    """

    __slots__ = (
        "_alike",
        "_among",
        "_fields",
        "_packed",
        "_reader",
        "_rules",
        "_summary",
        "checks",
        "used_s",
    )

    def __init__(
        self,
        checks: Sequence[type[Check]],
        fields: FieldMap | None = None,
        reader: RunReader | None = None,
        among: Readers | None = None,
    ) -> None:
        self.checks = checks
        self._fields = fields or FieldMap()
        self._rules = among.version(self._fields) if among else _version(checks, self._fields)
        self._alike = among.alike if among else Alike()
        self._reader = reader
        # As it is on disk; while there is no reader, compressed.
        self._packed: bytes | None = None
        self._summary: RunSummary | None = None
        self._among = among
        self.used_s = -math.inf

    @property
    def reader(self) -> RunReader:
        """The reader, to be fed."""
        if self._reader is None:
            if self._packed is None:
                self._reader = RunReader(self.checks, fields=self._fields)
            else:
                self._reader = self._unpacked(self._alike.expand(self._packed))
                if self._among is not None:
                    self._among.fresh[self] = self._among.now_s
        # Whoever has it may change it.
        self._packed = self._summary = None
        return self._reader

    @reader.setter
    def reader(self, reader: RunReader | None) -> None:
        self._reader, self._packed, self._summary = reader, None, None

    def summary(self) -> RunSummary:
        """What is known of the run."""
        if self._summary is None:
            self._summary = RunSummary() if self._reader is None else summary_of(self._reader)
        return self._summary

    def critical(self) -> Iterable[str]:
        """The categories of its checks that are critical."""
        return (each.category for each in self.checks if each.severity is Severity.CRITICAL)

    @property
    def is_open(self) -> bool:
        """Whether its checks are ready for the next row."""
        return self._reader is not None

    def put_away(self) -> bool:
        """Keep it packed only; False if that would lose a torn line, or it is no run yet."""
        reader = self._reader
        if reader is None:
            return True
        if not reader.is_metric or reader.offset != reader.received:
            return False
        self.summary()
        self._packed, self._reader = self._alike.compress(self.packed()), None
        return True

    def packed(self) -> bytes:
        """Its state, as it is kept on disk."""
        if self._reader is None and self._packed is not None:
            return self._alike.expand(self._packed)
        if self._packed is None:
            self._packed = pack((self._reader or self.reader).to_state())
        return self._packed

    def to_state(self) -> dict[str, Any]:
        """What to keep across a restart, and what tells whether it can still be used then."""
        packed = self.packed()
        return {
            "reader": packed,
            "crc": zlib.crc32(packed),
            "rules": self._rules,
            "summary": self.summary().to_state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """
        Take up what `to_state` said.

        Raises:
            StateOutdated: It is of other checks, or of another version of one; what the
                keys mean has changed; or it is not what was written.
        """
        packed = state["reader"]
        if packed is None:
            raise StateOutdated("the run had ended")
        if state.get("rules") != self._rules:
            raise StateOutdated("the checks or the table of fields have changed")
        if state["crc"] != zlib.crc32(packed):
            raise StateOutdated("its checksum does not fit")
        self._try(packed)
        self._reader, self._packed = None, self._alike.compress(packed)
        self._summary = RunSummary.from_state(state["summary"], self.checks)

    def _unpacked(self, packed: bytes) -> RunReader:
        return RunReader.from_state(self.checks, None, unpack(packed), fields=self._fields)

    def _try(self, packed: bytes) -> None:
        """Whether this program can use states under these rules shows with the first of them."""
        if self._among is None or self._rules in self._among.proven:
            return
        try:
            self._unpacked(packed)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise StateOutdated("another version of tailwatch wrote it") from error
        self._among.proven.add(self._rules)


class Readers:
    """
    Makes the readers, and keeps those unpacked that have work, but not too many.

    Args:
        checks: The checks of each run.
        fields: What the keys of each file mean.

    Attributes:
        opened: Those that go on -> when (monotonic) they last had work; the oldest first.
        fresh: The same of the others that are unpacked.
        now_s: When the newest work was (monotonic).
        proven: Versions of the rules of which a state was unpacked.
        alike: Compresses their states.
    """

    def __init__(self, checks: Sequence[type[Check]], fields: FieldRules) -> None:
        self._checks, self._fields = checks, fields
        self.opened: OrderedDict[KeptReader, float] = OrderedDict()
        self.fresh: OrderedDict[KeptReader, float] = OrderedDict()
        self.now_s = 0.0
        self.proven: set[int] = set()
        self.alike = Alike()
        self._versions: dict[str, int] = {}

    def new(self, path: str, root: str | None) -> KeptReader:
        """The reader of the file *path*, found below *root*."""
        return KeptReader(self._checks, self._fields.of(path, root), among=self)

    def version(self, fields: FieldMap) -> int:
        """Tell states apart that mean something else."""
        if fields.version not in self._versions:
            self._versions[fields.version] = _version(self._checks, fields)
        return self._versions[fields.version]

    def put_away(self, used: Iterable[KeptReader], monotonic_s: float) -> None:
        """
        Pack those that have had no work for long, or for longest of too many.

        Args:
            used: Those that have just had some.
        """
        self.now_s = monotonic_s
        for kept in used:
            if kept.is_open:
                self.opened.pop(kept, None)
                self.fresh.pop(kept, None)
                goes_on = monotonic_s - kept.used_s < OPEN_S
                (self.opened if goes_on else self.fresh)[kept] = monotonic_s
            kept.used_s = monotonic_s
        for those, most in ((self.fresh, FRESH_MAX), (self.opened, OPEN_MAX)):
            over = len(those) - most
            oldest = list(islice(those.items(), max(over, OLD_MAX)))
            for number, (kept, used_s) in enumerate(oldest):
                if number >= over and monotonic_s - used_s < OPEN_S:
                    break
                del those[kept]
                if not kept.put_away():
                    those[kept] = monotonic_s


def _version(checks: Sequence[type[Check]], fields: FieldMap) -> int:
    rules = sorted((check.category, rule_version(check)) for check in checks)
    return zlib.crc32(repr((rules, fields.version)).encode())
