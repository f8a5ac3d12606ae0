"""
Every error that crosses a module boundary, by whose fault it is.

* TailwatchError
  + ConfigError        the operator's: a setting is wrong; exit 2
  + InputError         the caller's: a path cannot be read or is no metric file; exit 2
  + StateError         the state on disk
    - StateUnusable    it cannot be used at all: newer, held, not writable; exit 78
    - StateWriteError  this commit failed (disk full, locked): keep it and try again
    - StateOutdated    saved by other code or parameters: read the run again from byte 0
  + NoDaemon           nobody's: no daemon answers, or it is not well; exit 1
  + CannotGoOn         the system's: no memory, or a thread has died; a new start helps; exit 71

A malformed line is the trainer's and no error: see `core.rows.Malformed`.
A failed delivery is a value too: see `core.outbox.Outcome`.
"""

from __future__ import annotations

import os
import traceback


class TailwatchError(Exception):
    """Base of all of them. Its text is one line, fit to show to a person."""

    exit_code = 2


class ConfigError(TailwatchError):
    """A setting is unknown, of a wrong type, or of a bad value."""


class InputError(TailwatchError):
    """A path that was named cannot be read, or holds no training values."""


class StateError(TailwatchError):
    """Something about the state on disk."""


class StateUnusable(StateError):  # noqa: N818 - named for the state, as the tree above says.
    """The state directory cannot be used; starting again will not help."""

    exit_code = 78


class StateWriteError(StateError):
    """One commit failed; nothing of it is on disk."""


class StateOutdated(StateError):  # noqa: N818
    """Saved state does not fit this code; the run must be read again."""


class NoDaemon(TailwatchError):  # noqa: N818
    """No daemon answers where it was asked, or it says that it is not well."""

    exit_code = 1


class CannotGoOn(TailwatchError):  # noqa: N818
    """The process is no longer whole. What it had not kept it reads again after a new start."""

    exit_code = 71


def origin_of(error: Exception) -> str:
    """What kind of error came from where: enough to report, and without any value in it."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else "?"
    return f"{type(error).__name__} at {where}"
