"""Run configurations: the files beside a metric file that say how the run was set up."""

from __future__ import annotations

import json
import os
import stat
from typing import Any

import yaml

from .core.check import RunConfig
from .core.runconfig import CONFIG_NAMES, configured_learning_rate

CONFIG_BYTES_MAX = 256 * 1024
_YAML_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def find_run_config(path: str) -> RunConfig | None:
    """The configuration beside the metric file *path*, if there is a readable one."""
    directory = os.path.dirname(path)
    for name in CONFIG_NAMES:
        if config := read_run_config(os.path.join(directory, name)):
            return config
    return None


def read_run_config(path: str) -> RunConfig | None:
    """What checks read of one configuration file; None if it cannot be read."""
    descriptor = None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        data = os.pread(descriptor, CONFIG_BYTES_MAX + 1, 0)
        text = data.decode("utf-8-sig") if len(data) <= CONFIG_BYTES_MAX else ""
        is_json = path.endswith(".json")
        config = json.loads(text) if is_json else yaml.load(text, Loader=_YAML_LOADER)
    except MemoryError:
        raise
    except Exception:  # PyYAML leaks KeyError, IndexError and more for a bad `!!int ''`.
        return None
    finally:
        if descriptor is not None:
            os.close(descriptor)
    if not isinstance(config, dict):
        return None
    return RunConfig(configured_learning_rate(config), path)
