"""The page of `/metrics`: as the library writes it, what changes seldom written once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from prometheus_client import ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from ..messages import RunView
from .exposition import SnapshotCollector

FORMATS_MAX = 4
"""So many formats are kept: who scrapes names one, and could name any number."""
_EOF = b"# EOF\n"

_Encoder = Callable[[Collector], bytes]
_Kept = tuple[object, list[bytes]]


class MetricsPage:
    """
    The metrics as text, in the format that a client asks for.

    Nine in ten lines are the findings of each run, for each check: they are written
    again only when a finding of the run came or went.

    Args:
        collector: What there is to show.
        process: Whether the metrics of this process are shown too.
    """

    def __init__(self, collector: SnapshotCollector, *, process: bool = True) -> None:
        self._collector = collector
        self._process = ProcessCollector(registry=None) if process else None
        self._kept: dict[str, dict[str, _Kept]] = {}

    def render(self, accept: str = "") -> tuple[str, bytes]:
        """The content type and the text; *accept* is the header of the request."""
        encoder, content_type = choose_encoder(accept)
        snapshot = self._collector.snapshot()
        runs = self._collector.exported(snapshot) if snapshot else []
        findings = self._findings(runs, encoder, content_type) if snapshot else b""
        rest = list(self._collector.beside_findings(runs, snapshot)) if snapshot else []
        rest += self._process.collect() if self._process else ()
        return content_type, findings + encoder(_Families(rest))

    def _findings(self, runs: Sequence[RunView], encoder: _Encoder, content_type: str) -> bytes:
        if content_type not in self._kept and len(self._kept) >= FORMATS_MAX:
            self._kept.clear()
        old = self._kept.get(content_type, {})
        heads = self._texts([], encoder)
        now: dict[str, _Kept] = {}
        for run in runs:
            key = run.tallies, {each.category for each in run.standing}
            kept = old.get(run.name)
            if kept is None or kept[0] != key:
                texts = self._texts([run], encoder)
                kept = key, [t[len(head) :] for t, head in zip(texts, heads, strict=True)]
            now[run.name] = kept
        self._kept[content_type] = now
        texts = [b"".join(kept[1][n] for kept in now.values()) for n in range(len(heads))]
        return b"".join(head + text for head, text in zip(heads, texts, strict=True))

    def _texts(self, runs: Sequence[RunView], encoder: _Encoder) -> list[bytes]:
        """The text of each family of findings; without a run, what stands above its samples."""
        families = self._collector.findings(runs)
        return [encoder(_Families([each])).removesuffix(_EOF) for each in families]


class _Families(Collector):
    def __init__(self, families: Sequence[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families
