"""What each path answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from html import escape as html_escape
from urllib.parse import unquote, urlsplit

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from .. import __version__
from ..board import Board
from ..core.check import Check
from ..messages import Snapshot
from ..ports import Archive
from . import api
from .answer import Answer, document, text
from .detail import Nothing

BEAT_AGE_MAX_S = 60.0
_API_RUN = "/api/v1/runs/"


class Site:
    """
    Answers requests from what the engine has published.

    Args:
        board: Where the engine leaves its snapshots.
        registry: What `/metrics` shows.
        monotonic: The clock by which the engine's beat is judged.
        archive: What is kept of each run, if anything is.
        checks: The checks of each run.
    """

    def __init__(
        self,
        board: Board,
        registry: CollectorRegistry,
        monotonic: Callable[[], float],
        archive: Archive | None = None,
        checks: Sequence[type[Check]] = (),
    ) -> None:
        self._board, self._registry, self._monotonic = board, registry, monotonic
        self._archive, self._checks = archive or Nothing(), checks
        self._rendering = threading.Lock()

    def answer(self, path: str, accept: str) -> Answer:
        """The answer to GET *path*."""
        place = urlsplit(path).path
        pages: dict[str, Callable[[], Answer]] = {
            "/": self._index,
            "/-/healthy": self._healthy,
            "/-/ready": self._ready,
            "/metrics": lambda: self._metrics(accept),
        }
        if place.startswith("/api/"):
            return self._api(place)
        page = pages.get(place)
        return page() if page is not None else text(404, "not found")

    def connection_dropped(self) -> None:
        """A connection was closed before its time."""
        self._board.connections_dropped += 1

    def _metrics(self, accept: str) -> Answer:
        if self._board.snapshot is None:
            return text(503, "the state is being restored")
        encoder, content_type = choose_encoder(accept)
        # One at a time: a page of many runs takes memory and processor time while it is made.
        with self._rendering:
            return Answer(200, content_type, encoder(self._registry))

    def _healthy(self) -> Answer:
        beat_s = self._board.beat_s
        if beat_s is None:
            return text(503, "the engine has not turned yet")
        age_s = self._monotonic() - beat_s
        if age_s > BEAT_AGE_MAX_S:
            return text(503, f"the engine has not turned for {age_s:.0f} s")
        return text(200, "OK")

    def _ready(self) -> Answer:
        snapshot = self._board.snapshot
        if snapshot is None:
            return text(503, "the state is being restored")
        if not snapshot.ready:
            return text(503, "the first look at all files is not done")
        return text(200, "OK")

    def _api(self, place: str) -> Answer:
        snapshot = self._board.snapshot
        if snapshot is None:
            return document(503, {"error": "the state is being restored"})
        with self._rendering:
            return self._api_answer(place, snapshot)

    def _api_answer(self, place: str, snapshot: Snapshot) -> Answer:
        if place == "/api/v1/runs":
            return document(200, api.runs_document(snapshot))
        if place == "/api/v1/findings":
            return document(200, api.findings_document(snapshot))
        if place.startswith(_API_RUN):
            run = snapshot.runs.get(unquote(place.removeprefix(_API_RUN)))
            if run is None:
                return document(404, {"error": "no such run"})
            return document(200, api.run_document(run, self._archive, self._checks))
        return document(404, {"error": "not found"})

    def _index(self) -> Answer:
        snapshot = self._board.snapshot
        rows = []
        for name, run in sorted(snapshot.runs.items() if snapshot else ()):
            said = "; ".join(f"{s.severity.value}: {s.message}" for s in run.standing) or "nothing"
            step = "" if run.last_step is None else f"{run.last_step:g}"
            cells = (name, run.state, step, str(run.rows), said)
            rows.append("".join(f"<td>{html_escape(cell)}</td>" for cell in cells))
        table = "".join(f"<tr>{row}</tr>" for row in rows)
        body = (
            "<!doctype html><html lang=en><meta charset=utf-8><title>tailwatch</title>"
            f"<h1>tailwatch {__version__}</h1>"
            "<p><a href=/metrics>metrics</a> <a href=/-/healthy>health</a> "
            "<a href=/-/ready>ready</a></p><table><tr><th>run<th>state<th>step<th>rows"
            f"<th>what stands</tr>{table}</table>"
        )
        return Answer(200, "text/html; charset=utf-8", body.encode(errors="backslashreplace"))
