"""Bad input: each a clear word or a count; no lost row, no crash, no traceback."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .daemon import Daemon, daemon, environment, receiver, row, tailwatch, wait_for, write
from .trouble import let_sweep

NAN = float("nan")


def one_line(result: subprocess.CompletedProcess[str]) -> str:
    """The single line on standard error that a person is shown."""
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    assert "Traceback" not in result.stderr
    return lines[0]


def refused(*args: str, code: int = 2) -> str:
    """Run `tailwatch run`, which must refuse; return the last line it says to a person."""
    result = tailwatch("run", *args)
    assert code == result.returncode, result.stderr
    assert "Traceback" not in result.stderr
    return result.stderr.strip().splitlines()[-1]


# Paths.


def test_check_of_no_such_path(tmp_path: Path) -> None:
    """`check` names the path that is not there, and exits 2."""
    result = tailwatch("check", str(tmp_path / "nowhere"))

    assert result.returncode == 2
    assert one_line(result).endswith("nowhere: No such file or directory")


def test_run_waits_for_a_path_that_is_not_there_yet(tmp_path: Path) -> None:
    """`run` on a directory that is made later finds what is written there then."""
    late = tmp_path / "late"
    with daemon(tmp_path, str(late)) as tw:
        assert tw.metric("tailwatch_watch_mode", root=str(late), mode="missing") == 1

        write(late / "m.jsonl", row(1, 2.0))

        wait_for(lambda: tw.metric("tailwatch_run_rows_total", run="m") == 1)
        wait_for(lambda: tw.metric("tailwatch_watch_mode", root=str(late), mode="events") == 1)


def test_run_without_a_path() -> None:
    """`run` with nothing to follow says so, and exits 2."""
    assert "no path to follow" in refused()


_AS_NOBODY = """
import importlib, os, pkgutil, sys
import tailwatch
for module in pkgutil.walk_packages(tailwatch.__path__, "tailwatch."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
tailwatch.cli.main(sys.argv[1:], prog_name="tailwatch")
"""


def as_nobody(*args: str) -> list[str]:
    """
    The command line of tailwatch as a user for whom permissions count.

    Everything is imported first: where the tests run as root, that user may not
    be able to read the interpreter's own files.
    """
    return [sys.executable, "-c", _AS_NOBODY, *args]


def test_a_path_without_permission(public_path: Path) -> None:
    """`check` names the path it may not read, and still reads the others."""
    good, bad = public_path / "good.jsonl", public_path / "bad.jsonl"
    write(good, row(1, 2.0))
    write(bad, row(1, 2.0))
    bad.chmod(0)
    result = subprocess.run(
        as_nobody("check", str(bad), str(good)),
        env=environment(HOME=str(public_path)), capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert result.returncode == 2
    assert one_line(result).endswith("bad.jsonl: Permission denied")
    assert "1 run:" in result.stdout


def test_run_reads_a_file_once_permission_is_granted(public_path: Path) -> None:
    """An unreadable file is named once in the log, waits alone, and is read later."""
    runs = public_path / "runs"
    runs.mkdir()
    (public_path / "state").mkdir()
    (public_path / "state").chmod(0o777)
    write(runs / "closed.jsonl", row(1, 2.0))
    (runs / "closed.jsonl").chmod(0)
    made = Daemon(public_path)
    made.command = as_nobody("run", *made.args)
    made.start()
    try:
        write(runs / "open.jsonl", row(1, 2.0))
        wait_for(lambda: made.metric("tailwatch_run_rows_total", run="open") == 1)
        time.sleep(2.2)  # Two sweeps more: the complaint must not come again.
        said = [line for line in made.log() if line["event"] == "file_unreadable"]
        assert [(x["reason"], x["level"]) for x in said] == [("Permission denied", "warning")]

        (runs / "closed.jsonl").chmod(0o644)
        wait_for(lambda: made.metric("tailwatch_run_rows_total", run="closed") == 1)
    finally:
        made.kill()


def test_an_empty_directory_waits_and_says_so_once(tmp_path: Path) -> None:
    """`run` on an empty directory says once that nothing is there, and waits."""
    with daemon(tmp_path) as tw:
        time.sleep(2.2)  # Two more sweeps.
        said = [line for line in tw.log() if line["event"] == "no_metric_file_yet"]

        assert len(said) == 1
        write(tw.runs / "m.jsonl", row(1, 2.0))
        wait_for(lambda: tw.metric("tailwatch_run_rows_total", run="m") == 1)


# Settings.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sweep_intervall = 3", "sweep_intervall: unknown key; did you mean sweep_interval?"),
        ("[web]\nlisten = 3", "web.listen: expected str, got int"),
        ("max_exported_runs = true", "max_exported_runs: expected int, got bool"),
        ("paths = [", "is not valid TOML: "),
        ('run_retention = "soon"', "run_retention: expected a duration"),
        ('checks = "nan_los"', "checks: unknown category 'nan_los'; did you mean nan_loss?"),
    ],
)
def test_a_wrong_settings_file(tmp_path: Path, text: str, expected: str) -> None:
    """One line names the file, the key, and what was expected; exit 2."""
    file = tmp_path / "tailwatch.toml"
    file.write_text(text)
    for args in (("run", "--config", str(file), "."), ("config", "--config", str(file))):
        result = tailwatch(*args)

        assert result.returncode == 2
        assert one_line(result).startswith(f"tailwatch: {file}: {expected}")


def test_a_port_in_use(tmp_path: Path) -> None:
    """`run` names the address that is taken, and exits 2."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        said = refused(str(tmp_path), "--state-dir", str(tmp_path / "s"), "--listen", address)

    assert f"cannot listen on {address}: Address already in use" in said


# State.


def test_a_state_directory_that_cannot_be_written(tmp_path: Path) -> None:
    """`run` names the state directory that it cannot make, and exits 78."""
    file = tmp_path / "file"
    file.touch()
    state = file / "state"

    said = refused(str(tmp_path), "--state-dir", str(state), "--listen", "127.0.0.1:0", code=78)
    assert f"state directory '{state}' cannot be written" in said


def test_a_second_instance(tmp_path: Path) -> None:
    """A second `run` on the same state directory is refused with 78; the first goes on."""
    with daemon(tmp_path) as tw:
        said = refused(*tw.args, code=78)

        assert "is held by another tailwatch" in said
        write(tw.runs / "m.jsonl", row(1, 2.0))
        wait_for(lambda: tw.metric("tailwatch_run_rows_total", run="m") == 1)


def test_a_state_of_a_newer_version(tmp_path: Path) -> None:
    """A state that a newer version made is left alone, and exit is 78."""
    with daemon(tmp_path) as tw:
        tw.stop()
    database = tmp_path / "state" / "tailwatch.db"
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    before = database.read_bytes()

    assert "made by a newer tailwatch" in refused(*tw.args, code=78)
    assert before == database.read_bytes()


@pytest.mark.parametrize("damage", ["garbage", "empty", "torn"])
def test_a_broken_state_is_set_aside(tmp_path: Path, damage: str) -> None:
    """With a broken database the daemon starts, reads all again, and pages nobody for the past."""
    path = tmp_path / "runs" / "m.jsonl"
    with receiver() as hook:
        with daemon(tmp_path, url=hook.url) as tw:
            write(path, row(1, 2.0) + row(2, NAN) + "".join(row(s, 2.0) for s in range(3, 40)))
            wait_for(lambda: hook.posts)
            tw.stop()
        database = tmp_path / "state" / "tailwatch.db"
        data = database.read_bytes()
        broken = {"garbage": b"x" * 9000, "empty": b"", "torn": data[: len(data) // 2]}
        database.write_bytes(broken[damage])
        with daemon(tmp_path, url=hook.url) as tw:
            wait_for(lambda: tw.metric("tailwatch_run_rows_total", run="m") == 39)

            counted = tw.metric("anomaly_findings_total", run="m", category="nan_loss")
            assert counted == 1
            kept = list((tmp_path / "state").glob("tailwatch.db.broken-*"))
            assert (damage != "empty") == bool(kept)
        assert len(hook.findings()) == 1


# Lines.


BAD_LINES = {
    "not_json": [b"not json", b'{"step": 1, "loss', b'{"step": \xff}', b"'a'"],
    "not_object": [b"[1, 2]", b"12", b"null", b'"text"', b"NaN"],
    "too_deep": [b"[" * 100_000, b'{"a":' * 100_000],
    "too_long": [b'{"step": 3, "pad": "' + b"x" * (1 << 20) + b'"}'],
}


def test_bad_lines_are_counted_and_passed(tmp_path: Path) -> None:
    """Each kind of bad line is counted under its reason, and every row around it is read."""
    path = tmp_path / "runs" / "m.jsonl"
    with daemon(tmp_path) as tw:
        write(path, row(0, 2.0))
        rows = 1
        with path.open("ab") as file:
            for lines in BAD_LINES.values():
                for line in lines:
                    rows += 1
                    file.write(line + b"\n" + row(rows, 2.0).encode())
            file.write(b'\0\0\0{"step": 90, "loss": 2.0}\r\n\n  \n')
        wait_for(lambda: tw.metric("tailwatch_run_rows_total", run="m") == rows + 1)

        for reason, lines in BAD_LINES.items():
            assert len(lines) == tw.metric("tailwatch_bad_lines_total", reason=reason)
        assert tw.metric("tailwatch_state_errors_total") == 0


def test_a_huge_integer_is_not_finite(tmp_path: Path) -> None:
    """A loss of 5,000 digits is a number that no double holds: a finding, not a bad line."""
    path = tmp_path / "m.jsonl"
    path.write_text(row(1, 2.0) + '{"step": 2, "loss": ' + "9" * 5000 + "}\n")

    result = tailwatch("check", str(path))
    assert result.returncode == 1
    assert "nan_loss: loss is Infinity at step 2" in result.stdout


def test_a_fifo_that_matches_is_passed(tmp_path: Path) -> None:
    """A FIFO with a metric file's name hangs nobody."""
    (tmp_path / "runs").mkdir()
    os.mkfifo(tmp_path / "runs" / "pipe.jsonl")
    with daemon(tmp_path) as tw:
        write(tw.runs / "m.jsonl", row(1, 2.0))

        wait_for(lambda: tw.metric("tailwatch_run_rows_total", run="m") == 1)


def test_links_lead_nowhere_but_where_it_was_told(tmp_path: Path) -> None:
    """A run whose file or directory becomes a link out of the tree is told, and not read there."""
    secret = tmp_path / "outside" / "m.jsonl"
    write(secret, "".join(row(step, 2.0) for step in range(1, 9)) + row(9, NAN))
    with daemon(tmp_path) as tw:
        for name in ("a", "b"):
            write(tw.runs / name / "m.jsonl", row(1, 2.0))
            wait_for(lambda name=name: tw.metric("tailwatch_run_rows_total", run=f"{name}/m") == 1)
        (tmp_path / "link.jsonl").symlink_to(secret)
        (tmp_path / "link.jsonl").rename(tw.runs / "a" / "m.jsonl")
        (tw.runs / "b").rename(tmp_path / "b")
        (tw.runs / "b").symlink_to(secret.parent)
        (tw.runs / "c").symlink_to(secret.parent)
        (tw.runs / "d.jsonl").symlink_to(secret)
        let_sweep(tw)
        write(tw.runs / "e.jsonl", row(1, 2.0))
        wait_for(lambda: tw.metric("tailwatch_run_rows_total", run="e") == 1)

        rows = {k: v for k, v in tw.metrics().items() if k.startswith("tailwatch_run_rows_total")}
        assert {f'tailwatch_run_rows_total{{run="{n}"}}': 1.0 for n in ("a/m", "b/m", "e")} == rows
        assert tw.metric("anomaly_findings_total", run="a/m", category="nan_loss") == 0


# Signals.


def test_sighup_reads_the_settings_again(tmp_path: Path) -> None:
    """SIGHUP takes new settings in; wrong ones leave the old in force, and a gauge says so."""
    file = tmp_path / "tailwatch.toml"
    other = tmp_path / "other"
    write(other / "m.jsonl", row(1, 2.0))
    file.write_text("")
    made = Daemon(tmp_path, "--config", str(file))
    made.args.remove(str(made.runs))
    file.write_text(f"paths = [{str(made.runs)!r}]")
    made.start()
    try:
        write(made.runs / "a" / "m.jsonl", row(1, 2.0))
        wait_for(lambda: made.metric("tailwatch_run_rows_total", run="a/m") == 1)
        file.write_text("paths = 3")
        made.signal(signal.SIGHUP)
        wait_for(lambda: made.metric("tailwatch_config_reload_success") == 0)
        write(made.runs / "a" / "m.jsonl", row(2, 2.0))
        wait_for(lambda: made.metric("tailwatch_run_rows_total", run="a/m") == 2)

        file.write_text(f"paths = [{str(made.runs)!r}, {str(other)!r}]")
        made.signal(signal.SIGHUP)
        starts = wait_for(lambda: [x for x in made.log() if x["event"] == "started"][1:])
        made.address = starts[0]["address"]
        wait_for(lambda: made.metric("tailwatch_run_rows_total", run="m") == 1)
        assert made.metric("tailwatch_config_reload_success") == 1
        assert made.metric("tailwatch_run_rows_total", run="a/m") == 2
    finally:
        made.kill()


@pytest.mark.parametrize("what", ["port", "state"])
def test_a_reload_that_cannot_be_had_leaves_the_old_settings(tmp_path: Path, what: str) -> None:
    """A port or a state that is not ours to have: the daemon goes on as before, and says so."""
    file = tmp_path / "tailwatch.toml"
    with socket.create_server(("127.0.0.1", 0)) as free:
        own = f"127.0.0.1:{free.getsockname()[1]}"
    made = Daemon(tmp_path, "--config", str(file))
    for flag in ("--listen", "--state-dir"):
        at = made.args.index(flag)
        del made.args[at : at + 2]
    old = f'state_dir = "{tmp_path}/state"\n[web]\nlisten = "{own}"\n'
    file.write_text(old)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        others = {own: f"127.0.0.1:{taken.getsockname()[1]}", f"{tmp_path}/state": "/proc/state"}
        old_value, other = list(others.items())[what == "state"]
        try:
            made.start()
            write(made.runs / "a" / "m.jsonl", row(1, 2.0))
            wait_for(lambda: made.metric("tailwatch_run_rows_total", run="a/m") == 1)
            file.write_text(old.replace(old_value, other))
            made.signal(signal.SIGHUP)
            wait_for(lambda: made.metric("tailwatch_config_reload_success") == 0)
            assert [x["event"] for x in made.log()].count("settings_not_reloaded") == 1
            write(made.runs / "a" / "m.jsonl", row(2, 2.0))
            wait_for(lambda: made.metric("tailwatch_run_rows_total", run="a/m") == 2)
        finally:
            made.kill()


def test_no_traceback_when_interrupted(tmp_path: Path) -> None:
    """Ctrl-C ends the daemon cleanly."""
    with daemon(tmp_path) as tw:
        tw.signal(signal.SIGINT)
        assert tw.process is not None

        assert tw.process.wait(timeout=30) == 0
        assert "Traceback" not in tw.all_output()
