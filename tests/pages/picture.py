"""Take the picture of the README: `python -m tests.pages.picture` writes deploy/pictures/run.png."""

from __future__ import annotations

from pathlib import Path

from tests.pages import gallery
from tests.pages.browser import browser, save

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Serve made-up runs, and look at one."""
    server = gallery.everything().serve()
    with browser() as opened:
        opened.look(width=820, height=600)
        opened.open(f"http://{server.address}/run/llama-7b/nan")
        save(ROOT / "deploy" / "pictures" / "run.png", opened.picture())
    server.close()


if __name__ == "__main__":
    main()
