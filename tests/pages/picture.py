"""Take the picture of the README: `python -m tests.pages.picture` writes deploy/pictures/run.png."""

from __future__ import annotations

from pathlib import Path

from tailwatch.shell.guard import Guard
from tailwatch.shell.web import WebServer
from tests.pages import gallery
from tests.pages.browser import browser, save
from tests.shell.helpers import MemoryLog

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Serve made-up runs, and look at one."""
    server = WebServer("127.0.0.1:0", gallery.everything().site(), Guard(None, MemoryLog()))
    with browser() as opened:
        opened.look(width=820, height=600)
        opened.open(f"http://{server.address}/run/llama-7b/nan")
        save(ROOT / "deploy" / "pictures" / "run.png", opened.picture())
    server.close()


if __name__ == "__main__":
    main()
