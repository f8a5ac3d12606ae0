"""Names of runs: what the label `run` says, and how hostile bytes in it are shown."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Callable
from urllib.parse import quote

NAME_BYTES_MAX = 128


def escape(text: str) -> str:
    r"""
    Make a file name fit to show: printable, and without lone surrogates.

    >>> escape("exp\udcff\n1")
    'exp\\xff\\n1'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escaped(c) for c in text)


def _escaped(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # An undecodable byte, as os.fsdecode gives it.
        return f"\\x{code - 0xDC00:02x}"
    return char.encode("unicode_escape").decode("ascii")


def run_name(path: str, root: str | None, pattern: re.Pattern[str] | None = None) -> str:
    r"""
    The name of the run in *path*, found under the watched directory *root*.

    A file that was itself named (root None) is called after its directory and
    itself. *pattern* may pick the name out of the whole path by a group `run`.

    >>> run_name("/data/runs/exp1/metrics.jsonl", "/data/runs")
    'exp1/metrics'
    >>> run_name("/data/runs/exp1/metrics.jsonl", None)
    'exp1/metrics'
    """
    if pattern is not None and (match := pattern.search(path)) and match.group("run"):
        return _bounded(escape(match.group("run")))
    if root is None:
        directory, base = posixpath.split(path)
        relative = posixpath.join(posixpath.basename(directory), base)
    else:
        relative = posixpath.relpath(path, root)
    return _bounded(escape(posixpath.splitext(relative)[0]))


def distinct_name(name: str, path: str, root: str | None, taken: Callable[[str], bool]) -> str:
    """
    A name for *path* that no other run has: the root's own name in front, then a number.

    >>> distinct_name("a/m", "/x/old/a/m.jsonl", "/x/old", {"a/m"}.__contains__)
    'old/a/m'
    """
    if not taken(name):
        return name
    front = posixpath.basename(root if root is not None else posixpath.dirname(path))
    candidate = _bounded(f"{escape(front)}/{name}") if front else name
    number = 2
    while taken(candidate):
        candidate = _bounded(f"{name}~{number}")
        number += 1
    return candidate


def run_path(run: str) -> str:
    """
    A run's name as the end of a URL's path, from which unquoting gives it back.

    >>> run_path("exp 1/metrics"), run_path("a/../b")
    ('exp%201/metrics', 'a%2F..%2Fb')
    """
    # Browsers and proxies take such parts out of a path, whatever they are encoded as.
    tidied = not {"", ".", ".."}.isdisjoint(run.split("/"))
    return quote(run, safe="" if tidied else "/")


def run_url(external_url: str, run: str) -> str:
    """
    The address of a run's page, for a notice.

    >>> run_url("https://host/tailwatch/", "exp1/metrics")
    'https://host/tailwatch/run/exp1/metrics'
    """
    return f"{external_url.rstrip('/')}/run/{run_path(run)}"


def _bounded(name: str) -> str:
    raw = name.encode()
    if len(raw) <= NAME_BYTES_MAX:
        return name
    # The end of a path tells runs apart; the digest keeps two long ones distinct.
    digest = hashlib.sha256(raw).hexdigest()[:8]
    tail = raw[-(NAME_BYTES_MAX - len(digest) - 1) :].decode(errors="ignore")
    return f"{digest}~{tail}"
