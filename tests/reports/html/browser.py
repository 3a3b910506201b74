"""A Chromium without a window, spoken to over a pipe by its own DevTools protocol, so that nothing but the browser is needed.

The protocol: https://chromedevtools.github.io/devtools-protocol/. Messages are JSON, each ended by a NUL.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 60.0
"""Seconds for an answer: a busy machine starts a browser slowly."""


def find_chromium() -> str | None:
    """`ZL_BENCH_CHROMIUM`, or a Chromium or Chrome of the machine's own; None where there is none."""
    return os.environ.get("ZL_BENCH_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page in one Chromium. What it complains of and what it asks for is kept in `complaints` and `requests`."""

    def __init__(self, executable: str, profile: Path) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._events: list[dict[str, Any]] = []
        self._buffer = b""
        self._number = 0
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        command = [
            executable, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-extensions", "--hide-scrollbars", f"--user-data-dir={profile}",
        ]  # fmt: skip
        # The browser reads its descriptor 3 and writes its descriptor 4, whatever numbers the pipes have here.
        shell = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        self._process = subprocess.Popen(
            ["bash", "-c", shell, "bash", *command], pass_fds=(to_read, to_write), stderr=subprocess.DEVNULL
        )
        os.close(to_read)
        os.close(to_write)
        self._session: str | None = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def ask(self, method: str, **parameters: object) -> dict[str, Any]:
        """The answer to one command. Raises RuntimeError with the browser's own words, or after `PATIENCE`."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self._next(deadline)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])

    def open(self, page: Path, anchor: str = "") -> float:
        """Open a file, at an anchor, and wait until it is drawn. Returns the seconds that took."""
        started = time.monotonic()
        self._events.clear()
        self.ask("Page.navigate", url=page.absolute().as_uri() + anchor)
        deadline = time.monotonic() + PATIENCE
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._next(deadline)
        self.frames()
        return time.monotonic() - started

    def run(self, script: str) -> Any:
        """The value of an expression in the page, awaited."""
        found = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(f"{script}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def frames(self) -> None:
        """Until the page has been drawn once more, and what that sets off has happened."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def wait(self, script: str) -> None:
        """Until an expression of the page is true."""
        deadline = time.monotonic() + PATIENCE
        while not self.run(f"Boolean({script})"):
            if time.monotonic() > deadline:
                raise RuntimeError(f"never true: {script}")
            time.sleep(0.02)

    def click(self, selector: str) -> None:
        """A real click in the middle of the first element that fits, scrolled into view."""
        x, y = self.middle(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def hover(self, selector: str) -> None:
        """Move the mouse onto it."""
        x, y = self.middle(selector)
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def middle(self, selector: str) -> tuple[float, float]:
        """Where it is on the screen, in CSS pixels."""
        where = json.dumps(selector)
        if self.run(f"Boolean(document.querySelector({where}))"):
            self.run(f"document.querySelector({where}).scrollIntoView({{block: 'center', behavior: 'instant'}})")
        self.frames()
        found = self.run(
            f"(() => {{ const box = document.querySelector({where})?.getBoundingClientRect(); "
            "return box ? [box.left + box.width / 2, box.top + box.height / 2] : null; })()"
        )
        if found is None:
            raise RuntimeError(f"there is no {selector}")
        return float(found[0]), float(found[1])

    def size(self, width: int, height: int, *, mobile: bool = False) -> None:
        """Give the window that size."""
        sharp = 2 if mobile else 1
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=sharp, mobile=mobile
        )

    def media(self, kind: str = "", scheme: str = "light") -> None:
        """`print`, or nothing in particular, and the colours that its user likes."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", media=kind, features=features)

    def picture(self, path: Path) -> None:
        """What the window shows, as a PNG."""
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))

    def _next(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], max(0.0, deadline - time.monotonic()))
            content = os.read(self._from, 1 << 20) if ready else b""
            if not content:
                raise RuntimeError("the browser does not answer" if not ready else "the browser has ended")
            self._buffer += content
        content, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(content)
        if "method" in message:
            self._events.append(message)
            self._hear(message["method"], message["params"])
        return message

    def _hear(self, method: str, told: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(told["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.complaints.append(json.dumps(told["args"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.complaints.append(told["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
