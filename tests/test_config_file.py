"""The TOML file and the environment, as texts: how keys and values are read and complained of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwatch.config_file import (
    FileSettings,
    convert,
    from_text,
    nearest,
    put,
    read_file,
)
from tailwatch.errors import ConfigError


def test_file_is_read_as_tables(tmp_path: Path) -> None:
    """A TOML file comes as plain tables and lists."""
    file = tmp_path / "a.toml"
    file.write_text("checks = 'seed'\n[web]\nlisten = 'h:1'\n[[receivers]]\nname = 'a'\n")
    expected = {"checks": "seed", "web": {"listen": "h:1"}, "receivers": [{"name": "a"}]}
    assert expected == read_file(str(file))


def test_dotted_key_makes_its_table() -> None:
    """A dotted key is put into its table, which is made if need be, beside what is there."""
    values: dict[str, Any] = {"web": {"listen": "a:1"}}
    put(values, "web.external_url", "http://x")
    put(values, "log.level", "debug")
    put(values, "checks", "all")
    assert values == {
        "web": {"listen": "a:1", "external_url": "http://x"},
        "log": {"level": "debug"},
        "checks": "all",
    }


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        ("paths", "/a:/b::", ["/a", "/b"]),
        ("include", "*.a,*.b", ["*.a", "*.b"]),
        ("exclude", "", []),
        ("max_exported_runs", "-5", -5),
        ("max_exported_runs", "5.0", "5.0"),
        ("sweep_interval", "1.5m", "1.5m"),
        ("web.listen", "h:1", "h:1"),
        ("log.format", "json", "json"),
    ],
)
def test_variable_is_read_by_the_type_of_its_key(key: str, text: str, expected: Any) -> None:
    """A variable's text becomes what its key holds; what it cannot become is left to the check."""
    assert expected == from_text(key, text, "TAILWATCH_X")


@pytest.mark.parametrize("key", ["receivers", "web", "log", "nope", "web.nope", "a.b.c", "", "."])
def test_variable_that_is_no_key_is_refused(key: str) -> None:
    """Tables and lists of tables are no variables, nor is anything unknown."""
    with pytest.raises(ConfigError, match="TAILWATCH_X: unknown variable"):
        from_text(key, "1", "TAILWATCH_X")


def test_every_plain_key_can_be_a_variable() -> None:
    """Whatever can stand in the file and is one value or a list of texts can be a variable."""
    plain = set(FileSettings.__struct_fields__) - {
        "web",
        "log",
        "thresholds",
        "fields",
        "receivers",
    }
    for key in (*plain, "web.listen", "web.external_url", "log.level", "log.format"):
        assert convert(put({}, key, from_text(key, "1", "TAILWATCH_X")), "here")


def test_nearest_is_named_or_all_are() -> None:
    """A near miss gets one suggestion, a far one the list."""
    assert nearest("lisen", ["listen", "external_url"], "web") == "; did you mean web.listen?"
    assert nearest("zzzzzz", ["a", "b"]) == "; known keys: a, b"


_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
_KEYS = st.sampled_from(FileSettings.__struct_fields__) | st.text(max_size=12)


@given(st.dictionaries(_KEYS, _PLAIN, max_size=3))
@settings(deadline=None, max_examples=300)
def test_any_tables_are_settings_or_one_line(values: dict[str, Any]) -> None:
    """Whatever a file holds, it is taken or refused in one line that begins with its name."""
    try:
        outcome: object = convert(values, "some.toml")
    except ConfigError as error:
        outcome = str(error)
    if isinstance(outcome, str):
        assert outcome.startswith("some.toml: ")
        assert len(outcome.splitlines()) == 1
    else:
        assert isinstance(outcome, FileSettings)
