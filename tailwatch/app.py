"""The composition root: builds the parts of the daemon, starts and stops them. No logic."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from . import __version__
from .board import Board
from .config import Settings
from .core.names import escape
from .dispatch import Dispatch
from .engine import Engine, Options
from .errors import CannotGoOn, ConfigError, StateUnusable
from .garbage import nothing_collected, seldom_whole
from .messages import Snapshot, Stop
from .pages.site import Site
from .ports import Log, World
from .receivers import RENDERERS
from .shell.archive import StoreArchive
from .shell.clock import SystemClock
from .shell.courier import HttpCourier
from .shell.exposition import Exposed, SnapshotCollector
from .shell.follower import LocalFollower
from .shell.guard import Guard
from .shell.heartbeat import Heartbeat, status_of
from .shell.holders import written_by
from .shell.inbox import ThreadInbox
from .shell.metrics_page import MetricsPage
from .shell.mounts import Mounts
from .shell.saves import SavesFollower, SavesScanner
from .shell.scanner import DirectoryScanner
from .shell.store import SqliteStore
from .shell.textfile import Textfile
from .shell.watcher import DirectoryWatcher
from .shell.web import WebServer, own_names
from .threads import enough_threads, short_turns, thread_deaths
from .web_config import WebConfig, read_web_config

_THREAD_DIED = "a thread has died; a new start loses nothing"
_Vital = WebServer | HttpCourier | Textfile


@dataclass
class Daemon:
    """
    The daemon, from settings to a clean stop.

    Args:
        settings: What to do.
        reload: Reads the settings again; raises ConfigError if they are wrong.
        log: Where to say what happens.
        environment: Holds what systemd sets.
        started: Called with the address of the web server once it answers; empty without one.
        no_memory: Called, on any thread, when there is no memory left: ends the process at
            once. Nothing more can be relied on, and what is kept needs no farewell.

    Raises:
        ConfigError: The web configuration file is wrong.
    """

    settings: Settings
    reload: Callable[[], Settings]
    log: Log
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    started: Callable[[str], None] | None = None
    no_memory: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self._inbox = ThreadInbox()
        self._reload_ok = True
        self._again = False
        self._ending = False
        self._heartbeat = Heartbeat(self.environment)
        self._web_config = _web_config(self.settings)
        # What was in force before a reload, until the new settings have shown that they work.
        self._before: tuple[Settings, WebConfig | None] | None = None

    def run(self) -> None:
        """
        Follow the files until SIGTERM or SIGINT; read the settings again on SIGHUP.

        Raises:
            ConfigError: The port is in use. StateUnusable: So is the state, or worse.
            CannotGoOn: No thread can be started, or one of ours has died.
        """
        deaths = thread_deaths(self.log, self.no_memory)
        with self._signals(), deaths, enough_threads(), short_turns(), seldom_whole():
            while True:
                self._again = False
                try:
                    self._run_once()
                except (ConfigError, StateUnusable) as error:
                    if self._before is None:
                        raise
                    # The port is another's, say: what worked goes on, as with a typing error.
                    (self.settings, self._web_config), self._before = self._before, None
                    self._reload_ok = False
                    self.log.error("settings_not_reloaded", error=str(error))
                    continue
                if self._ending or not self._again:
                    return

    def stop(self, reason: str = "asked to") -> None:
        """End `run` after a drain. May be called from any thread."""
        self._inbox.post(Stop(reason))

    def _run_once(self) -> None:
        settings, clock = self.settings, SystemClock()
        with contextlib.ExitStack() as stack:
            store = SqliteStore(settings.state_dir, self.log)
            stack.callback(store.close)
            vital: list[_Vital] = []
            board = Board(_beat_of_all(self._heartbeat, vital))
            address = self._show(settings, board, vital, stack)
            scanner = DirectoryScanner(settings.paths, settings.wanted, settings.state_dir)
            remote = Mounts(clock.monotonic).remote
            follower = LocalFollower(remote, roots=scanner.roots())
            stack.callback(follower.close)
            # Not the state's directory itself: each commit would wake the watcher.
            own = os.path.join(settings.state_dir, "watch")
            watcher = DirectoryWatcher(scanner.roots(), self._inbox, own=own, remote=remote)
            stack.callback(watcher.close)
            world = World(
                inbox=self._inbox,
                scanner=SavesScanner(scanner),
                follower=SavesFollower(follower, scanner),
                watcher=watcher,
                store=store,
                publisher=board,
                clock=clock,
                log=self.log,
                writers=written_by,
            )
            couriers = self._couriers(settings, stack)
            vital += couriers.values()
            dispatch = self._dispatch(settings, couriers)
            engine = Engine(settings.checks, _options(settings), world, dispatch)
            stack.enter_context(self._memory())
            with nothing_collected():
                engine.restore()
            self._say_started(settings, address)
            self._heartbeat.ready(status_of(board.snapshot))
            self._before = None
            if self.started is not None:
                self.started(address)
            engine.run()

    def _show(
        self, settings: Settings, board: Board, vital: list[_Vital], stack: contextlib.ExitStack
    ) -> str:
        """Open the port and begin to write the file, as far as they are wanted."""
        clock, address = SystemClock(), ""
        guard = Guard(self._web_config, self.log)
        exposed = self._exposed(settings, guard)
        collector = SnapshotCollector(board, exposed, clock.wall, clock.monotonic)
        if settings.listen is not None:
            archive = StoreArchive(settings.state_dir)
            metrics = MetricsPage(collector).render
            site = Site(board, metrics, clock.monotonic, archive, settings.checks)
            web = WebServer(settings.listen, site, guard, own_names(settings.external_url))
            stack.callback(web.close)
            vital.append(web)
            address = web.address
        if settings.textfile is not None:
            # node_exporter has process_* of its own, and two of a kind would cost it all of them.
            metrics = MetricsPage(collector, process=False).render
            textfile = Textfile(settings.textfile, board, metrics, self.log)
            stack.callback(textfile.close)
            vital.append(textfile)
        return address

    def _say_started(self, settings: Settings, address: str) -> None:
        for trouble in settings.troubles:
            self.log.warning("check_not_used", reason=trouble)
        self.log.info(
            "started",
            version=__version__,
            paths=[escape(path) for path in settings.paths],
            address=address,
            state_dir=escape(settings.state_dir),
            receivers=[receiver.name for receiver in settings.receivers],
        )

    def _couriers(self, settings: Settings, stack: contextlib.ExitStack) -> dict[str, HttpCourier]:
        couriers = {}
        for receiver in settings.receivers:
            courier = HttpCourier(
                receiver.name,
                receiver.url,
                receiver.secret,
                RENDERERS[receiver.type],
                self._inbox.post,
            )
            stack.callback(courier.close)
            couriers[receiver.name] = courier
        return couriers

    def _dispatch(self, settings: Settings, couriers: Mapping[str, HttpCourier]) -> Dispatch:
        policies = [receiver.policy() for receiver in settings.receivers]
        host = socket.gethostname()
        return Dispatch(policies, couriers, host=host, url=settings.external_url)

    def _exposed(self, settings: Settings, guard: Guard) -> Exposed:
        return Exposed(
            categories=[(check.category, check.severity.value) for check in settings.checks],
            receivers=[receiver.name for receiver in settings.receivers],
            run_retention_s=settings.run_retention_s,
            runs_max=settings.max_exported_runs,
            reload_ok=lambda: self._reload_ok and guard.ok,
        )

    def _on_terminate(self, reason: str) -> None:
        self._ending = True
        self._heartbeat.stopping()
        self.stop(reason)

    def _on_hangup(self) -> None:
        if self._ending:
            return
        self._heartbeat.reloading(SystemClock().monotonic())
        try:
            settings = self.reload()
            web_config = _web_config(settings)
        except ConfigError as error:
            # The old settings go on: a typing error must not stop the watch.
            self._reload_ok = False
            self.log.error("settings_not_reloaded", error=str(error))
            self._heartbeat.ready("wrong settings, not taken over: the old ones are in force")
            return
        self._before = self.settings, self._web_config
        self.settings, self._web_config = settings, web_config
        self._reload_ok, self._again = True, True
        self.stop("settings are being reloaded")

    @contextlib.contextmanager
    def _memory(self) -> Iterator[None]:
        """The innermost of what is cleaned up: without memory even that may hang."""
        try:
            yield
        except MemoryError:
            self.no_memory()
            raise

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        handlers = {
            signal.SIGTERM: lambda *_: self._on_terminate("SIGTERM"),
            signal.SIGINT: lambda *_: self._on_terminate("SIGINT"),
            signal.SIGHUP: lambda *_: self._on_hangup(),
        }
        try:
            old = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        except ValueError:  # Not the main thread: whoever runs us there calls `stop`.
            yield
            return
        try:
            yield
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)


def _options(settings: Settings) -> Options:
    return Options(
        sweep_interval_s=settings.sweep_interval_s,
        backfill_page_max_age_s=settings.backfill_page_max_age_s,
        run_retention_s=settings.run_retention_s,
        runs_max=settings.max_exported_runs,
        run_pattern=settings.run_pattern,
        fields=settings.fields,
    )


def _web_config(settings: Settings) -> WebConfig | None:
    return read_web_config(settings.web_config_file) if settings.web_config_file else None


def _beat_of_all(
    heartbeat: Heartbeat, vital: Sequence[_Vital]
) -> Callable[[float, Snapshot | None], None]:
    def beat(monotonic_s: float, snapshot: Snapshot | None) -> None:
        # Better no daemon, which systemd starts again, than half of one.
        if not all(each.alive() for each in vital):
            raise CannotGoOn(_THREAD_DIED)
        heartbeat.beat(monotonic_s, snapshot)

    return beat
