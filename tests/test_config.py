"""The settings: what wins, what is refused and in which words, and what is never shown."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.checks import CHECKS
from tailwatch.config import Settings, load_settings, seconds, select_checks
from tailwatch.config_file import DEFAULT_INCLUDE
from tailwatch.config_receivers import CREDENTIAL
from tailwatch.core.secret import Secret
from tailwatch.errors import ConfigError
from tests.shell.helpers import as_nobody

MARKER = "SECRETMARKER"
HOOK = f"https://hooks.example/{MARKER}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tailwatch.toml"


def load(
    file: Path, text: str, env: dict[str, str] | None = None, flags: dict[str, Any] | None = None
) -> Settings:
    file.write_text(text)
    return load_settings(flags or {}, env or {}, str(file))


def refused(
    file: Path, text: str, env: dict[str, str] | None = None, flags: dict[str, Any] | None = None
) -> str:
    """The message of a mistake: one line, without a secret."""
    with pytest.raises(ConfigError) as caught:
        load(file, text, env, flags)
    message = str(caught.value)
    assert "\n" not in message
    assert MARKER not in message
    assert None is caught.value.__cause__
    return message


# What wins.


def test_everything_has_a_default() -> None:
    """Without file, environment and flags there is a safe setting for everything."""
    made = load_settings({}, {"XDG_STATE_HOME": "/state"})
    assert made.listen == "127.0.0.1:10836"
    assert (
        made.state_dir,
        made.include,
        made.checks,
    ) == ("/state/tailwatch", DEFAULT_INCLUDE, CHECKS)
    assert (
        made.sweep_interval_s,
        made.backfill_page_max_age_s,
        made.run_retention_s,
        made.max_exported_runs,
    ) == (10.0, 3600.0, 86400.0, 500)
    assert (made.receivers, made.source, made.run_pattern) == ((), None, None)


def test_later_wins(file: Path) -> None:
    """The environment overrides the file, a flag overrides both, each key by itself."""
    text = 'sweep_interval = 1\nrun_retention = "1h"\n[web]\nlisten = "127.0.0.1:1"\n'
    env = {"TAILWATCH_SWEEP_INTERVAL": "2", "TAILWATCH_WEB__LISTEN": "127.0.0.1:2"}
    made = load(file, text, env, {"web.listen": "127.0.0.1:3", "sweep_interval": None})
    assert (
        made.run_retention_s,
        made.sweep_interval_s,
        made.listen,
    ) == (3600.0, 2.0, "127.0.0.1:3")
    assert str(file) == made.source


def test_file_may_be_named_by_the_environment(file: Path, tmp_path: Path) -> None:
    """TAILWATCH_CONFIG names the file; a file given by flag goes before it."""
    file.write_text("max_exported_runs = 7")
    other = tmp_path / "other.toml"
    other.write_text("max_exported_runs = 8")
    env = {"TAILWATCH_CONFIG": str(file)}
    assert load_settings({}, env).max_exported_runs == 7
    assert load_settings({}, env, str(other)).max_exported_runs == 8


def test_environment_sets_lists_and_numbers() -> None:
    """A variable is read by the type of its key: paths by colon, globs by comma, numbers."""
    env = {
        "TAILWATCH_PATHS": "/a:/b",
        "TAILWATCH_EXCLUDE": "x/**,*.tmp",
        "TAILWATCH_MAX_EXPORTED_RUNS": "9",
        "TAILWATCH_LOG__LEVEL": "debug",
        "HOME": "/home/me",
    }
    made = load_settings({}, env)
    assert (
        made.paths,
        made.exclude,
        made.max_exported_runs,
        made.log_level,
    ) == (("/a", "/b"), ("x/**", "*.tmp"), 9, "debug")


def test_no_port_and_a_text_file(file: Path) -> None:
    """Each way of showing has its setting, in every form; a port is closed by a word only."""
    text = "textfile = 'a.prom'\n[web]\nlisten = 'none'\nconfig_file = 'web.yml'"
    env = {"TAILWATCH_TEXTFILE": "b.prom", "TAILWATCH_WEB__CONFIG_FILE": "/etc/web.yml"}
    made = load(file, text)
    assert made.listen is None
    assert (made.textfile, made.web_config_file) == (
        os.path.abspath("a.prom"),
        os.path.abspath("web.yml"),
    )
    made = load(file, text, env)
    assert (made.textfile, made.web_config_file) == (os.path.abspath("b.prom"), "/etc/web.yml")
    assert load(file, "", {}, {"web.listen": "none", "textfile": "c.prom"}).listen is None
    assert load(file, "").textfile is None


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"STATE_DIRECTORY": "/var/lib/a:/var/lib/b", "XDG_STATE_HOME": "/x"}, "/var/lib/a"),
        ({"XDG_STATE_HOME": "/x"}, "/x/tailwatch"),
        ({"TAILWATCH_STATE_DIR": "/y", "STATE_DIRECTORY": "/var/lib/a"}, "/y"),
    ],
)
def test_state_directory(env: dict[str, str], expected: str) -> None:
    """The state lives where it was told to, else where systemd says, else with the user."""
    assert expected == load_settings({}, env).state_dir


# Mistakes. (file text, words that must be in the message)

MISTAKES = [
    ("sweep_intervall = 3", ["sweep_intervall: unknown key", "did you mean sweep_interval?"]),
    ('"we\\nird" = 1', ["we\\nird: unknown key", "known keys: paths"]),
    ('[web]\nlisen = "x"', ["web.lisen: unknown key", "did you mean web.listen?"]),
    ('[log]\nlvl = "x"', ["log.lvl: unknown key"]),
    ('[[receivers]]\nulr = "x"', ["receivers[", "ulr: unknown key", "url?"]),
    ("max_exported_runs = true", ["max_exported_runs: expected int, got bool"]),
    ('max_exported_runs = "5"', ["max_exported_runs: expected int, got str"]),
    ("max_exported_runs = 1.5", ["max_exported_runs: expected int"]),
    ("max_exported_runs = 0", ["max_exported_runs: expected", "got 0"]),
    (f"max_exported_runs = 1{'0' * 400}", ["max_exported_runs: expected"]),
    ("include = 'x'", ["include: expected array, got str"]),
    ("include = [1]", ["include", "expected str, got int"]),
    ("web = 3", ["web: expected object, got int"]),
    ("sweep_interval = true", ["sweep_interval: expected", "got bool"]),
    ("sweep_interval = 'soon'", ["sweep_interval: expected a duration such as", "'soon'"]),
    ("sweep_interval = -1", ["sweep_interval: expected a duration", "-1"]),
    ("sweep_interval = nan", ["sweep_interval: expected a duration"]),
    ("sweep_interval = inf", ["sweep_interval: expected a duration"]),
    ("sweep_interval = 0", ["sweep_interval: expected at least 0.1"]),
    ("run_retention = '1w'", ["run_retention: expected a duration", "1w"]),
    ("run_pattern = '(?P<run>x'", ["run_pattern: not a regular expression"]),
    ("run_pattern = '/([^/]+)/'", ["run_pattern: expected a group named run"]),
    ("checks = 'nan_los'", ["checks: unknown category 'nan_los'", "did you mean nan_loss?"]),
    ("checks = ' , '", ["checks: names no check"]),
    ("[log]\nlevel = 'loud'", ["log.level: expected one of debug, info", "'loud'"]),
    ("[log]\nformat = 'xml'", ["log.format: expected one of auto", "'xml'"]),
    ("textfile = '/var/x.txt'", ["textfile: expected a name that ends in .prom", "'/var/x.txt'"]),
    ("[web]\nconfig_file = 3", ["web.config_file: expected str, got int"]),
    ("[web]\nlisten = ''", ["web.listen: expected HOST:PORT, or none", "''"]),
    ("[web]\nlisten = 'here'", ["web.listen: expected HOST:PORT", "'here'"]),
    ("[web]\nexternal_url = 'ftp://x'", ["web.external_url: expected an http or https URL"]),
    ("x = [1", ["is not valid TOML", "end of document"]),
    (f"a = {MARKER}", ["is not valid TOML"]),
    ("a = 1\na = 2", ["is not valid TOML"]),
    ("[[receivers]]\nname = 'a'", ["receivers[0]: expected url or url_file"]),
    (f"[[receivers]]\nurl = '{HOOK}'\ntype = 'slak'", ["type 'slak'", "did you mean slack?"]),
    (f"[[receivers]]\nurl = ['{MARKER}']", ["url: expected str, got array"]),
    (
        f"[[receivers]]\nurl = '{HOOK}'\nseverities = ['fatal']",
        ["receivers[0].severities: expected one of critical", "'fatal'"],
    ),
    (
        f"[[receivers]]\nurl = '{HOOK}'\nsecret = 'whsec_{MARKER}!'",
        ["receivers[0].secret: expected"],
    ),
    (
        f"[[receivers]]\nurl = '{HOOK}'\nurl_file = '/x'",
        ["receivers[0].url: give it or", "url_file, not both"],
    ),
    ("[[receivers]]\nurl_file = '/no/such'", ["receivers[0].url_file: /no/such: cannot be read"]),
    ('[[receivers]]\nurl_file = "a\\u0000b"', ["url_file", "cannot be read"]),
    (
        f"[[receivers]]\nurl = '{HOOK}'\n[[receivers]]\nurl = '{HOOK}2'",
        ["receivers[1].name:", "'generic'", "twice"],
    ),
]


@pytest.mark.parametrize(("text", "words"), MISTAKES)
def test_mistake_in_the_file_is_one_clear_line(file: Path, text: str, words: list[str]) -> None:
    """A mistake names the file, the key, what was expected, and the nearest known name."""
    message = refused(file, text)
    assert message.startswith(f"{file}: ")
    assert [word for word in words if word not in message] == []


BAD_URLS = [
    f"ftp://h/{MARKER}",
    f"{MARKER}",
    f"https://user:{MARKER}@h/",
    f"https://{MARKER}@h/x",
    f"https://h:{MARKER}/",
    "https://h:99999/" + MARKER,
    f"http://[::1/{MARKER}",
    f"http://:80/{MARKER}",
    f"http:///{MARKER}",
    f"https://h/{MARKER} x",
    f"https://h/{MARKER}\u00e9",
    f"https://h/\\n{MARKER}",
]


@pytest.mark.parametrize("url", BAD_URLS)
def test_bad_url_is_refused_without_showing_it(file: Path, url: str) -> None:
    """What is no usable webhook URL, or holds a password, is refused and appears nowhere."""
    message = refused(file, f'[[receivers]]\nurl = "{url}"')
    assert "receivers[0].url: expected an http or https URL without user and password" in message


def test_mistake_in_the_environment_names_the_variable(file: Path) -> None:
    """Whoever made the mistake is sent to the variable, not to the file."""
    for name, value, word in (
        ("TAILWATCH_SWEEP_INTERVAL", "soon", "sweep_interval: expected a duration"),
        ("TAILWATCH_MAX_EXPORTED_RUNS", "many", "max_exported_runs: expected int"),
        ("TAILWATCH_LOG__LEVEL", "loud", "log.level: expected one of"),
        ("TAILWATCH_WEB__LISTEN", "here", "web.listen: expected HOST:PORT"),
        ("TAILWATCH_CHECKS", "nan", "checks: unknown category"),
    ):
        message = refused(file, "", {name: value})
        assert message.startswith(f"{name}: {word}"), message


def test_mistake_in_a_flag_names_the_flag(file: Path) -> None:
    """So is whoever mistyped a flag."""
    message = refused(file, "sweep_interval = 3", {}, {"web.listen": "here"})
    assert message.startswith("--listen: web.listen: expected HOST:PORT")


def test_unknown_variable_is_an_error(file: Path) -> None:
    """A TAILWATCH_ variable that means nothing is a typing error, and its value is not shown."""
    message = refused(file, "", {"TAILWATCH_WEBHOOK_ULR": HOOK})
    assert message.startswith("TAILWATCH_WEBHOOK_ULR: unknown variable")
    assert "did you mean TAILWATCH_WEBHOOK_URL?" in message


def test_missing_file_is_named(tmp_path: Path) -> None:
    """A file that was asked for and is not there is an error, not a default."""
    with pytest.raises(ConfigError, match="cannot be read: No such file") as caught:
        load_settings({}, {"TAILWATCH_CONFIG": str(tmp_path / "no.toml")})
    assert str(tmp_path / "no.toml") in str(caught.value)


@pytest.mark.parametrize("content", [b"a = '\xff'", b"\xff\xfe\x00", b"\0"])
def test_binary_file_is_refused(file: Path, content: bytes) -> None:
    """A file that is no text ends in one line."""
    file.write_bytes(content)
    with pytest.raises(ConfigError, match="not valid TOML"):
        load_settings({}, {}, str(file))


def test_directory_as_file_is_refused(tmp_path: Path) -> None:
    """So does a directory in its place."""
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load_settings({}, {}, str(tmp_path))


def test_unreadable_file_is_refused(public_path: Path) -> None:
    """A file that we may not read is an error with the reason."""
    file = public_path / "tailwatch.toml"
    file.write_text("")
    file.chmod(0o000)
    code = """
import sys
from tailwatch.config import load_settings
from tailwatch.errors import ConfigError
try:
    load_settings({}, {}, sys.argv[1])
except ConfigError as error:
    print(error)
"""
    result = as_nobody(code, str(file))
    assert f"{file}: cannot be read: Permission denied\n" == result.stdout, result.stderr


@pytest.mark.parametrize("glob", ["[", "[!]", "[z-a]", "[]", "***", "a[b", "\\", "(", "{a,b}", ""])
def test_odd_globs_are_no_traceback(file: Path, glob: str) -> None:
    """Whatever is given as a glob, the filter works or the settings are refused."""
    try:
        made = load(file, f"include = ['{glob}']")
    except ConfigError:
        return
    assert isinstance(made.wanted("a/b.jsonl"), bool)


# Durations.


@pytest.mark.parametrize(
    ("text", "expected"),
    [("30", 30.0), (30, 30.0), ("1.5m", 90.0), ("2h", 7200.0), (" 1 d ", 86400.0), (0.5, 0.5)],
)
def test_durations(text: Any, expected: float) -> None:
    """A number is seconds; a unit may follow."""
    assert expected == seconds(text, "key")


@given(st.one_of(st.text(max_size=8), st.floats(), st.integers()))
@settings(deadline=None)
def test_any_duration_is_a_number_or_refused(value: Any) -> None:
    """Whatever is given, it is a finite number of seconds or a ConfigError with the key."""
    try:
        outcome: float | str = seconds(value, "some_key")
    except ConfigError as error:
        outcome = str(error)
    if isinstance(outcome, str):
        assert outcome.startswith("some_key: expected a duration")
    else:
        assert 0.0 <= outcome < float("inf")


def test_checks_are_selected() -> None:
    """`all`, `seed` and lists name checks; order and repetition do not matter."""
    seed = tuple(check for check in CHECKS if check.check_set == "seed")
    assert (CHECKS, seed) == (select_checks("all"), select_checks("seed"))
    assert [c.category for c in select_checks(" nan_loss , nan_loss,")] == ["nan_loss"]


# Secrets.


def test_receiver_is_made(file: Path) -> None:
    """A receiver's type is guessed from its host, and its defaults are the quiet ones."""
    made = load(file, "[[receivers]]\nurl = 'https://hooks.slack.com/services/x'").receivers[0]
    assert ("slack", "slack", frozenset({"critical"}), False, None) == (
        made.name,
        made.type,
        made.severities,
        made.send_resolved,
        made.secret,
    )


def test_one_url_is_enough(file: Path) -> None:
    """The variable or the flag alone makes a receiver called webhook; the flag wins."""
    assert Secret(HOOK) == load_settings({}, {"TAILWATCH_WEBHOOK_URL": HOOK}).receivers[0].url
    made = load(file, "", {"TAILWATCH_WEBHOOK_URL": HOOK}, {"webhook_url": "https://h/flag"})
    assert [("webhook", Secret("https://h/flag"))] == [(r.name, r.url) for r in made.receivers]


@pytest.mark.parametrize("url", ["ftp://h/" + MARKER, f"https://u:{MARKER}@h/", f"{HOOK}\n"])
def test_bad_single_url_names_where_it_came_from(file: Path, url: str) -> None:
    """A bad URL of the variable or the flag is said of that, not of the file, without the URL."""
    message = refused(file, "", {"TAILWATCH_WEBHOOK_URL": url})
    assert message.startswith("TAILWATCH_WEBHOOK_URL: expected an http or https URL")
    message = refused(file, "", {}, {"webhook_url": url})
    assert message.startswith("--webhook-url: expected an http or https URL")


def test_secrets_come_from_files(file: Path, tmp_path: Path) -> None:
    """URL and signing key may stand in files of their own, with a line end."""
    (tmp_path / "url").write_text(f"{HOOK}\n")
    (tmp_path / "key").write_text("whsec_c2VjcmV0\n")
    text = f"[[receivers]]\nurl_file = '{tmp_path}/url'\nsecret_file = '{tmp_path}/key'"
    made = load(file, text).receivers[0]
    assert (Secret(HOOK), Secret("whsec_c2VjcmV0")) == (made.url, made.secret)


def test_empty_secret_file_is_refused(file: Path, tmp_path: Path) -> None:
    """A file without a URL in it is a mistake and not "no receiver"."""
    (tmp_path / "url").write_text("\n")
    assert "is empty" in refused(file, f"[[receivers]]\nurl_file = '{tmp_path}/url'")


def test_credential_of_systemd_is_a_receiver(tmp_path: Path) -> None:
    """A credential of the known name is used, if no URL was given otherwise."""
    (tmp_path / CREDENTIAL).write_text(HOOK)
    env = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    assert [Secret(HOOK)] == [r.url for r in load_settings({}, env).receivers]
    env["TAILWATCH_WEBHOOK_URL"] = "https://h/other"
    assert [Secret("https://h/other")] == [r.url for r in load_settings({}, env).receivers]
    (tmp_path / CREDENTIAL).unlink()
    assert load_settings({}, {"CREDENTIALS_DIRECTORY": str(tmp_path)}).receivers == ()


def test_bad_credential_is_refused_without_showing_it(tmp_path: Path) -> None:
    """A credential that is no URL is named by its name."""
    (tmp_path / CREDENTIAL).write_text(f"https://u:{MARKER}@h/")
    with pytest.raises(ConfigError, match=CREDENTIAL) as caught:
        load_settings({}, {"CREDENTIALS_DIRECTORY": str(tmp_path)})
    assert MARKER not in str(caught.value)


def test_settings_do_not_show_secrets(file: Path) -> None:
    """Nothing that prints the settings prints a URL or a key."""
    text = f"[[receivers]]\nurl = '{HOOK}'\nsecret = 'whsec_{'U0VDUkVU'}'"
    made = load(file, text)
    for shown in (repr(made), str(made), repr(made.receivers), f"{made.receivers[0].url}"):
        assert MARKER not in shown
        assert "U0VDUkVU" not in shown


def test_home_is_used_without_any_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without any of the variables has the state below the home directory."""
    monkeypatch.setenv("HOME", "/home/somebody")
    assert load_settings({}, {}).state_dir == "/home/somebody/.local/state/tailwatch"
    assert os.path.isabs(load_settings({"state_dir": "here"}, {}).state_dir)


def test_field_rules(file: Path) -> None:
    """What a key means may be set for some paths; a later rule wins; unknown fields are named."""
    made = load(
        file,
        """
        [[fields]]
        map = {loss = "objective"}
        [[fields]]
        paths = ["rl/*.jsonl"]
        map = {loss = "gain", eval_loss = "gap"}
        ignore = ["val_loss"]
        """,
    )
    record = {"objective": 1.0, "gain": 2.0, "gap": 3.0, "val_loss": 4.0}
    plain = made.fields.of("/runs/a.jsonl", "/runs").read(record)
    assert (plain.values["loss"], plain.evals) == (1.0, {"val_loss": 4.0})
    ours = made.fields.of("/runs/rl/a.jsonl", "/runs").read(record)
    assert (ours.values["loss"], ours.evals) == (2.0, {"gap": 3.0})
    assert made.fields.of("/x/rl/a.jsonl", None) is made.fields.of("/runs/rl/b.jsonl", "/runs")
    with pytest.raises(
        ConfigError, match=r"fields\[0\].map: unknown field 'los'; did you mean loss"
    ):
        load(file, '[[fields]]\nmap = {los = "x"}')
