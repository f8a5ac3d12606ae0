"""Whatever type a receiver has and however it fails: its URL and its key are shown nowhere."""

from __future__ import annotations

import base64
import signal
import traceback
from pathlib import Path

import pytest

from tailwatch.config import load_settings
from tailwatch.errors import ConfigError
from tailwatch.receivers import RENDERERS

from .daemon import Daemon, daemon, row, tailwatch, wait_for, write
from .hostile import hostile_receivers
from .servers import free_port
from .test_hostile_receivers import outcomes

FAILING = ("500", "reset", "wrong-certificate", "hang")
PATH, QUERY, USER = "PATHxMARKER", "QUERYxMARKER", "USERxMARKER"
KEY = "KEYxMARKER"
SIGNING_KEY = base64.b64encode(KEY.encode()).decode()
# Of the types that have a key, one that is good, and how the receiver sees it.
KEYS = {
    "generic": f"whsec_{SIGNING_KEY}",
    "alertmanager": KEY,
    "pagerduty": KEY.replace("x", "0").ljust(32, "0"),
}
MARKERS = {PATH, QUERY, USER, KEY, SIGNING_KEY, KEYS["pagerduty"]}
PAGES = ("/metrics", "/", "/-/healthy", "/-/ready", "/api/v1/runs", "/api/v1/findings", f"/{PATH}")


def assert_no_secret(where: str, text: str | bytes) -> None:
    whole = text if isinstance(text, bytes) else text.encode()
    found = {marker for marker in MARKERS if marker.encode() in whole}
    assert found == set(), where


def receiver_text(kind: str, url: str, name: str = "", key: str = "") -> str:
    text = f'[[receivers]]\nname = "{name or kind}"\ntype = "{kind}"\nurl = "{url}"\n'
    return text + f'secret = "{key}"\n' * bool(key)


def settings_file(directory: Path, origins: dict[str, str]) -> Path:
    """A receiver of each type at each of *origins*."""
    file = directory / "tailwatch.toml"
    file.write_text(
        "".join(
            receiver_text(
                kind, f"{origin}/{PATH}?token={QUERY}", f"{kind}-{failing}", KEYS.get(kind, "")
            )
            for failing, origin in origins.items()
            for kind in RENDERERS
        )
    )
    return file


def files_of(tw: Daemon) -> dict[str, bytes]:
    """The state on disk, and what other users see of the process."""
    assert tw.process is not None
    below = (tw.directory / "state").rglob("*")
    state = {str(path): path.read_bytes() for path in below if path.is_file()}
    process = Path(f"/proc/{tw.process.pid}")
    return state | {name: (process / name).read_bytes() for name in ("cmdline", "environ")}


def test_no_secret_is_shown(tmp_path: Path) -> None:
    """
    Not in logs at debug level, on a page, in the state, of the process, or by a command.

    Receivers of every type, and each of them refuses, fails, resets, hangs, and has a
    certificate that nobody has signed.
    """
    with hostile_receivers(tmp_path, *FAILING) as hostile:
        origins = {failing: each.origin for failing, each in hostile.items()}
        origins["refused"] = f"http://127.0.0.1:{free_port()}"
        short = {failing: origins[failing] for failing in origins if failing != "hang"}
        (tmp_path / "commands").mkdir()
        for_commands = settings_file(tmp_path / "commands", short)
        file = settings_file(tmp_path, origins)
        with daemon(tmp_path, "--config", str(file), "--log-level", "debug") as tw:
            write(tw.runs / "m.jsonl", row(1, float("nan")))
            for style in ("text", "json"):
                for args in (("config",), ("notify-test",)):
                    said = tailwatch(*args, "--config", str(for_commands), "--format", style)
                    assert said.stdout
                    assert_no_secret(" ".join(args), said.stdout + said.stderr)
            names = {f"{kind}-{failing}" for kind in RENDERERS for failing in origins}
            wait_for(lambda: set(outcomes(tw)) == names, message="an outcome of each")
            assert outcomes(tw) == {name: {"retried"} for name in names}
            for page in PAGES:
                assert_no_secret(page, tw.get(page)[1])
            for where, content in files_of(tw).items():
                assert_no_secret(where, content)
            file.write_text(receiver_text("generic", f"http://{USER}:{USER}@h/{PATH}?{QUERY}"))
            tw.signal(signal.SIGHUP)
            wait_for(lambda: "settings_not_reloaded" in tw.all_output())
            tw.stop()
            assert_no_secret("log", tw.all_output())
        # And yet they were in use.
        sent = b"".join(hostile["500"].requests)
        for marker in (PATH, QUERY, KEYS["alertmanager"], KEYS["pagerduty"]):
            assert marker.encode() in sent
        assert hostile["wrong-certificate"].requests == []


@pytest.mark.parametrize("kind", RENDERERS)
@pytest.mark.parametrize(
    ("url", "key"),
    [
        (f"https://{USER}:{USER}@127.0.0.1/{PATH}?{QUERY}", ""),
        (f"https://127.0.0.1:{QUERY}/{PATH}", ""),
        (f"https://[{USER}/{PATH}", ""),
        (f"ftp://{USER}/{PATH}", ""),
        (f"http://127.0.0.1/{PATH} {QUERY}", ""),
        (f"http://127.0.0.1/{PATH}", f"{KEY} with spaces"),
    ],
)
def test_settings_that_are_wrong_are_refused_without_their_secret(
    tmp_path: Path, kind: str, url: str, key: str
) -> None:
    """The error, and the traceback that a bug would print with it, name the setting alone."""
    file = tmp_path / "tailwatch.toml"
    file.write_text(receiver_text(kind, url, key=key))
    with pytest.raises(ConfigError) as caught:
        load_settings({}, {"XDG_STATE_HOME": "/state"}, str(file))

    assert "receivers[0]" in str(caught.value)
    assert_no_secret("error", "".join(traceback.format_exception(caught.value)))


def test_url_of_the_environment_is_seen_in_no_list_of_processes(tmp_path: Path) -> None:
    """Nor in the log; a flag, which is, says so in its help."""
    url = f"http://127.0.0.1:{free_port()}/{PATH}?{QUERY}"
    with daemon(tmp_path, "--log-level", "debug", url=url) as tw:
        write(tw.runs / "m.jsonl", row(1, float("nan")))
        wait_for(lambda: tw.metric("tailwatch_deliveries_total", outcome="retried"))
        assert_no_secret("cmdline", files_of(tw)["cmdline"])
        assert_no_secret("log", tw.all_output())


@pytest.mark.parametrize("name", ["run", "notify-test"])
def test_help_says_that_a_flag_is_seen(name: str) -> None:
    """Who would give the URL as a flag is told who sees it, and what to do instead."""
    said = " ".join(tailwatch(name, "--help").stdout.split())
    assert "--webhook-url URL" in said
    assert "list of processes" in said
    assert "url_file" in said
