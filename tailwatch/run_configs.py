"""Run configurations: the files beside a metric file that say how the run was set up."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from typing import Any

import yaml

from .core.check import RunConfig
from .core.runconfig import CONFIG_NAMES, PARENT_NAMES, combined, read_config

CONFIG_BYTES_MAX = 256 * 1024
STATE_NAME = "trainer_state.json"
_STATE_ENDS_BYTES = 32 * 1024
# A setting at the top level of what the Trainer writes with `indent=2`.
_STATE_SETTING = re.compile(r'^  "(\w+)": (\d[\d.e+]*),?$', re.MULTILINE)
# Everything is text to it, and nothing is merged or converted: no number in base 60, no
# nest of merges and no tag can keep it busy or make it build an object.
_YAML_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def find_run_config(path: str) -> RunConfig | None:
    """
    What the configurations of the metric file *path* (absolute) say together.

    None if there is none; one without a source if nothing that is read stands in them.

    The directory of the file comes first, then the one above: there only names that a
    trainer writes for one run count. What is found depends on nothing but *path*.
    """
    configs = list(_candidates(path))
    return combined(configs) or (RunConfig() if configs else None)


def _candidates(path: str) -> Iterator[RunConfig]:
    directory = os.path.dirname(path)
    for place, names in ((directory, CONFIG_NAMES), (os.path.dirname(directory), PARENT_NAMES)):
        for name in names:
            if config := read_run_config(os.path.join(place, name)):
                yield config


def read_run_config(path: str) -> RunConfig | None:
    """What is read of one configuration file; None if it cannot be read."""
    descriptor = None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        config = _parse(descriptor, path)
    except MemoryError:
        raise
    except Exception:  # PyYAML leaks KeyError, IndexError and more for what is no YAML.
        return None
    finally:
        if descriptor is not None:
            os.close(descriptor)
    return read_config(config, path) if isinstance(config, dict) else None


def _parse(descriptor: int, path: str) -> object:
    data = os.pread(descriptor, CONFIG_BYTES_MAX + 1, 0)
    if len(data) > CONFIG_BYTES_MAX:
        return _ends_of_state(descriptor) if os.path.basename(path) == STATE_NAME else None
    text = data.decode("utf-8-sig")
    return json.loads(text) if path.endswith(".json") else yaml.load(text, Loader=_YAML_LOADER)


def _ends_of_state(descriptor: int) -> dict[str, str]:
    """The settings of a long run's trainer state: they stand around its history of rows."""
    size = os.fstat(descriptor).st_size
    ends = [os.pread(descriptor, _STATE_ENDS_BYTES, at) for at in (0, size - _STATE_ENDS_BYTES)]
    return dict(_STATE_SETTING.findall(b"\n".join(ends).decode(errors="replace")))
