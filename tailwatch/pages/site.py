"""What each path answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import parse_qsl, unquote, urlsplit

from ..board import Board
from ..core.check import Check
from ..messages import Snapshot
from ..ports import Archive
from . import api
from .answer import Answer, document, text
from .detail import Nothing
from .index import Wish, index
from .rendering import page, static
from .run_page import run_page

BEAT_AGE_MAX_S = 60.0
_API_RUN = "/api/v1/runs/"
_RUN = "/run/"
_STATIC = "/static/"


class Site:
    """
    Answers requests from what the engine has published.

    Args:
        board: Where the engine leaves its snapshots.
        metrics: Makes `/metrics`: from the Accept header, its type and text.
        monotonic: The clock by which the engine's beat is judged.
        archive: What is kept of each run, if anything is.
        checks: The checks of each run.
        wall: The clock by which the age of rows is told, Unix seconds.
    """

    def __init__(
        self,
        board: Board,
        metrics: Callable[[str], tuple[str, bytes]],
        monotonic: Callable[[], float],
        archive: Archive | None = None,
        checks: Sequence[type[Check]] = (),
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._board, self._render, self._monotonic = board, metrics, monotonic
        self._wall = wall
        self._archive, self._checks = archive or Nothing(), checks
        self._rendering = threading.Lock()

    def answer(self, path: str, accept: str) -> Answer:
        """The answer to GET *path*."""
        asked = urlsplit(path)
        place = asked.path
        pages: dict[str, Callable[[], Answer]] = {
            "/-/healthy": self._healthy,
            "/-/ready": self._ready,
            "/metrics": lambda: self._metrics(accept),
        }
        if place.startswith("/api/"):
            return self._api(place)
        if place == "/" or place.startswith(_RUN):
            return self._for_people(place, _query(asked.query))
        if place.startswith(_STATIC):
            return static(place.removeprefix(_STATIC)) or text(404, "not found")
        plain = pages.get(place)
        return plain() if plain is not None else text(404, "not found")

    def connection_dropped(self) -> None:
        """A connection was closed before its time."""
        self._board.connections_dropped += 1

    def _metrics(self, accept: str) -> Answer:
        if self._board.snapshot is None:
            return text(503, "the state is being restored")
        # One at a time: a page of many runs takes memory and processor time while it is made.
        with self._rendering:
            return Answer(200, *self._render(accept))

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

    def _for_people(self, place: str, query: Mapping[str, str]) -> Answer:
        snapshot = self._board.snapshot
        if snapshot is None:
            said = {"title": "Not yet", "text": "The state is being restored."}
            return page("missing.html", place, said, 503)
        with self._rendering:
            if place == "/":
                shown = index(snapshot, self._archive, Wish.of(query), self._wall())
                return page("index.html", place, shown)
            run = snapshot.runs.get(unquote(place.removeprefix(_RUN)))
            if run is None:
                said = {"title": "No such run", "text": "It is not known, or ended long ago."}
                return page("missing.html", place, said, 404)
            scale = query.get("scale", "")
            shown = run_page(run, self._archive, self._checks, scale, self._wall())
            return page("run.html", place, shown)


def _query(text: str) -> dict[str, str]:
    try:
        return dict(parse_qsl(text, max_num_fields=20))
    except ValueError:
        return {}
