"""A real browser without a window, driven by the W3C's WebDriver protocol over loopback."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.deploy.tools import debian_tool

START_S = 30
OPTIONS = [
    "--headless=new",
    "--no-sandbox",  # CI is root, for whom Chromium has none.
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    # Whatever the page asks for, nothing leaves the host.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
TAB = "\ue004"
ENTER = "\ue007"


class Browser:
    """One session: a window, its console and its requests."""

    def __init__(self, driver: str) -> None:
        self._driver = driver
        capabilities = {
            "browserName": "chrome",
            "goog:chromeOptions": {"args": OPTIONS},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        wanted = {"capabilities": {"alwaysMatch": capabilities}}
        self._session = ""
        self._session = "/session/" + self._post("/session", wanted)["sessionId"]

    def _post(self, path: str, body: dict[str, Any] | None = None, method: str = "POST") -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self._driver}{self._session}{path}", data, {"Content-Type": "application/json"}
        )
        request.method = method
        with urllib.request.urlopen(request, timeout=START_S) as response:
            return json.load(response)["value"]

    def open(self, url: str) -> None:
        """Go there, and wait until it is loaded."""
        self._post("/url", {"url": url})

    def run(self, script: str, *arguments: Any) -> Any:
        """What a script in the page returns."""
        return self._post("/execute/sync", {"script": script, "args": list(arguments)})

    def press(self, key: str) -> None:
        """Press and release a key."""
        actions = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self._post("/actions", {"actions": [{"type": "key", "id": "k", "actions": actions}]})

    def click(self, selector: str) -> None:
        """Click the first element of a CSS selector."""
        found = self._post("/element", {"using": "css selector", "value": selector})
        (element,) = found.values()
        self._post(f"/element/{element}/click", {})

    def look(self, *, dark: bool = False, width: int = 1200, height: int = 900) -> None:
        """The colours that the user prefers, and the size of the screen."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._command("Emulation.setEmulatedMedia", features=[scheme])
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self._command("Emulation.setDeviceMetricsOverride", **size)

    def _command(self, name: str, **parameters: Any) -> Any:
        return self._post("/goog/cdp/execute", {"cmd": name, "params": parameters})

    def picture(self) -> bytes:
        """What is to be seen, as PNG."""
        return base64.b64decode(self._post("/screenshot", method="GET"))

    def console(self) -> list[str]:
        """What the console said since it was last asked: errors, and what was refused."""
        return [entry["message"] for entry in self._post("/se/log", {"type": "browser"})]

    def requests(self) -> list[str]:
        """The addresses that were asked for since this was last asked."""
        messages = [
            json.loads(entry["message"])["message"]
            for entry in self._post("/se/log", {"type": "performance"})
        ]
        sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
        return [each["request"]["url"] for each in sent]

    def close(self) -> None:
        self._post("", method="DELETE")


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A browser, from Debian's chromium and chromium-driver."""
    debian_tool("chromium", "chromium")
    driver = debian_tool("chromedriver", "chromium-driver")
    with subprocess.Popen(
        [driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            started = (re.search(r"started successfully on port (\d+)", x) for x in process.stdout)
            port = next(found[1] for found in started if found)
            made = Browser(f"http://127.0.0.1:{port}")
            try:
                yield made
            finally:
                made.close()
        finally:
            process.terminate()


def save(path: Path, picture: bytes) -> None:
    """Keep a picture where somebody will look at it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(picture)
