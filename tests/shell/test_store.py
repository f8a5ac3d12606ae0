"""The state on disk: all of a commit or nothing, and never a crash loop over a broken file."""

from __future__ import annotations

import math
import os
import random
import re
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch import packing
from tailwatch.errors import StateUnusable, StateWriteError
from tailwatch.messages import Commit, FindingRecord, RunRecord
from tailwatch.shell import store as store_module
from tailwatch.shell.store import APPLICATION_ID, MIGRATIONS, SqliteStore
from tests.deploy.tools import debian_tool
from tests.shell.helpers import (
    MemoryLog,
    as_nobody,
    child_environment,
    notice,
    run_python,
    transition,
    wait_until,
)


@contextmanager
def opened(directory: Path, log: MemoryLog | None = None) -> Iterator[SqliteStore]:
    store = SqliteStore(str(directory), log or MemoryLog())
    try:
        yield store
    finally:
        store.close()


@contextmanager
def sqlite(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


def run(path: str = "/runs/a.jsonl", name: str = "a", **state: object) -> RunRecord:
    return RunRecord(path, name, "/runs", dict(state))


def commit_of(*runs: RunRecord, **more: object) -> Commit:
    return Commit(runs={r.path: r for r in runs}, **more)  # type: ignore[arg-type]


# What is kept.


def test_first_start_is_fresh_and_the_second_is_not(tmp_path: Path) -> None:
    """A store without a commit says that this is the first start; after one it does not."""
    with opened(tmp_path) as store:
        assert store.load().fresh
        store.commit(Commit(meta={"roots": ["/runs"]}))
    with opened(tmp_path) as store:
        assert not store.load().fresh


def test_commit_comes_back_whole(tmp_path: Path) -> None:
    """Everything of a commit that is needed at the next start is loaded as it was."""
    told = notice("tw_1")
    commit = commit_of(
        run(loss=math.nan, inf=[math.inf, -math.inf], blob=b"\x00\xff", big=2**62),
        findings=[FindingRecord("a", transition(), 1000.0)],
        notices=[("slack", told)],
        meta={"totals": [[["bad_lines", "not_json"], 3]]},
    )
    with opened(tmp_path) as store:
        store.commit(commit)
    with opened(tmp_path) as store:
        restored = store.load()
        [kept] = restored.runs
    state = kept.state
    assert math.isnan(state.pop("loss"))
    assert {"inf": [math.inf, -math.inf], "blob": b"\x00\xff", "big": 2**62} == state
    assert (kept.path, kept.name, kept.root) == ("/runs/a.jsonl", "a", "/runs")
    assert [("slack", told, None)] == restored.outbox
    assert restored.meta == {"totals": [[["bad_lines", "not_json"], 3]]}


def test_undecodable_paths_come_back(tmp_path: Path) -> None:
    """A path that is no UTF-8 is kept as the bytes it is, in every place where paths are kept."""
    path, root = os.fsdecode(b"/caf\xff/m.jsonl"), os.fsdecode(b"/caf\xff")
    record = RunRecord(path, "caf/m", root, {"config": [os.fsdecode(b"/\xfe"), "é"]})
    with opened(tmp_path) as store:
        store.commit(Commit(runs={path: record}, meta={"roots": [root, "/ß"]}))
        restored = store.load()
        assert [record] == list(restored.runs)
    assert {"roots": [root, "/ß"]} == restored.meta


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=()))
    | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(_VALUES)
@settings(deadline=None, max_examples=100)
def test_any_state_is_unpacked_as_it_was_packed(value: object) -> None:
    """Packing loses nothing of a state, lone surrogates included."""
    assert value == packing.unpack(packing.pack(value))


def test_run_keeps_its_name_and_takes_the_new_state(tmp_path: Path) -> None:
    """A second commit of a file replaces its state; its name stays the one it was given."""
    with opened(tmp_path) as store:
        store.commit(commit_of(run(rows=1)))
        store.commit(commit_of(run(name="other", rows=2)))
        assert [(r.name, r.state) for r in store.load().runs] == [("a", {"rows": 2})]


def test_run_that_ended_and_is_there_again_is_followed(tmp_path: Path) -> None:
    """A run may end and come back before either could be kept: what it is now counts."""
    ended = {run().path: run(tallies={}, reader=1, n=1)}
    with opened(tmp_path) as store:
        store.commit(commit_of(run(tallies={}, reader=1, n=2), ended=ended))
        restored = store.load()
        assert [record.state["n"] for record in restored.runs] == [2]
    assert restored.ended == []


def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    """The directory is 0700 and every file in it 0600, whatever the umask lets through."""
    old = os.umask(0)
    try:
        with opened(tmp_path / "state") as store:
            store.commit(Commit(meta={"a": 1}))
            modes = {
                p.name: stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "state").iterdir()
            }
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    assert {"lock", "tailwatch.db", "tailwatch.db-wal", "tailwatch.db-shm"} == set(modes)
    assert {0o600} == set(modes.values())


# The outbox.


def test_key_is_unique_for_each_receiver(tmp_path: Path) -> None:
    """The same notice is kept once for a receiver, however often it comes, and for each of them."""
    told = notice("tw_1")
    with opened(tmp_path) as store:
        store.commit(Commit(notices=[("a", told), ("b", told), ("a", told)]))
        store.commit(Commit(notices=[("a", told)]))
        assert [(row.receiver, row.notice.key) for row in store.load().outbox] == [
            ("a", "tw_1"),
            ("b", "tw_1"),
        ]


def test_delivered_notice_keeps_only_its_key(tmp_path: Path) -> None:
    """What was delivered is not sent again when the rows are read again, and takes no room."""
    with opened(tmp_path) as store:
        store.commit(Commit(notices=[("a", notice("tw_1"))]))
        store.commit(Commit(settled=[("a", ["tw_1"], "delivered")]))
        store.commit(Commit(notices=[("a", notice("tw_1"))]))
        assert store.load().outbox == []
    with sqlite(tmp_path / "tailwatch.db") as raw:
        assert raw.execute("SELECT key, state, data FROM outbox").fetchall() == [
            ("tw_1", "delivered", None)
        ]


def test_undeliverable_notice_keeps_its_data(tmp_path: Path) -> None:
    """What a receiver refused for good is not sent again, and can still be read."""
    with opened(tmp_path) as store:
        store.commit(Commit(notices=[("a", notice("tw_1"))]))
        store.commit(Commit(settled=[("a", ["tw_1"], "undeliverable")]))
        assert store.load().outbox == []
    with sqlite(tmp_path / "tailwatch.db") as raw:
        state, data = raw.execute("SELECT state, data FROM outbox").fetchone()
    assert ("undeliverable", notice("tw_1").data) == (state, packing.unpack(data))


def test_digest_comes_back_with_its_notices(tmp_path: Path) -> None:
    """Notices that were put together are still together after a restart, and in order."""
    notices = [notice(f"tw_{n}") for n in range(3)]
    with opened(tmp_path) as store:
        store.commit(Commit(notices=[("a", n) for n in notices]))
        store.commit(Commit(digests=[("a", "twd_1", ["tw_0", "tw_2"])]))
        assert [(row.notice.key, row.digest) for row in store.load().outbox] == [
            ("tw_0", "twd_1"),
            ("tw_1", None),
            ("tw_2", "twd_1"),
        ]


def test_settled_and_findings_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Old findings and settled notices make room; what is unsent never does."""
    monkeypatch.setattr(store_module, "FINDINGS_MAX", 5)
    monkeypatch.setattr(store_module, "SETTLED_MAX", 5)
    with opened(tmp_path) as store:
        store.commit(Commit(notices=[("a", notice("unsent"))]))
        for n in range(20):
            found = [FindingRecord("a", transition(row=n), 1000.0)]
            store.commit(Commit(notices=[("a", notice(f"tw_{n}"))], findings=found))
            store.commit(Commit(settled=[("a", [f"tw_{n}"], "delivered")]))
        assert [row.notice.key for row in store.load().outbox] == ["unsent"]
    with sqlite(tmp_path / "tailwatch.db") as raw:
        assert raw.execute("SELECT count(*) FROM outbox").fetchone()[0] <= 7
        assert raw.execute("SELECT count(*) FROM findings").fetchone()[0] <= 6


# One instance, one version.


def test_second_instance_is_refused(tmp_path: Path) -> None:
    """A held directory is refused by name, at once, and is free again after close."""
    with opened(tmp_path), pytest.raises(StateUnusable, match=str(tmp_path)) as caught:
        SqliteStore(str(tmp_path), MemoryLog())
    assert "held by another" in str(caught.value)
    with opened(tmp_path) as store:
        assert store.load().fresh


def test_lock_dies_with_its_process(tmp_path: Path) -> None:
    """A killed daemon leaves no lock behind."""
    code = (
        "import sys, os, signal, structlog; from tailwatch.shell.store import SqliteStore;"
        "s = SqliteStore(sys.argv[1], structlog.get_logger()); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert run_python(code, str(tmp_path)).returncode == -signal.SIGKILL
    with opened(tmp_path) as store:
        assert store.load().fresh


def test_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    """State of a newer tailwatch is no broken state: we refuse it and keep our hands off."""
    with opened(tmp_path) as store:
        store.commit(Commit(meta={"a": 1}))
    with sqlite(tmp_path / "tailwatch.db") as raw:
        raw.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    with pytest.raises(StateUnusable, match="newer tailwatch") as caught:
        SqliteStore(str(tmp_path), MemoryLog())
    assert "\n" not in str(caught.value)
    assert list(tmp_path.glob("*.broken*")) == []
    with sqlite(tmp_path / "tailwatch.db") as raw:
        raw.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    with opened(tmp_path) as store:
        assert store.load().meta == {"a": 1}


def test_refusal_lets_go_of_the_lock(tmp_path: Path) -> None:
    """An instance that refused its state does not hold it against the next one."""
    with opened(tmp_path):
        pass
    with sqlite(tmp_path / "tailwatch.db") as raw:
        raw.execute("PRAGMA user_version = 99")
    for _ in range(2):
        with pytest.raises(StateUnusable, match="newer"):
            SqliteStore(str(tmp_path), MemoryLog())


def test_migrations_run_once_and_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An old state is brought up by the steps it lacks, with what it held kept."""
    with opened(tmp_path) as store:
        store.commit(Commit(meta={"a": 1}))
    steps = (
        *MIGRATIONS,
        lambda raw: raw.execute("ALTER TABLE runs ADD COLUMN extra TEXT"),
        lambda raw: raw.execute("UPDATE meta SET key = key || '2'"),
    )
    monkeypatch.setattr(store_module, "MIGRATIONS", steps)
    for _ in range(2):  # The second start has nothing left to do.
        with opened(tmp_path) as store:
            assert store.load().meta == {"a2": 1}
    with sqlite(tmp_path / "tailwatch.db") as raw:
        assert raw.execute("PRAGMA user_version").fetchone() == (len(steps),)
        assert raw.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)


def test_migration_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step that breaks half way is undone, and the old code can still read its state."""
    with opened(tmp_path) as store:
        store.commit(Commit(meta={"a": 1}))

    def breaks(raw: sqlite3.Connection) -> None:
        raw.execute("DELETE FROM meta")
        raw.execute("SELECT * FROM no_such_table")

    with monkeypatch.context() as patch:
        patch.setattr(store_module, "MIGRATIONS", (*MIGRATIONS, breaks))
        with pytest.raises(StateUnusable, match="no_such_table"):
            SqliteStore(str(tmp_path), MemoryLog())
    with opened(tmp_path) as store:
        assert store.load().meta == {"a": 1}


# Broken state.


def _zero_bytes(path: Path) -> None:
    path.write_bytes(b"")


def _garbage(path: Path) -> None:
    path.write_bytes(random.Random(7).randbytes(50_000))


def _text(path: Path) -> None:
    path.write_text("not a database, but somebody's notes\n" * 100)


def _truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _odd_size(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1000)


def _header_gone(path: Path) -> None:
    _overwrite(path, 0, b"\xff" * 100)


def _page_flipped(path: Path) -> None:
    """A page of the runs' tree, in the middle of the file."""
    _overwrite(path, path.stat().st_size // 2 // 4096 * 4096, b"\xa5" * 4096)


def _findings_flipped(path: Path) -> None:
    """A page of a table that is only written to, never loaded."""
    with sqlite(path) as raw:
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'findings'"
        page = raw.execute(query).fetchone()[0]
    _overwrite(path, (page - 1) * 4096, b"\xa5" * 4096)


def _foreign(path: Path) -> None:
    path.unlink()
    with sqlite(path) as raw:
        raw.execute("CREATE TABLE bookmarks (url TEXT)")


def _version_lost(path: Path) -> None:
    with sqlite(path) as raw:
        raw.execute("PRAGMA user_version = 0")


def _table_missing(path: Path) -> None:
    with sqlite(path) as raw:
        raw.execute("DROP TABLE outbox")


def _state_is_no_msgpack(path: Path) -> None:
    with sqlite(path) as raw:
        raw.execute("UPDATE runs SET state = x'c1'")


def _overwrite(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


@pytest.mark.parametrize(
    "damage",
    [
        _garbage,
        _text,
        _truncated,
        _odd_size,
        _header_gone,
        _page_flipped,
        _findings_flipped,
        _foreign,
        _version_lost,
        _table_missing,
        _state_is_no_msgpack,
    ],
)
def test_broken_state_is_set_aside(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    """A database that cannot be read is kept under another name, said, and begun anew."""
    with opened(tmp_path) as store:
        for n in range(300):
            store.commit(commit_of(run(f"/runs/{n}.jsonl", f"r{n}", blob=bytes(500))))
    path = tmp_path / "tailwatch.db"
    damage(path)
    broken = path.read_bytes()
    log = MemoryLog()
    with opened(tmp_path, log) as store:
        restored = store.load()
        assert (restored.fresh, list(restored.runs)) == (True, [])
        assert store.set_aside == 1
        store.commit(commit_of(run(rows=1)))
    assert log.events() == ["state_set_aside"]
    kept = Path(log.lines[0][2]["kept_as"])
    assert tmp_path == kept.parent
    assert broken[100:] == kept.read_bytes()[100:]
    with opened(tmp_path) as store:
        assert [r.state for r in store.load().runs] == [{"rows": 1}]


def test_empty_file_is_a_first_start(tmp_path: Path) -> None:
    """A file of zero bytes holds nothing to be set aside."""
    _zero_bytes(tmp_path / "tailwatch.db")
    log = MemoryLog()
    with opened(tmp_path, log) as store:
        assert store.load().fresh
    assert log.events() == []


def test_all_that_was_set_aside_is_kept(tmp_path: Path) -> None:
    """Two broken files within one second do not overwrite each other."""
    for text in ("first", "second", "third"):
        (tmp_path / "tailwatch.db").write_text(text * 100)
        with opened(tmp_path):
            pass
    kept = {p.read_text()[:5] for p in tmp_path.glob("tailwatch.db.broken-*")}
    assert {"first", "secon", "third"} == kept


# A directory that does not let us.


def test_directory_below_a_file_is_refused(tmp_path: Path) -> None:
    """A path that cannot be a directory is refused in one line with its name."""
    (tmp_path / "file").write_text("")
    directory = tmp_path / "file" / "state"
    with pytest.raises(StateUnusable, match="cannot be written") as caught:
        SqliteStore(str(directory), MemoryLog())
    assert str(directory) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_database_that_is_a_directory_is_refused(tmp_path: Path) -> None:
    """Something odd in the place of the database is refused, not set aside."""
    (tmp_path / "tailwatch.db").mkdir()
    with pytest.raises(StateUnusable, match="cannot be used"):
        SqliteStore(str(tmp_path), MemoryLog())


_REFUSED = """
import sys, structlog
from tailwatch.errors import StateUnusable
from tailwatch.shell.store import SqliteStore
try:
    SqliteStore(sys.argv[1], structlog.get_logger())
except StateUnusable as error:
    print(error)
"""


def test_directory_without_permission_is_refused(tmp_path: Path) -> None:
    """A user who may not write there is told so in one line."""
    tmp_path.chmod(0o755)
    (tmp_path / "state").mkdir(mode=0o500)
    result = as_nobody(_REFUSED, str(tmp_path / "state"))
    assert (result.returncode, result.stdout.count("\n")) == (0, 1), result.stderr
    assert "Permission denied" in result.stdout


def test_broken_state_that_cannot_be_moved_is_refused(public_path: Path) -> None:
    """A broken database in a directory that is read-only ends in one line, not in a traceback."""
    state = public_path / "state"
    state.mkdir()
    (state / "tailwatch.db").write_text("garbage" * 100)
    (state / "lock").write_text("")
    for path in state.iterdir():
        path.chmod(0o666)
    state.chmod(0o555)
    result = as_nobody(_REFUSED, str(state))
    state.chmod(0o755)
    assert (result.returncode, result.stdout.count("\n")) == (0, 1), result.stderr
    assert "cannot be used" in result.stdout


# Commits that fail.


def test_full_disk_keeps_nothing_and_heals(tmp_path: Path) -> None:
    """A commit for which there is no room fails whole; the same commit works when there is."""
    big = commit_of(run(blob=bytes(200_000)), meta={"n": 2})
    with opened(tmp_path) as store:
        store.commit(commit_of(run(blob=b"old"), meta={"n": 1}))
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        for _ in range(2):
            with pytest.raises(StateWriteError, match="full"):
                store.commit(big)
            restored = store.load()
            blobs = [record.state["blob"] for record in restored.runs]
            assert (blobs, restored.meta) == ([b"old"], {"n": 1})
        store._connection.execute("PRAGMA max_page_count = 100000")
        store.commit(big)
        assert store.load().meta == {"n": 2}


def test_file_size_limit_keeps_nothing_and_heals(tmp_path: Path) -> None:
    """When the system refuses to let the file grow, a commit fails whole, and later works."""
    code = """
import resource, signal, sys, structlog
from tailwatch.errors import StateWriteError
from tailwatch.messages import Commit
from tailwatch.shell.store import SqliteStore
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = SqliteStore(sys.argv[1], structlog.get_logger())
store.commit(Commit(meta={"n": 1}))
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
big = Commit(meta={"n": 2, "blob": bytes(500_000)})
try:
    store.commit(big)
except StateWriteError as error:
    print("refused")
print(store.load().meta)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
store.commit(big)
print(store.load().meta["n"])
store.close()
"""
    result = run_python(code, str(tmp_path))
    assert result.stdout == "refused\n{'n': 1}\n2\n", result.stderr


def test_locked_database_fails_and_heals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another holds the write lock, commits fail after a short wait, then work again."""
    monkeypatch.setattr(store_module, "BUSY_MS", 50)
    with opened(tmp_path) as store, sqlite(tmp_path / "tailwatch.db") as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StateWriteError, match="locked"):
            store.commit(Commit(meta={"n": 1}))
        other.execute("ROLLBACK")
        store.commit(Commit(meta={"n": 1}))
        assert store.load().meta == {"n": 1}


def test_commit_that_cannot_be_written_leaves_no_open_transaction(tmp_path: Path) -> None:
    """A bug of ours in one commit does not stop the next one."""
    with opened(tmp_path) as store:
        with pytest.raises(TypeError):
            store.commit(Commit(meta={"a": 1, "b": object()}))
        store.commit(Commit(meta={"c": 1}))
        assert store.load().meta == {"c": 1}


def test_reader_sees_whole_commits_while_we_write(tmp_path: Path) -> None:
    """Somebody who looks into the database meanwhile neither blocks us nor sees a half."""
    with opened(tmp_path) as store, sqlite(tmp_path / "tailwatch.db") as other:
        store.commit(Commit(meta={"n": 1}))
        other.execute("BEGIN")
        before = other.execute("SELECT value FROM meta").fetchall()
        store.commit(Commit(meta={"n": 2, "m": 2}))
        assert before == other.execute("SELECT value FROM meta").fetchall()
        other.execute("ROLLBACK")


# Crashes.

_COMMITS = """
import sys, structlog
from tailwatch.core.notices import Notice
from tailwatch.messages import Commit, RunRecord
from tailwatch.shell.store import SqliteStore
store = SqliteStore(sys.argv[1], structlog.get_logger())
n = store.load().meta.get("n", 0)
print("ready", flush=True)
while True:
    n += 1
    runs = {str(k): RunRecord(str(k), str(k), None, {"n": n, "pad": bytes(3000)}) for k in range(20)}
    told = Notice(f"tw_{n}", "finding.firing", 0.0, {"n": n})
    store.commit(Commit(runs=runs, notices=[("r", told)], meta={"n": n}))
"""


def test_kill_at_any_instant_leaves_whole_commits(tmp_path: Path) -> None:
    """After each of several kills the state is exactly one commit's, and no earlier than seen."""
    chance = random.Random(5)
    newest = 0
    for _ in range(6):
        child = subprocess.Popen(
            [sys.executable, "-c", _COMMITS, str(tmp_path)],
            env=child_environment(),
            stdout=subprocess.PIPE,
        )
        assert child.stdout is not None
        try:
            assert child.stdout.readline() == b"ready\n"
            wal = tmp_path / "tailwatch.db-wal"
            goal = chance.randrange(20_000, 3_000_000)
            wait_until(lambda: wal.exists() and wal.stat().st_size > goal, "commits")  # noqa: B023
        finally:
            child.kill()
            child.wait()
            child.stdout.close()
        log = MemoryLog()
        with opened(tmp_path, log) as store:
            restored = store.load()
            kept = [record.state["n"] for record in restored.runs]
        n = restored.meta["n"]
        assert n > newest
        assert [n] * 20 == kept
        assert [f"tw_{k}" for k in range(1, n + 1)] == [row.notice.key for row in restored.outbox]
        assert log.events() == []
        newest = n


_CHECKPOINTS = _COMMITS.replace("while True:", "while n < 400:") + "store.close()"


def test_log_reaches_the_disk_before_the_database(tmp_path: Path) -> None:
    """What is moved from the log into the database is on the disk before that, and after it."""
    strace, trace = debian_tool("strace", "strace"), tmp_path / "trace"
    calls = "trace=pwrite64,fsync,fdatasync"
    traced = [strace, "-f", "-y", "-e", calls, "-o", str(trace), sys.executable, "-c"]
    subprocess.run(
        [*traced, _CHECKPOINTS, str(tmp_path / "state")],
        env=child_environment(), stdout=subprocess.DEVNULL, timeout=120, check=True,
    )  # fmt: skip
    dirty, moved, wrong = {"db": 0, "db-wal": 0}, 0, []
    for line in trace.read_text().splitlines():
        found = re.search(r"(\w+)\(\d+<[^>]*tailwatch\.(db|db-wal)>(?:, .*, (\d+)\))?", line)
        if found is None:
            continue
        call, file, offset = found.groups()
        if call != "pwrite64":
            dirty[file] = 0
            continue
        # The log is written from its beginning again only when the database is safe.
        other = "db-wal" if file == "db" else "db" if offset == "0" else None
        if other and dirty[other]:
            wrong.append(line)
        dirty[file] += 1
        moved += file == "db"

    assert moved > 100
    assert wrong == []
