"""A headless Chromium driven through its debugging pipe (chromium --remote-debugging-pipe), without other packages."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from io import RawIOBase
from pathlib import Path
from typing import IO, Any

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip
PROGRAM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)


LAUNCH = """import fcntl, os, sys
there, here = (fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3])
os.dup2(there, 3)
os.dup2(here, 4)
os.execv(sys.argv[3], sys.argv[3:])"""
"""Chromium reads commands from 3 and writes answers to 4."""


@contextlib.contextmanager
def browsing() -> Iterator[Browser]:
    assert PROGRAM
    to_browser, commands = os.pipe()
    answers, from_browser = os.pipe()
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        os.fdopen(commands, "wb", buffering=0) as write,
        os.fdopen(answers, "rb") as read,
    ):
        flags = *FLAGS, "--remote-debugging-pipe", f"--user-data-dir={folder}"
        command = [sys.executable, "-c", LAUNCH, str(to_browser), str(from_browser), PROGRAM, *flags]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(command, pass_fds=(to_browser, from_browser), **quiet) as process:
            os.close(to_browser)
            os.close(from_browser)
            try:
                yield Browser(write, read)
            finally:
                process.terminate()


class Browser:
    """A browser with one page. It collects script errors and requests that leave the machine."""

    def __init__(self, write: RawIOBase, read: IO[bytes]) -> None:
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._write, self._answers = write, read
        self._numbers = itertools.count(1)
        self._loaded = False
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """Send a protocol command and return its result."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._write.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]

    def open(self, page: Path, width: int, *, height: int = 900, dark: bool = False) -> None:
        """Show a file in a window of this width."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self._loaded = False
        self.call("Page.navigate", url=page.resolve().as_uri())
        while not self._loaded:
            self._next()

    def value(self, expression: str) -> Any:
        """Return the value of a JavaScript expression."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def picture(self, *, full: bool = True) -> bytes:
        """A PNG of the page."""
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=full)["data"])

    def _next(self) -> Any:
        letters = bytearray()
        while (letter := self._answers.read(1)) != b"\0":
            assert letter, "the browser is gone"
            letters += letter
        message = json.loads(letters)
        match message.get("method"):
            case "Page.loadEventFired":
                self._loaded = True
            case "Runtime.exceptionThrown":
                self.errors.append(message["params"]["exceptionDetails"]["text"])
            case "Log.entryAdded" if message["params"]["entry"]["level"] == "error":
                self.errors.append(message["params"]["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])
        return message
