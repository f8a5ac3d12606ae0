"""
tailwatch follows the metric files of training runs and says when one goes wrong.

The map of the package, in the order in which a row travels:

* `shell.watcher` and `shell.scanner` say which files may have changed;
* `engine`, the only writer, reads them through `shell.follower` and `tracked`;
* `core` turns bytes into lines, rows and findings with the rules in `checks`;
* `shell.store` keeps it all in one transaction; `shell.web` shows what was kept;
* `dispatch` and `shell.courier` tell the receivers, in the words of `receivers`.

`core`, `checks` and `receivers` are pure. `app` puts the parts together, `cli` is
the command line, `config` reads the settings.
"""

__version__ = "0.1.0"
